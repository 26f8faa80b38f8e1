//! The settings of a check, its modes, and its result.

use crate::macros::setters;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Determines how a model performs loads.
///
/// Each mode reaches executions that the other one does not, so a model is checked in both.
///
/// ```
/// # #[cfg(loom)] {
/// use releasepool::model::Mode;
/// for mode in Mode::ALL {
///     assert_eq!(Mode::from_name(&mode.to_string()), Some(mode));
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Loads are plain loads and may read stale values.
    Plain,
    /// Loads are read-modify-writes, and stores are exchanges: they see the newest value and
    /// interleave with every other access. The first `compare_exchange_weak` of an execution fails.
    Rmw,
}

impl Mode {
    /// Both modes, in the order in which [`Builder`] runs them.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Rmw];

    /// Returns the mode with this name, as [`Display`](fmt::Display) writes it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Rmw => "rmw",
        }
    }
}

/// Writes `plain` or `rmw`.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Sets how all threads of the process perform loads from now on.
///
/// For code that calls loom itself, with [`begin`](super::begin) and [`end`](super::end); [`Builder`]
/// sets the mode itself.
pub fn set_mode(mode: Mode) {
    crate::sync::settings::set_rmw_mode(mode == Mode::Rmw);
}

/// The settings by which to check a model.
///
/// ```
/// # #[cfg(loom)] {
/// use releasepool::model::{self, Builder};
/// use releasepool::Ref;
///
/// Builder::new()
///     .preemption_bound(3)
///     .outcomes(&["the last one", "not the last one"])
///     .check(|| {
///         let r = Ref::new(5);
///         let other = r.clone();
///         let thread = model::spawn(move || drop(other));
///         let value = Ref::into_inner(r);
///         thread.join();
///         if value.is_some() { "the last one" } else { "not the last one" }
///     });
/// # }
/// ```
///
/// By default a model is checked in both [modes](Mode), in every interleaving that loom explores,
/// and may have any outcome.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    pub(super) name: Option<String>,
    pub(super) modes: Vec<Mode>,
    pub(super) preemption_bound: Option<usize>,
    pub(super) max_branches: usize,
    pub(super) time_passes: bool,
    pub(super) outcomes: Option<BTreeSet<String>>,
    pub(super) outcomes_in: BTreeMap<Mode, BTreeSet<String>>,
    pub(super) must_fail: Option<String>,
    pub(super) seeds: Option<Range<u64>>,
    pub(super) executions_per_seed: usize,
    pub(super) replay: Option<PathBuf>,
    pub(super) replay_with: Option<String>,
    pub(super) writes_file: bool,
}

fn set(outcomes: &[&str]) -> BTreeSet<String> {
    outcomes.iter().map(|&outcome| outcome.to_owned()).collect()
}

impl Builder {
    /// Returns a builder that checks both modes without bounds.
    pub fn new() -> Self {
        Self {
            name: None,
            modes: Mode::ALL.to_vec(),
            preemption_bound: None,
            max_branches: 50_000,
            time_passes: false,
            outcomes: None,
            outcomes_in: BTreeMap::new(),
            must_fail: None,
            seeds: None,
            executions_per_seed: 1_000,
            replay: None,
            replay_with: None,
            writes_file: true,
        }
    }

