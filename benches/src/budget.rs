//! A drain that has a budget of time, and whether it keeps it.

use crate::contest::Figure;
use crate::objects::{Dropping as Object, Payload};
use releasepool::{AutoreleasePool, Budget, Ref};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Objects that wait.
pub const PENDING: usize = 100_000;
/// What a call is given.
pub const BUDGET: Duration = Duration::from_millis(1);
/// What it may take.
pub const LIMIT: Duration = Duration::from_micros(1_200);

/// Time that this thread has had a processor.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Cold objects, as those that wait for long are.
fn fill(pool: &AutoreleasePool) {
    let mut objects: Vec<_> = (0..PENDING as u64)
        .map(|seed| Ref::new(Object::new(seed)))
        .collect();
    // Not in the order in which the memory lies.
    let mut state = 1u64;
    for i in (1..objects.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        objects.swap(i, (state >> 33) as usize % (i + 1));
    }
    for object in objects {
        pool.autorelease(object);
    }
}

/// One call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Call {
    /// CPU time of the thread.
    time: Duration,
    /// The longest step in it, which cannot be divided: a destructor, or the
    /// allocator's tidying up in it.
    step: Duration,
}

impl Call {
    /// That step aside.
    fn divisible(self) -> Duration {
        self.time.saturating_sub(self.step)
    }
}

/// What calls took, until nothing was left.
#[derive(Clone, Debug)]
pub struct Calls {
    rounds: Vec<Vec<Call>>,
    /// Made and drained without a budget.
    whole: Duration,
}

impl Calls {
    /// Drains 100,000 objects by a millisecond at a time, so many times.
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

    /// How many there were.
    pub fn count(&self) -> usize {
        self.all().count()
    }

    /// How many took longer than they may, the longest step in each aside.
    pub fn beyond(&self) -> usize {
        self.all().filter(|call| call.divisible() > LIMIT).count()
    }

    /// Milliseconds of the longest of each round, the longest step in each aside.
    pub fn longest(&self) -> Figure {
        let longest = |round: &Vec<Call>| round.iter().map(|call| call.divisible()).max();
        let times = self.rounds.iter().filter_map(longest);
        Figure::of(times.map(|time| time.as_secs_f64() * 1e3).collect())
    }

    /// For people.
    pub fn print(&self) {
        let mut calls: Vec<_> = self.all().collect();
        calls.sort();
        let at = |part: usize| calls[(calls.len() - 1) * part / 1_000];
        let late = calls.iter().filter(|call| call.time > LIMIT).count();
        println!(
            "\n{PENDING} objects pending, drained by {BUDGET:?} at a time; this thread's CPU time by call"
        );
        println!(
            "  {} calls: median {:?}, p99 {:?}, longest {:?}, with a single step of {:?}",
            calls.len(),
            at(500).time,
            at(990).time,
            at(1_000).time,
            at(1_000).step,
        );
        println!(
            "  above {LIMIT:?}: {late}; with the longest step aside: {}",
            self.beyond()
        );
        println!("  made and drained without a budget: {:?}", self.whole);
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
