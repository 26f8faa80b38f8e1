//! Threads and probes for the scenarios of models, on real threads.

use crate::races::Watched;
use crate::support::Log;
use std::cell::RefCell;
pub use std::sync::Arc;
pub use std::sync::atomic::{AtomicUsize, Ordering};
pub use std::thread::ThreadId;
use std::thread::{self, JoinHandle};

pub use crate::races::me;

/// One run of a scenario. Relaxed throughout, as [`Line`](super::Line).
#[derive(Default)]
struct Race {
    spawned: AtomicUsize,
    arrived: AtomicUsize,
    /// The number of threads that may go.
    let_go: AtomicUsize,
    deaths: Log,
    /// The number of deaths that were looked at.
    taken: AtomicUsize,
}

thread_local! {
    static RACE: RefCell<Arc<Race>> = RefCell::default();
}

fn race() -> Arc<Race> {
    RACE.with_borrow(Arc::clone)
}

/// Begins a run on this thread.
pub fn begin() {
    RACE.set(Arc::default());
}

/// Lets all threads go that have been started, as soon as each of them runs.
pub fn go() {
    let race = race();
    let spawned = race.spawned.load(Ordering::Relaxed);
    while race.arrived.load(Ordering::Relaxed) != spawned {
        thread::yield_now();
    }
    race.let_go.store(spawned, Ordering::Relaxed);
}

/// Starts a thread that waits for [`go`]; joining it also waits for the thread's exit.
pub fn spawn<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> Thread<R> {
    let race = race();
    let number = race.spawned.fetch_add(1, Ordering::Relaxed);
    let handle = thread::spawn(move || {
        RACE.set(race.clone());
        race.arrived.fetch_add(1, Ordering::Relaxed);
        while race.let_go.load(Ordering::Relaxed) <= number {
            thread::yield_now();
        }
        f()
    });
    let id = handle.thread().id();
    Thread { handle, id }
}

pub struct Thread<R> {
    handle: JoinHandle<R>,
    pub id: ThreadId,
}

impl<R> Thread<R> {
    pub fn join(self) -> R {
        self.handle.join().unwrap()
    }

    pub fn ended(self) -> ThreadId {
        self.handle.join().unwrap();
        self.id
    }
}

/// A payload that detects misuse.
pub struct Probe(Watched);

impl Probe {
    pub fn new() -> Self {
        Self(Watched::new(0, &race().deaths))
    }

    pub fn look(&self) {
        self.0.look();
    }

    pub fn change(&mut self) {
        self.0.change();
    }
}

/// Returns the threads on which probes of this run were destroyed since the last call.
pub fn take_deaths() -> Vec<ThreadId> {
    let race = race();
    let deaths = race.deaths.threads();
    deaths[race.taken.swap(deaths.len(), Ordering::Relaxed)..].to_vec()
}
