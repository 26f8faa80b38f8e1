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
pub enum End {
    /// At this time, but not before each document has been assigned once, so that all errors in
    /// documents are found.
    At(Instant),
    /// After this many documents in all.
    Total(u64),
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
                End::Total(total) => Some(self.take()).filter(|&n| n < total),
                End::At(time) => {
                    Some(self.take()).filter(|&n| n < documents || Instant::now() < time)
                }
            };
            n.map(|n| (n % documents) as usize)
        })
    }

    fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}
