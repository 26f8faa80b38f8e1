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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Call {
    /// CPU time of the thread.
    time: Duration,
    /// The longest step, which cannot be divided: a destructor, or the allocator's consolidation of
    /// free memory in it.
    step: Duration,
}

impl Call {
    /// Returns the time without the longest step.
    fn divisible(self) -> Duration {
        self.time.saturating_sub(self.step)
    }
}

/// The measurements of all calls that it took to drain a pool, several times.
#[derive(Clone, Debug)]
struct Calls {
    rounds: Vec<Vec<Call>>,
}

impl Calls {
    /// Drains 100,000 objects with a budget of a millisecond per call, `rounds` times.
    fn measure(rounds: usize) -> Self {
        let mut pool = AutoreleasePool::new();
        let rounds = (0..rounds).map(|_| round(&mut pool)).collect();
        Self { rounds }
    }

    fn all(&self) -> impl Iterator<Item = Call> {
        self.rounds.iter().flatten().copied()
    }

    /// Returns the number of calls that took longer than the limit, without their longest step.
    fn beyond(&self) -> usize {
        self.all().filter(|call| call.divisible() > LIMIT).count()
    }

    /// Returns the time of each round's longest call, without its longest step, in milliseconds.
    fn longest_by_round(&self) -> Vec<f64> {
        let longest = |round: &Vec<Call>| round.iter().map(|call| call.divisible()).max();
        let times = self.rounds.iter().filter_map(longest);
        times.map(|time| time.as_secs_f64() * 1e3).collect()
    }

    /// Returns the row, with a target that is judged by every single call, not by the median.
    fn row(&self) -> Measured {
        let samples = self.longest_by_round();
        let late = self.beyond();
        let result = match late {
            _ if samples.len() < least_rounds() => Judged::TooFew,
            0 => Judged::Met,
            _ => Judged::Missed,
        };
        let calls = self.all().count();
        let longest = self.all().map(|call| call.time).max().unwrap_or_default();
        let target = Verdict {
            asked: format!("no call longer than {} ms", LIMIT.as_secs_f64() * 1e3),
            samples: samples.iter().copied().map(Some).collect(),
            result,
            remark: Some(format!(
                "{late} of {calls} calls were longer; with its longest step the longest took {longest:?}"
            )),
        };
        let side = Side {
            name: "drain_within(1 ms), CPU time".to_owned(),
            role: Role::Ours,
            threads: 1,
            note: None,
            samples: Samples::alone(samples.iter().map(|milliseconds| milliseconds * 1e6)),
        };
        Measured {
            what: WHAT.to_owned(),
            about: Vec::new(),
            threads: 1,
            oversubscribed: false,
            sides: vec![side],
            targets: vec![target],
        }
    }
}

fn round(pool: &mut AutoreleasePool) -> Vec<Call> {
    fill(pool);
    let mut calls = Vec::new();
    loop {
        let before = cpu_time();
        let drained = pool.drain_within(Budget::Time(BUDGET));
        let time = cpu_time() - before;
        let step = drained.slowest.map_or(Duration::ZERO, |(_, time)| time);
        calls.push(Call { time, step });
        if drained.remaining == 0 {
            return calls;
        }
    }
}

/// Measures the budget, on a spawned thread like all other measurements.
fn measure(effort: Effort) -> Measured {
    let rounds = if effort.least < Effort::FULL.least {
        effort.least
    } else {
        20
    };
    let calls = thread::spawn(move || Calls::measure(rounds)).join();
    calls.expect("the measurement does not panic").row()
}

/// Returns the row.
pub fn row() -> Row {
    Row::alone(WHAT, 1, Some(measure))
}
