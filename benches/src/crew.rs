//! Threads that run one workload at the same time.

use crate::workload::{Job, Workload};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A barrier at which threads spin, so that they start together with little delay.
#[derive(Debug, Default)]
pub struct SpinBarrier {
    arrived: AtomicUsize,
    finished: AtomicUsize,
}

/// Polls `condition` until it returns a value. After a while, yields the processor between polls.
pub fn wait_for<T>(mut condition: impl FnMut() -> Option<T>) -> T {
    const SPINS: u32 = 1_000;
    let mut spins = 0;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        spins += 1;
        if spins < SPINS {
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

/// Returns the count at which a group of `threads` is complete, for the thread that arrives after
/// `before` others.
fn complete(threads: usize, before: usize) -> usize {
    (before / threads + 1) * threads
}

impl SpinBarrier {
    /// Returns once `threads` threads have called this.
    pub fn wait(&self, threads: usize) {
        let before = self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = complete(threads, before);
        wait_for(|| (self.arrived.load(Ordering::Acquire) >= all).then_some(()));
    }

    /// Calls `meanwhile` repeatedly until `threads` threads have called this.
    fn finish(&self, threads: usize, mut meanwhile: impl FnMut()) {
        let before = self.finished.fetch_add(1, Ordering::AcqRel);
        let all = complete(threads, before);
        while self.finished.load(Ordering::Acquire) < all {
            meanwhile();
        }
    }

    /// Takes one sample of a job that `threads` threads run at the same time, after a warm-up turn.
    /// A thread that has finished its turns continues until all have, so that none is measured
    /// alone.
    pub fn sample(&self, threads: usize, job: &mut Job, turns: u64) -> Sample {
        job(1);
        self.wait(threads);
        let start = Instant::now();
        let time = job(turns);
        let end = Instant::now();
        self.finish(threads, || {
            job(1);
        });
        Sample { time, start, end }
    }
}

/// One thread's measurement of a job.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The time that the job reported.
    pub time: Duration,
    /// When the turns began.
    pub start: Instant,
    /// When the turns ended.
    pub end: Instant,
}

/// Returns true if all threads ran at the same time for at least half as long as the shortest sample
/// took. Otherwise the operating system let some of them wait for a processor that others used.
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

/// Runs three turns of a workload on each of several new threads, at the same time. Returns true if none
/// panicked.
pub fn run(threads: usize, workload: &Workload) -> bool {
    let barrier = SpinBarrier::default();
    thread::scope(|scope| {
        let work = || {
            let mut job = workload.job();
            barrier.wait(threads);
            job(1);
            job(2);
        };
        let crew: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ends: Vec<_> = crew.into_iter().map(|member| member.join()).collect();
        ends.iter().all(Result::is_ok)
    })
}
