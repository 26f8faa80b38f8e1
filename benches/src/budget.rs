//! A drain with a time budget, and a check that each call keeps to it.

use crate::objects::{Dropping as Object, Payload};
use crate::table::Row;
use crate::workload::Workload;
use fastrand::Rng;
use releasepool::{AutoreleasePool, Budget, Ref};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Objects that are pending.
const PENDING: usize = 100_000;
/// The budget of a call.
const BUDGET: Duration = Duration::from_millis(1);
/// Nanoseconds that a call may take.
const LIMIT: f64 = 1_200_000.0;

/// The title of the row.
const WHAT: &str =
    "budget of 1 ms, 100,000 pending: the longest call of each round, without its longest step";

/// Returns the CPU time of the calling thread.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Adds objects to the pool in random order, so that they are not in the cache, like objects that
/// have been pending for long.
fn fill(pool: &AutoreleasePool) {
    let objects = (0..PENDING as u64).map(|seed| Ref::new(Object::new(seed)));
    let mut objects: Vec<_> = objects.collect();
    Rng::with_seed(1).shuffle(&mut objects);
    for object in objects {
        pool.autorelease(object);
    }
}

/// Drains 100,000 objects with a budget of a millisecond per call. Returns the CPU time of the longest call,
/// without its longest step, which cannot be divided: a destructor, or the allocator's consolidation of free
/// memory in it.
fn longest_call(pool: &mut AutoreleasePool) -> Duration {
    fill(pool);
    let mut longest = Duration::ZERO;
    loop {
        let before = cpu_time();
        let drained = pool.drain_within(Budget::Time(BUDGET));
        let time = cpu_time() - before;
        let step = drained.slowest.map_or(Duration::ZERO, |(_, time)| time);
        longest = longest.max(time.saturating_sub(step));
        if drained.remaining == 0 {
            return longest;
        }
    }
}

/// Returns the row, whose target is judged by every single call, not by the median.
pub fn row() -> Row {
    let drains = Workload::new("drain_within(1 ms), CPU time", 1, || {
        let mut pool = AutoreleasePool::new();
        Box::new(move |turns| (0..turns).map(|_| longest_call(&mut pool)).sum())
    });
    Row::new(WHAT, 1, &drains).always_within(LIMIT)
}