    setters! {
        /// Lets waits time out, such as those of [`shutdown`](crate::PoolManager::shutdown), when no
        /// thread can do anything else.
        ///
        /// Without this call time does not pass in a model: a wait only ends by a wake-up, so a missed
        /// wake-up is a deadlock, which fails the model.
        pub let_time_pass() => time_passes = true;

        /// Names the model in messages and in the file of a failing interleaving.
        ///
        /// The default is the name of the calling thread, which in a test is the test's name, or else
        /// the source location of the call of [`check`](Self::check). If a test checks several models,
        /// name them.
        pub name(name: impl Into<String>) => name = Some(name.into());

        /// Checks the model in this mode only.
        pub mode(mode: Mode) => modes = vec![mode];

        /// Explores only executions with at most `n` preemptions.
        ///
        /// A preemption is a switch to another thread while the running thread could go on. The number
        /// of executions grows exponentially with `n`; most mistakes need one or two. Write a comment
        /// at the model that says that it is bounded.
        ///
        /// # Panics
        /// If `n` is above 255, which is loom's limit.
        pub preemption_bound(n: usize) => preemption_bound = {
            assert!(n <= 255, "loom counts at most 255 preemptions");
            Some(n)
        };

        /// Allows this many scheduling points and loads in one execution; the default is 50,000.
        ///
        /// An execution that needs more probably spins, and fails the model.
        pub max_branches(n: usize) => max_branches = n;

        /// Asserts that all executions, in all modes together, have exactly these outcomes.
        ///
        /// So a model fails if its threads no longer interleave. A mode that has [outcomes of its
        /// own](Self::outcomes_in) must have exactly those, too.
        pub outcomes(outcomes: &[&str]) => outcomes = Some(set(outcomes));

        /// Asserts that the model fails, in one of its modes, with a message that contains `message`.
        ///
        /// For mistakes that are planted on purpose: a model that cannot fail proves nothing.
        pub must_fail(message: impl Into<String>) => must_fail = Some(message.into());

        /// Samples the interleavings instead of exploring all of them, for models that do not finish.
        ///
        /// Each seed stands for a pseudo-random choice of atomic operations of this crate, and of
        /// [`point`]s, at which the running thread yields; in [`Mode::Rmw`], the seed
        /// also chooses the `compare_exchange_weak` that fails. Around these switches, which do not
        /// count as preemptions, loom explores executions with at most
        /// [`preemption_bound`](Self::preemption_bound) preemptions (the default is 1), and stops after
        /// [`executions_per_seed`](Self::executions_per_seed). The same seed always explores the same
        /// executions.
        ///
        /// A model that passes has only been sampled, which proves nothing. An expected outcome that is
        /// not reached is then no error.
        pub seeds(seeds: Range<u64>) => seeds = Some(seeds);

        /// Stops the exploration of a seed after `n` executions; the default is 1,000.
        ///
        /// # Panics
        /// If `n` is zero.
        pub executions_per_seed(n: usize) => executions_per_seed = {
            assert_ne!(n, 0, "a seed needs at least one execution");
            n
        };

        /// Runs only the interleaving that was written to `file` when the model failed, and prints a
        /// log.
        ///
        /// The environment variable `RELEASEPOOL_MODEL_REPLAY` does the same without a change to the
        /// program, and skips models with other names. The log shows each atomic operation of this
        /// crate and of [`atomic`](super::atomic), with its thread and source location. loom prints thread switches, or the messages that
        /// `LOOM_LOG` selects, and tracks locations as with `LOOM_LOCATION`.
        pub replay(file: impl Into<PathBuf>) => replay = Some(file.into());

        /// Replaces the command in a failure's message; the name of the file is appended to it.
        #[doc(hidden)]
        pub replay_with(command: impl Into<String>) => replay_with = Some(command.into());

        /// Allows any outcome again, after [`outcomes`](Self::outcomes).
        #[doc(hidden)]
        pub any_outcome() => outcomes = None;

        /// Does not write the failing interleaving to a file, which would take a second run.
        #[doc(hidden)]
        pub without_file() => writes_file = false;
    }

    /// Asserts that all executions in `mode` have exactly these outcomes.
    ///
    /// Ignored with [`seeds`](Self::seeds), whose switches can reach outcomes of the other mode.
    pub fn outcomes_in(mut self, mode: Mode, outcomes: &[&str]) -> Self {
        self.outcomes_in.insert(mode, set(outcomes));
        self
    }

