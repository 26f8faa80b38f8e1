//! Decides which worker parses which document, and when to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

pub struct Schedule {
    documents: usize,
    workers: usize,
    end: End,
    /// How many documents have been assigned so far, if all workers take from one list.
    next: AtomicU64,
    stopped: AtomicBool,
}

/// When to stop.
#[derive(Clone, Copy)]
pub enum End {
    /// At this time, but not before `at_least` documents have been assigned.
    At { time: Instant, at_least: u64 },
    /// When each worker has parsed each document this many times.
    Rounds(u64),
}

impl Schedule {
    pub fn new(documents: usize, workers: usize, end: End) -> Self {
        Self {
            documents,
            workers,
            end,
            next: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Stops all workers.
    pub fn stop(&self) {
        // Relaxed: publishes nothing else. Workers that see the flag late parse another document.
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns the documents that a worker has to parse; workers are counted from 0.
    pub fn of_worker(&self, worker: usize) -> impl Iterator<Item = usize> + '_ {
        let documents = self.documents as u64;
        // In rounds, each worker starts at another document.
        let offset = worker as u64 * documents / self.workers as u64;
        let mut done = 0;
        std::iter::from_fn(move || {
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            let n = match self.end {
                End::Rounds(rounds) => {
                    done += 1;
                    (done <= rounds * documents).then_some(offset + done - 1)
                }
                End::At { time, at_least } => {
                    Some(self.take()).filter(|&n| n < at_least || Instant::now() < time)
                }
            };
            n.map(|n| (n % documents) as usize)
        })
    }

    fn take(&self) -> u64 {
        // Only the number matters; it orders nothing.
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_of_each_worker() {
        let schedule = Schedule::new(3, 2, End::Rounds(2));
        assert_eq!(
            schedule.of_worker(0).collect::<Vec<_>>(),
            [0, 1, 2, 0, 1, 2]
        );
        assert_eq!(
            schedule.of_worker(1).collect::<Vec<_>>(),
            [1, 2, 0, 1, 2, 0]
        );
    }

    #[test]
    fn after_the_time_only_what_must_be_parsed_is() {
        let time = Instant::now();
        let schedule = Schedule::new(3, 1, End::At { time, at_least: 4 });
        assert_eq!(schedule.of_worker(0).collect::<Vec<_>>(), [0, 1, 2, 0]);
        assert_eq!(schedule.of_worker(0).next(), None);
    }
}
