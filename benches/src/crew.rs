//! Threads that do the same job at the same time.

use crate::workload::{Job, Workload};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Where the threads of a crew wait for each other, with little to wake up from.
#[derive(Debug, Default)]
pub struct Meeting {
    arrived: AtomicUsize,
    finished: AtomicUsize,
}

/// Turns of the loop below before the processor is left to others.
const SPINS: u32 = 1_000;

/// Asks again and again, and at last lets others have the processor in between.
pub fn wait_for<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let mut spins = 0;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        spins += 1;
        if spins < SPINS {
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

fn wait_until(condition: impl Fn() -> bool) {
    wait_for(|| condition().then_some(()));
}

/// The count at which this arrival's group of `threads` is complete.
fn complete(threads: usize, before: usize) -> usize {
    (before / threads + 1) * threads
}

impl Meeting {
    /// Comes back when all `threads` have come.
    pub fn meet(&self, threads: usize) {
        let before = self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = complete(threads, before);
        wait_until(|| self.arrived.load(Ordering::Acquire) >= all);
    }

    /// Goes on with `meanwhile` until all `threads` have finished.
    fn finish(&self, threads: usize, mut meanwhile: impl FnMut()) {
        let before = self.finished.fetch_add(1, Ordering::AcqRel);
        let all = complete(threads, before);
        while self.finished.load(Ordering::Acquire) < all {
            meanwhile();
        }
    }

    /// One sample of a job that `threads` do at the same time: how long this one
    /// took for its turns. Begins with a turn that is not counted; a thread that is
    /// done goes on until all are, so that none is measured alone.
    pub fn sample(&self, threads: usize, job: &mut Job, turns: u64) -> Sample {
        job(1);
        self.meet(threads);
        let start = Instant::now();
        let time = job(turns);
        let end = Instant::now();
        self.finish(threads, || {
            job(1);
        });
        Sample { time, start, end }
    }
}

/// What one thread took, and when.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// As the job says.
    pub time: Duration,
    /// When it began.
    pub start: Instant,
    /// When it had ended.
    pub end: Instant,
}

/// Whether all of a crew were at it at the same time, for half as long as the shortest
/// at least: not if the system had one of them wait for a processor that another used.
pub fn together(crew: &[Sample]) -> bool {
    let start = crew.iter().map(|sample| sample.start).max();
    let end = crew.iter().map(|sample| sample.end).min();
    let lengths = crew.iter().map(|sample| sample.end - sample.start);
    match (start, end, lengths.min()) {
        (Some(start), Some(end), Some(shortest)) => {
            end.saturating_duration_since(start) >= shortest / 2
        }
        _ => true,
    }
}

/// Has new threads do the same, and gives the mean of their times.
///
/// # Panics
/// If the job does.
pub fn run(threads: usize, workload: &Workload, turns: u64) -> Duration {
    let meeting = Meeting::default();
    let total = thread::scope(|scope| {
        let spawn = |_| scope.spawn(|| meeting.sample(threads, &mut workload.job(), turns));
        let crew: Vec<_> = (0..threads).map(spawn).collect();
        let times = crew.into_iter().map(|member| member.join());
        times
            .map(|sample| sample.expect("a job panicked").time)
            .sum::<Duration>()
    });
    total / threads as u32
}