    /// Checks the model `f`, which returns its outcome.
    ///
    /// Every execution begins with [`begin`](super::begin) and ends with [`end`](super::end). The
    /// model must be deterministic: it may depend only on the order of its threads' steps and on
    /// the values that loads return. A process checks one model at a time. A panic in `f` fails the
    /// model even if `f` would catch it; a caught `resume_unwind` does not, as it calls no hook.
    ///
    /// # Panics
    /// With the [`Failure`] if the model fails.
    #[track_caller]
    pub fn check<F, R>(&self, f: F)
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Into<String>,
    {
        match self.run(f) {
            Ok(report) => println!("{report}"),
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Checks the model as [`check`](Self::check) does, and returns the result.
    ///
    /// # Errors
    /// If the model fails. The threads of the failed execution never end, and their memory leaks,
    /// as loom cannot clean up after a failure.
    #[track_caller]
    pub fn run<F, R>(&self, f: F) -> Result<Report, Failure>
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Into<String>,
    {
        let at = Location::caller();
        super::checker::run(self, at, Arc::new(move || f().into()))
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

/// Checks the model `f` in both modes and every interleaving, and asserts that it has exactly these
/// outcomes.
///
/// Short for [`Builder::new`], [`outcomes`](Builder::outcomes) and [`check`](Builder::check).
///
/// # Panics
/// With the [`Failure`] if the model fails.
#[track_caller]
pub fn check<F, R>(outcomes: &[&str], f: F)
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Into<String>,
{
    Builder::new().outcomes(outcomes).check(f);
}

/// The result of a check that passed. [`fmt::Display`] writes it as one line.
///
/// ```
/// # #[cfg(loom)]
/// # fn main() -> Result<(), releasepool::model::Failure> {
/// use releasepool::model::{Builder, Report};
///
/// let report: Report = Builder::new().name("alone").run(|| "done")?;
/// assert_eq!(report.executions, 2); // one in each mode
/// # Ok(())
/// # }
/// # #[cfg(not(loom))]
/// # fn main() {}
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The model's name.
    pub name: String,
    /// The number of executions, in all modes and for all seeds.
    pub executions: usize,
    /// The outcomes that were reached.
    pub outcomes: BTreeSet<String>,
    /// The extent of the check: `every interleaving`, `at most 2 preemptions`, `sampled: ...`.
    pub extent: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, executions) = (&self.name, self.executions);
        let (outcomes, extent) = (&self.outcomes, &self.extent);
        write!(
            f,
            "model {name}: {executions} executions, {extent}; outcomes {outcomes:?}"
        )
    }
}

/// The failure of a model. [`fmt::Display`] writes the message, and the command that runs the
/// failing interleaving again.
///
/// ```
/// # #[cfg(loom)] {
/// use releasepool::Ref;
/// use releasepool::model::Builder;
///
/// let failure = Builder::new().run(|| {
///     std::mem::forget(Ref::new(5)); // no object may be alive at the end
///     "done"
/// });
/// assert_eq!(failure.unwrap_err().execution(), Some(1));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Failure(pub(super) Box<Details>);

#[derive(Clone, Debug)]
pub(super) struct Details {
    pub(super) model: String,
    pub(super) message: String,
    pub(super) execution: Option<usize>,
    pub(super) when: String,
    pub(super) file: Option<PathBuf>,
    pub(super) command: Option<String>,
}

impl Failure {
    /// Returns the message of the panic or of the check that failed.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the number of the execution that failed, from 1; `None` if no single execution
    /// failed.
    pub fn execution(&self) -> Option<usize> {
        self.0.execution
    }

    /// Returns the file with the failing interleaving, for [`Builder::replay`].
    pub fn file(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "model {} failed, {}", self.0.model, self.0.when)?;
        if let Some(execution) = self.0.execution {
            write!(f, ", execution {execution}")?;
        }
        write!(f, ":\n{}", self.0.message)?;
        if let Some(command) = &self.0.command {
            write!(f, "\nto run this interleaving alone:\n  {command}")?;
        }
        Ok(())
    }
}

impl Error for Failure {}

/// Marks a place at which a [seed](Builder::seeds) may switch threads.
///
/// Every operation of this crate's atomics, and of the atomics in [`atomic`](super::atomic), is
/// such a place. Without seeds, `point` only writes to the log of a [replay](Builder::replay).
#[track_caller]
pub fn point() {
    crate::sync::settings::user_point(std::panic::Location::caller());
}
