//! A drain with a time budget, and a check that each call keeps to it.

use crate::contest::Figure;
use crate::objects::{Dropping as Object, Payload};
use fastrand::Rng;
use releasepool::{AutoreleasePool, Budget, Ref};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Objects that are pending.
const PENDING: usize = 100_000;
/// The budget of a call.
const BUDGET: Duration = Duration::from_millis(1);
/// The time that a call may take.
pub const LIMIT: Duration = Duration::from_micros(1_200);

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
pub struct Calls {
    rounds: Vec<Vec<Call>>,
    /// The time for creating the objects and draining them without a budget.
    whole: Duration,
}

impl Calls {
    /// Drains 100,000 objects with a budget of a millisecond per call, `rounds` times.
    pub fn measure(rounds: usize) -> Self {
        let mut pool = AutoreleasePool::new();
        let rounds = (0..rounds).map(|_| round(&mut pool)).collect();
        let start = Instant::now();
        fill(&pool);
        pool.drain();
        let whole = start.elapsed();
        Self { rounds, whole }
    }

    fn all(&self) -> impl Iterator<Item = Call> {
        self.rounds.iter().flatten().copied()
    }

    /// Returns the number of calls.
    pub fn count(&self) -> usize {
        self.all().count()
    }

    /// Returns the number of calls that took longer than the limit, without their longest step.
    pub fn beyond(&self) -> usize {
        self.all().filter(|call| call.divisible() > LIMIT).count()
    }

    /// Returns the time of each round's longest call, without its longest step, in milliseconds.
    pub fn longest_by_round(&self) -> Vec<f64> {
        let longest = |round: &Vec<Call>| round.iter().map(|call| call.divisible()).max();
        let times = self.rounds.iter().filter_map(longest);
        times.map(|time| time.as_secs_f64() * 1e3).collect()
    }

    /// Returns the median and the quartiles of these times.
    pub fn longest(&self) -> Figure {
        Figure::of(self.longest_by_round())
    }

    /// Prints a summary.
    pub fn print(&self) {
        let mut calls: Vec<_> = self.all().collect();
        calls.sort();
        let at = |part: usize| calls[(calls.len() - 1) * part / 1_000];
        let late = calls.iter().filter(|call| call.time > LIMIT).count();
        println!(
            "\n{PENDING} pending objects, drained with a budget of {BUDGET:?} per call; CPU time"
        );
        println!(
            "  {} calls: median {:?}, p99 {:?}, longest {:?}, of which its longest step took {:?}",
            calls.len(),
            at(500).time,
            at(990).time,
            at(1_000).time,
            at(1_000).step,
        );
        println!(
            "  calls longer than {LIMIT:?}: {late}; without the longest step of each: {}",
            self.beyond()
        );
        println!("  creating and draining without a budget: {:?}", self.whole);
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
