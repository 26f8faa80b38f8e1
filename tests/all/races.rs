//! The scenarios of the models on real threads, for Miri and the sanitizers.

mod blocks;
mod exit;
mod foreign;
mod objects;
mod probe;
mod sharing;
mod slots;
mod snapshots;

use crate::support::Log;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle, ThreadId};

/// How often each scenario runs. Miri runs it with many seeds.
pub const ROUNDS: u32 = if cfg!(miri) { 1 } else { 2_000 };

/// A barrier at which threads wait for each other. Relaxed throughout: one that ordered anything
/// would hide orderings that are missing in the crate.
pub struct Line {
    missing: AtomicUsize,
}

impl Line {
    pub fn of(racers: usize) -> Arc<Self> {
        let missing = AtomicUsize::new(racers);
        Arc::new(Self { missing })
    }

    pub fn wait(&self) {
        self.missing.fetch_sub(1, Ordering::Relaxed);
        while self.missing.load(Ordering::Relaxed) != 0 {
            thread::yield_now();
        }
    }

    /// Runs `f` on a new thread, after the barrier; joining it also waits for the thread's exit.
    pub fn start<R: Send + 'static>(
        self: &Arc<Self>,
        f: impl FnOnce() -> R + Send + 'static,
    ) -> JoinHandle<(R, ThreadId)> {
        let line = self.clone();
        thread::spawn(move || {
            line.wait();
            (f(), me())
        })
    }
}

pub fn me() -> ThreadId {
    thread::current().id()
}

/// A payload that detects misuse, and shows it to the checkers: its uses read, without atomics,
/// what the destructor writes and frees.
pub struct Watched {
    seven: Box<u32>,
    id: u32,
    deaths: Log,
}

impl Watched {
    pub fn new(id: u32, deaths: &Log) -> Self {
        Self {
            seven: Box::new(7),
            id,
            deaths: deaths.clone(),
        }
    }

    pub fn look(&self) {
        assert_eq!(*self.seven, 7, "used after its destructor");
    }

    fn change(&mut self) {
        self.look();
        *self.seven = 7;
    }
}

impl Clone for Watched {
    fn clone(&self) -> Self {
        self.look();
        Self::new(self.id + 1, &self.deaths)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let before = std::mem::replace(&mut *self.seven, 0);
        assert_eq!(before, 7, "destroyed twice");
        self.deaths.note(self.id);
    }
}
