//! Workloads.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs a number of turns and returns how long they took, by the calling thread's own clock. A job
/// is created, run and dropped on one thread.
pub type Job = Box<dyn FnMut(u64) -> Duration>;

/// The role of an implementation in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An implementation of releasepool's.
    Ours,
    /// An implementation that can do less, such as one for a single thread: a lower bound for the time
    /// of the others, and no alternative.
    Reference,
    /// An alternative to releasepool.
    Peer,
}

/// A kind of work that threads do at the same time, each with a [`Job`] of its own.
#[derive(Clone)]
pub struct Workload {
    /// The name in the output.
    pub name: String,
    /// Operations in one turn of the job. Results are per operation.
    pub operations: u64,
    /// The role in comparisons: [`Role::Peer`], unless it is set.
    pub role: Role,
    make: Arc<dyn Fn() -> Job + Send + Sync>,
}

impl Workload {
    /// Creates a workload. `make` is called once on each thread.
    pub fn new(
        name: impl Into<String>,
        operations: u64,
        make: impl Fn() -> Job + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            operations,
            role: Role::Peer,
            make: Arc::new(make),
        }
    }

    /// Sets the name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the role in comparisons.
    #[must_use]
    pub fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Creates a workload that calls `turn` in each turn. `make` creates the state of a thread.
    pub fn timed<S: 'static>(
        name: impl Into<String>,
        operations: u64,
        make: impl Fn() -> S + Send + Sync + 'static,
        turn: impl Fn(&mut S) + Copy + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, operations, move || {
            let mut state = make();
            timed(move || turn(&mut state))
        })
    }

    /// Creates the calling thread's job.
    pub fn job(&self) -> Job {
        (self.make)()
    }
}

/// Returns a job that calls `turn` in each turn.
pub fn timed(mut turn: impl FnMut() + 'static) -> Job {
    Box::new(move |turns| {
        let start = Instant::now();
        for _ in 0..turns {
            turn();
        }
        start.elapsed()
    })
}

/// Returns a job that calls `prepare` and `turn` in each turn, and times `turn` only.
pub fn timed_half<S>(
    mut prepare: impl FnMut() -> S + 'static,
    mut turn: impl FnMut(S) + 'static,
) -> Job {
    Box::new(move |turns| {
        let mut total = Duration::ZERO;
        for _ in 0..turns {
            let prepared = prepare();
            let start = Instant::now();
            turn(prepared);
            total += start.elapsed();
        }
        total
    })
}

/// Returns a workload that repeats one operation, `times` in each turn. `make` is called once on
/// each thread. The operation also gets its index in the turn.
pub fn repeated<S: 'static>(
    name: impl Into<String>,
    times: u64,
    make: impl Fn() -> S + Send + Sync + 'static,
    operation: impl Fn(&S, u64) + Copy + Send + Sync + 'static,
) -> Workload {
    Workload::timed(name, times, make, move |state| {
        for index in 0..times {
            operation(state, index);
        }
    })
}
