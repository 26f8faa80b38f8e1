//! Threads and probes for scenarios on real threads.

use super::objects::scenario::Thread;
use crate::support::Log;
use std::cell::RefCell;
pub use std::sync::Arc;
pub use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
pub use std::thread::{self, JoinHandle, ThreadId};

/// What the threads of a scenario share. Relaxed throughout: an order that this made would hide
/// orderings that are missing in the crate.
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

/// Begins a scenario on this thread.
pub fn begin() {
    RACE.set(Arc::default());
}

/// Waits until all threads that were started are running, and lets them go.
pub fn go() {
    let race = race();
    let spawned = race.spawned.load(Ordering::Relaxed);
    while race.arrived.load(Ordering::Relaxed) != spawned {
        thread::yield_now();
    }
    race.let_go.store(spawned, Ordering::Relaxed);
}

/// Starts a thread that waits for [`go`].
pub fn start<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> JoinHandle<R> {
    start_after(|| (), f).1
}

/// Does what [`start_after`] does.
pub fn spawn_after<T: Send + 'static, R: Send + 'static>(
    make: impl FnOnce() -> T + Send + 'static,
    f: impl FnOnce() -> R + Send + 'static,
) -> (T, Thread<R>) {
    let (made, handle) = start_after(make, f);
    (made, Thread::of(handle))
}

/// Starts a thread that makes something, which is returned, and then waits for [`go`].
fn start_after<T: Send + 'static, R: Send + 'static>(
    make: impl FnOnce() -> T + Send + 'static,
    f: impl FnOnce() -> R + Send + 'static,
) -> (T, JoinHandle<R>) {
    let race = race();
    let number = race.spawned.fetch_add(1, Ordering::Relaxed);
    let (tell, told) = mpsc::channel();
    let handle = thread::spawn(move || {
        RACE.set(race.clone());
        tell.send(make()).unwrap();
        race.arrived.fetch_add(1, Ordering::Relaxed);
        while race.let_go.load(Ordering::Relaxed) <= number {
            thread::yield_now();
        }
        f()
    });
    (told.recv().unwrap(), handle)
}

/// A payload that detects misuse, and shows it to the checkers: its uses read, without atomics,
/// what the destructor writes and frees.
pub struct Probe {
    seven: Box<u32>,
    race: Arc<Race>,
}

impl Probe {
    pub fn new() -> Self {
        Self {
            seven: Box::new(7),
            race: race(),
        }
    }

    pub fn look(&self) {
        assert_eq!(*self.seven, 7, "used after its destructor");
    }

    pub fn change(&mut self) {
        self.look();
        *self.seven = 7;
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let before = std::mem::replace(&mut *self.seven, 0);
        assert_eq!(before, 7, "destroyed twice");
        self.race.deaths.note(0);
    }
}

/// Returns the threads on which probes of this scenario were destroyed.
pub fn deaths() -> Vec<ThreadId> {
    race().deaths.threads()
}

/// Returns the threads on which probes of this scenario were destroyed since the last call.
pub fn take_deaths() -> Vec<ThreadId> {
    let deaths = deaths();
    let taken = race().taken.swap(deaths.len(), Ordering::Relaxed);
    deaths[taken..].to_vec()
}
