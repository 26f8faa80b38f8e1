//! What is measured: kinds of work, and who does them.

use crate::pools::Pools;
use releasepool_benches::objects::{Counted, Dropping, Payload};
use releasepool_benches::results::Role;
use releasepool_benches::workload::Workload;

/// Made when it is needed: some have threads of their own.
type Make = Box<dyn Fn() -> Workload>;

/// One kind of work.
pub struct Scenario {
    pub id: &'static str,
    pub title: &'static str,
    pub what: &'static str,
    pub lesson: &'static str,
    /// Threads beside those that are measured.
    pub helpers: usize,
    /// Whether a turn is all timed and done by one thread, so that its instructions mean
    /// the same as its time.
    pub countable: bool,
    /// Whether it is told how many objects were alive at a time.
    pub peak: bool,
    /// Ours first.
    pub contestants: Vec<Contestant>,
}

/// Who does it.
pub struct Contestant {
    pub name: &'static str,
    pub role: Role,
    pub note: Option<&'static str>,
    /// As it is measured.
    pub measured: Make,
    /// The same with [`Counted`] objects.
    pub counted: Make,
}

impl Contestant {
    pub fn new(
        name: &'static str,
        role: Role,
        measured: impl Fn() -> Workload + 'static,
        counted: impl Fn() -> Workload + 'static,
    ) -> Self {
        Self {
            name,
            role,
            note: None,
            measured: Box::new(measured),
            counted: Box::new(counted),
        }
    }

    #[must_use]
    pub fn note(mut self, note: &'static str) -> Self {
        self.note = Some(note);
        self
    }

    /// Whether it is for one thread only.
    pub fn alone(&self) -> bool {
        self.role == Role::Reference
    }

    /// One of those that have pools.
    pub fn with_pools<P: Payload, I: Pools<P>>(
        measured: impl Fn() -> Workload + 'static,
        counted: impl Fn() -> Workload + 'static,
    ) -> Self {
        Self {
            note: I::NOTE,
            ..Self::new(I::NAME, I::ROLE, measured, counted)
        }
    }
}

/// The same work, measured and counted: `contestant!(name, role, work(arguments))`, where
/// `work` is generic in the objects.
macro_rules! contestant {
    ($name:expr, $role:expr, $work:ident($($argument:expr),*)) => {
        $crate::scenario::Contestant::new(
            $name,
            $role,
            || $work::<$crate::scenario::Measured>($($argument),*),
            || $work::<$crate::scenario::Checked>($($argument),*),
        )
    };
}

/// The same work by several kinds of pools: `with_pools!(work(arguments): kinds)`.
macro_rules! with_pools {
    ($work:ident $arguments:tt: $($kind:ident),+ $(,)?) => {
        vec![$($crate::scenario::Contestant::with_pools::<
            $crate::scenario::Measured,
            $kind<$crate::scenario::Measured>,
        >(
            move || $work::<$kind<$crate::scenario::Measured>, $crate::scenario::Measured> $arguments,
            move || $work::<$kind<$crate::scenario::Checked>, $crate::scenario::Checked> $arguments,
        )),+]
    };
}

pub(crate) use {contestant, with_pools};

/// Objects as they are measured: 48 bytes with a destructor.
pub type Measured = Dropping;
/// Objects that are counted.
pub type Checked = Counted;
