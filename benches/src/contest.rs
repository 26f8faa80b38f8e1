//! Workloads that take turns in one run.
//!
//! Times measured one after the other are not comparable if the machine's clock rate or its other
//! load changes. So each entry of a contest takes a short sample in every round, in an order that
//! changes from round to round, and two entries are compared round by round: the median of their
//! ratios is the result, and the quartiles show how reliable it is.

use crate::comparison::{Figure, Spread};
use crate::crew::{Sample, SpinBarrier, together};
use crate::workload::{Job, Workload};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A workload, and the number of threads that run it at the same time.
#[derive(Clone)]
pub struct Entry {
    /// The workload of each thread.
    pub workload: Workload,
    /// The number of threads.
    pub threads: usize,
}

impl Entry {
    /// Creates an entry of this workload.
    pub fn new(threads: usize, workload: &Workload) -> Self {
        Self {
            workload: workload.clone(),
            threads,
        }
    }
}

/// How long an entry is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The length of a sample.
    pub sample: Duration,
    /// The length of all rounds.
    pub total: Duration,
    /// The smallest number of rounds, however long they take.
    pub least: usize,
}

impl Effort {
    /// The effort for published figures.
    pub const FULL: Self = Self {
        sample: Duration::from_millis(1),
        total: Duration::from_millis(1_500),
        least: 15,
    };

    /// The effort for checking that everything works. The figures are not reliable.
    pub const QUICK: Self = Self {
        sample: Duration::from_micros(300),
        total: Duration::from_millis(100),
        least: 8,
    };

    /// Returns the effort of a run, which may be a quick one.
    pub fn of(is_quick: bool) -> Self {
        if is_quick { Self::QUICK } else { Self::FULL }
    }

    /// Returns the effort where threads share a processor. A sample then spans several of their
    /// time slices; a shorter one would measure threads that were alone on a processor.
    pub(crate) fn oversubscribed(self) -> Self {
        Self {
            sample: self.sample * 20,
            least: self.least * 3 / 5,
            ..self
        }
    }
}

/// The measurements of an entry, in nanoseconds per operation: for each round the mean of its
/// threads, or `None` if the threads could have run at the same time, but did not.
#[derive(Clone, Debug)]
pub struct Samples {
    rounds: Vec<Option<f64>>,
    together: bool,
}

impl Samples {
    fn of(rounds: Vec<(f64, bool)>) -> Self {
        // On a busy machine, the threads may never have run at the same time. Then all rounds
        // count, as any figure is better than none.
        let together = rounds.iter().any(|(_, together)| *together);
        let counts = |(time, at_once): (f64, bool)| (at_once || !together).then_some(time);
        Self {
            rounds: rounds.into_iter().map(counts).collect(),
            together,
        }
    }

    /// Creates the samples of one thread.
    pub fn alone(rounds: impl IntoIterator<Item = f64>) -> Self {
        Self::of(rounds.into_iter().map(|time| (time, true)).collect())
    }

    /// Returns the time per operation, in nanoseconds, unless it is too short to be measured.
    pub fn time(&self) -> Option<Figure> {
        let spread = Spread::of(self.rounds.iter().copied().flatten());
        spread.map(|spread| spread.figure())
    }

    /// Returns the number of rounds that count.
    pub fn rounds(&self) -> usize {
        self.rounds.iter().flatten().count()
    }

    /// Returns true if the threads ran at the same time in the rounds that count, as far as there
    /// are processors.
    pub fn together(&self) -> bool {
        self.together
    }

    /// Returns the time per operation of each round, in nanoseconds, or `None` if it does not count.
    pub fn each(&self) -> &[Option<f64>] {
        &self.rounds
    }

    /// Returns how many times as long as `other` this entry took, round by round, if some rounds
    /// count for both.
    pub fn over(&self, other: &Self) -> Option<Spread> {
        Spread::paired(&self.rounds, &other.rounds)
    }
}

/// Returns the number of turns that make up one sample.
fn calibrate(job: &mut Job, sample: Duration) -> u64 {
    let mut time = |turns| {
        let start = Instant::now();
        job(turns);
        start.elapsed()
    };
    let mut turns = 1;
    time(1);
    loop {
        let mut shortest = time(turns);
        if shortest >= sample / 2 && turns > 1 {
            // Another process may have interrupted the job.
            shortest = shortest.min(time(turns)).min(time(turns));
        }
        if shortest >= sample / 2 {
            let scale = sample.as_secs_f64() / shortest.as_secs_f64();
            return ((turns as f64 * scale) as u64).max(1);
        }
        turns *= 2;
    }
}

/// Returns the order of the entries in a round: each is first equally often, and every second round
/// goes backwards.
fn order(round: usize, entries: usize) -> impl Iterator<Item = usize> {
    (0..entries).map(move |i| {
        let at = (i + round / 2) % entries;
        if round.is_multiple_of(2) {
            at
        } else {
            entries - 1 - at
        }
    })
}

