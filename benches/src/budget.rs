//! A drain with a time budget, and a check that each call keeps to it.

use crate::comparison::{Judged, least_rounds};
use crate::contest::{Effort, Samples};
use crate::objects::{Dropping as Object, Payload};
use crate::results::{Measured, Side, Verdict};
use crate::table::Row;
use crate::workload::Role;
use fastrand::Rng;
use releasepool::{AutoreleasePool, Budget, Ref};
use rustix::time::{ClockId, clock_gettime};
use std::thread;
use std::time::Duration;

/// Objects that are pending.
const PENDING: usize = 100_000;
/// The budget of a call.
const BUDGET: Duration = Duration::from_millis(1);
/// The time that a call may take.
const LIMIT: Duration = Duration::from_micros(1_200);

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

/// The measurement of one call.
struct Call {
    /// CPU time of the thread.
    time: Duration,
    /// The time without the longest step, which cannot be divided: a destructor, or the allocator's
    /// consolidation of free memory in it.
    divisible: Duration,
}

/// Drains 100,000 objects with a budget of a millisecond per call.
fn round(pool: &mut AutoreleasePool) -> Vec<Call> {
    fill(pool);
    let mut calls = Vec::new();
    loop {
        let before = cpu_time();
        let drained = pool.drain_within(Budget::Time(BUDGET));
        let time = cpu_time() - before;
        let step = drained.slowest.map_or(Duration::ZERO, |(_, time)| time);
        let divisible = time.saturating_sub(step);
        calls.push(Call { time, divisible });
        if drained.remaining == 0 {
            return calls;
        }
    }
}

/// Measures the row, whose target is judged by every single call, not by the median.
fn measure(effort: Effort) -> Measured {
    let rounds = if effort.least < Effort::FULL.least {
        effort.least
    } else {
        20
    };
    // On a spawned thread, like all measurements.
    let rounds: Vec<_> = thread::scope(|scope| {
        let drains = scope.spawn(|| {
            let mut pool = AutoreleasePool::new();
            (0..rounds).map(|_| round(&mut pool)).collect()
        });
        drains.join().expect("the measurement does not panic")
    });
    let calls = || rounds.iter().flatten();
    let late = calls().filter(|call| call.divisible > LIMIT).count();
    let longest = calls().map(|call| call.time).max().unwrap_or_default();
    let longest_of = |round: &Vec<Call>| round.iter().map(|call| call.divisible).max();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let samples = rounds.iter().filter_map(longest_of).map(milliseconds);
    let samples: Vec<_> = samples.collect();
    let result = match late {
        _ if samples.len() < least_rounds() => Judged::TooFew,
        0 => Judged::Met,
        _ => Judged::Missed,
    };
    let remark = format!(
        "{late} of {} calls were longer; with its longest step the longest took {longest:?}",
        calls().count()
    );
    let target = Verdict {
        asked: format!("no call longer than {} ms", milliseconds(LIMIT)),
        samples: samples.iter().copied().map(Some).collect(),
        result,
        remark: Some(remark),
    };
    let side = Side {
        name: "drain_within(1 ms), CPU time".to_owned(),
        role: Role::Ours,
        threads: 1,
        samples: Samples::alone(samples.iter().map(|milliseconds| milliseconds * 1e6)),
    };
    Measured {
        what: WHAT.to_owned(),
        threads: 1,
        oversubscribed: false,
        sides: vec![side],
        targets: vec![target],
    }
}

/// Returns the row.
pub fn row() -> Row {
    Row::alone(WHAT, 1, Some(measure))
}
