//! Scenarios and their contestants.

use crate::allocator::Elsewhere;
use crate::pools::Pools;
use releasepool_benches::objects::{Counted, Dropping, Payload};
use releasepool_benches::table::Row;
use releasepool_benches::workload::{Role, Workload};

/// Creates a workload when it is needed, as some start threads.
type Make = Box<dyn Fn() -> Workload>;

/// One kind of work.
pub struct Scenario {
    pub id: &'static str,
    pub title: &'static str,
    pub what: &'static str,
    /// The number of threads besides the measured ones.
    pub helpers: usize,
    /// The contestants, releasepool's first.
    pub contestants: Vec<Contestant>,
}

impl Scenario {
    /// Returns the title of the rows, which begins with the name.
    pub fn title(&self) -> String {
        format!("{}: {}", self.id, self.title)
    }

    /// Returns the contestants that can do the work on this many threads.
    pub fn on(&self, threads: usize) -> impl Iterator<Item = &Contestant> {
        let all = self.contestants.iter();
        all.filter(move |contestant| threads == 1 || !contestant.single_threaded())
    }

    /// Creates the row of this many threads, if some contestant can do the work on as many.
    pub fn row(&self, threads: usize) -> Option<Row> {
        let workloads: Vec<_> = self.on(threads).map(Contestant::workload).collect();
        let (ours, others) = workloads.split_first()?;
        let mut row = Row::new(self.title(), threads, ours).beside(threads, others);
        row.helpers = self.helpers;
        Some(row)
    }
}

/// An implementation of a scenario.
pub struct Contestant {
    pub name: String,
    pub role: Role,
    pub note: Option<String>,
    /// The workload that is measured.
    pub measured: Make,
    /// The workload with [`Counted`] objects.
    pub counted: Make,
    /// The implementation that does this work in a process with another global allocator, if it is
    /// not done in this one.
    pub elsewhere: Option<Elsewhere>,
}

impl Contestant {
    pub fn new(
        name: impl Into<String>,
        role: Role,
        measured: impl Fn() -> Workload + 'static,
        counted: impl Fn() -> Workload + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            role,
            note: None,
            measured: Box::new(measured),
            counted: Box::new(counted),
            elsewhere: None,
        }
    }

    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Creates the workload that is measured, with the contestant's name and role.
    fn workload(&self) -> Workload {
        (self.measured)().named(&self.name).role(self.role)
    }

    /// Returns true if it is for one thread only.
    pub fn single_threaded(&self) -> bool {
        self.role == Role::Reference
    }

    /// Creates the contestant of a kind of pools.
    pub fn with_pools<P: Payload, I: Pools<P>>(
        measured: impl Fn() -> Workload + 'static,
        counted: impl Fn() -> Workload + 'static,
    ) -> Self {
        Self {
            note: I::NOTE.map(str::to_owned),
            ..Self::new(I::NAME, I::ROLE, measured, counted)
        }
    }
}

/// Creates contestants, each from its role, name, note, and the expression of its workload, in which `P` is the
/// type of the objects.
macro_rules! contestants {
    ($($role:ident $name:expr $(, $note:expr)? => $work:expr;)*) => {
        vec![$($crate::scenario::Contestant::new(
            $name,
            releasepool_benches::workload::Role::$role,
            || {
                type P = $crate::scenario::Measured;
                $work
            },
            || {
                type P = $crate::scenario::Checked;
                $work
            },
        )$(.note($note))?),*]
    };
}

/// Creates the contestants of several kinds of pools: `with_pools!(work(arguments): kinds)`, where
/// `work` is generic over the pools and the objects. Other objects than [`Measured`] come first:
/// `with_pools!(Plain; work(arguments): kinds)`.
macro_rules! with_pools {
    ($objects:ty; $work:ident $arguments:tt: $($kind:ident),+ $(,)?) => {
        vec![$($crate::scenario::Contestant::with_pools::<$objects, $kind<$objects>>(
            move || $work::<$kind<$objects>, $objects> $arguments,
            move || $work::<$kind<$crate::scenario::Checked>, $crate::scenario::Checked> $arguments,
        )),+]
    };
    ($($work:tt)+) => {
        $crate::scenario::with_pools!($crate::scenario::Measured; $($work)+)
    };
}

pub(crate) use {contestants, with_pools};

/// The objects that are measured: 48 bytes with a destructor.
pub type Measured = Dropping;
/// The objects that check the work.
pub type Checked = Counted;