/// State shared by all threads of a contest.
struct Ring<'e> {
    entries: &'e [Entry],
    effort: Effort,
    gate: Barrier,
    barriers: Vec<SpinBarrier>,
    turns: Vec<AtomicU64>,
    rounds: AtomicU64,
}

impl Ring<'_> {
    /// Takes part as thread `id`, and returns its samples, by entry.
    fn compete(&self, id: usize) -> Vec<Vec<Sample>> {
        let takes_part = |entry: &Entry| (id < entry.threads).then(|| entry.workload.job());
        let mut jobs: Vec<_> = self.entries.iter().map(takes_part).collect();
        if id == 0 {
            self.plan(&mut jobs);
        }
        let start = Instant::now();
        let mut samples = vec![Vec::new(); jobs.len()];
        for round in 0.. {
            // On a busy machine, threads wait for each other for a long time.
            if id == 0 && round > self.effort.least && start.elapsed() > self.effort.total * 3 {
                self.rounds.store(0, Ordering::Relaxed);
            }
            self.gate.wait();
            // The first round is a warm-up.
            if round as u64 > self.rounds.load(Ordering::Relaxed) {
                break;
            }
            for at in order(round, jobs.len()) {
                self.gate.wait();
                let Some(job) = &mut jobs[at] else {
                    continue;
                };
                let entry = &self.entries[at];
                let turns = self.turns[at].load(Ordering::Relaxed);
                let sample = self.barriers[at].sample(entry.threads, job, turns);
                if round > 0 {
                    samples[at].push(sample);
                }
            }
        }
        samples
    }

    /// Determines the number of turns in a sample of each entry, and the number of rounds.
    fn plan(&self, jobs: &mut [Option<Job>]) {
        let mut round = Duration::ZERO;
        for (job, turns) in jobs.iter_mut().zip(&self.turns) {
            let job = job.as_mut().expect("the first thread runs every job");
            turns.store(calibrate(job, self.effort.sample), Ordering::Relaxed);
            let start = Instant::now();
            job(turns.load(Ordering::Relaxed));
            round += start.elapsed();
        }
        let rounds = self.effort.total.as_secs_f64() / round.as_secs_f64();
        let rounds = (rounds as usize).max(self.effort.least);
        self.rounds.store(rounds as u64, Ordering::Relaxed);
    }
}

/// Returns the number of threads that can run at the same time.
pub fn parallelism() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// How often all threads and jobs of a contest are made anew. As long as they live, their shared
/// data keep one address, which affects how long two processors take to exchange them.
const SITTINGS: usize = 5;

/// Measures all entries, on spawned threads.
///
/// # Panics
/// If a job panics.
pub fn run(entries: &[Entry], effort: Effort) -> Vec<Samples> {
    let part = Effort {
        total: effort.total / SITTINGS as u32,
        least: effort.least.div_ceil(SITTINGS),
        ..effort
    };
    let mut rounds = vec![Vec::new(); entries.len()];
    for _ in 0..SITTINGS {
        let sitting = sitting(entries, part);
        rounds
            .iter_mut()
            .zip(sitting)
            .for_each(|(all, of_sitting)| all.extend(of_sitting));
    }
    rounds.into_iter().map(Samples::of).collect()
}

/// Returns for each entry the time of each round, and whether its threads ran at the same time.
fn sitting(entries: &[Entry], effort: Effort) -> Vec<Vec<(f64, bool)>> {
    let crew = entries.iter().map(|entry| entry.threads).max().unwrap_or(0);
    let ring = Ring {
        entries,
        effort,
        gate: Barrier::new(crew),
        barriers: entries.iter().map(|_| SpinBarrier::default()).collect(),
        turns: entries.iter().map(|_| AtomicU64::new(0)).collect(),
        rounds: AtomicU64::new(0),
    };
    let samples: Vec<_> = thread::scope(|scope| {
        let ring = &ring;
        let spawn = |id| scope.spawn(move || ring.compete(id));
        let crew: Vec<_> = (0..crew).map(spawn).collect();
        crew.into_iter()
            .map(|member| member.join().expect("a job panicked"))
            .collect()
    });
    let processors = parallelism();
    let of_entry = |at: usize| {
        let entry = &entries[at];
        let operations = ring.turns[at].load(Ordering::Relaxed) * entry.workload.operations;
        let round = |round: usize| {
            let crew = samples[..entry.threads].iter().map(|all| all[at][round]);
            let crew: Vec<_> = crew.collect();
            let sum: Duration = crew.iter().map(|sample| sample.time).sum();
            let mean = sum.as_nanos() as f64 / entry.threads as f64;
            let at_once = entry.threads > processors || together(&crew);
            (mean / operations as f64, at_once)
        };
        (0..samples[0][at].len()).map(round).collect()
    };
    (0..entries.len()).map(of_entry).collect()
}
