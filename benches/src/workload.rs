//! What is measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// Does something so many times, and says how long that took by this thread's
/// own clock. Made on the thread that runs it, and dropped there.
pub type Job = Box<dyn FnMut(u64) -> Duration>;

/// A job for each thread that is to do it, and what it comes to.
#[derive(Clone)]
pub struct Workload {
    /// For people.
    pub name: String,
    /// Operations in one turn of the job; results are given per operation.
    pub operations: u64,
    make: Arc<dyn Fn() -> Job + Send + Sync>,
}

impl Workload {
    /// `make` is called once on each thread.
    pub fn new(
        name: impl Into<String>,
        operations: u64,
        make: impl Fn() -> Job + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            operations,
            make: Arc::new(make),
        }
    }

    /// The calling thread's job.
    pub fn job(&self) -> Job {
        (self.make)()
    }
}

/// A job of which every turn is `turn`.
pub fn timed(mut turn: impl FnMut() + 'static) -> Job {
    Box::new(move |turns| {
        let start = Instant::now();
        for _ in 0..turns {
            turn();
        }
        start.elapsed()
    })
}

/// A job of which only the second half of every turn is timed.
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
