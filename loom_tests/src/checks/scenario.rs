//! Steps of models that also run on real threads: `tests/all/races` compiles this file, too, with
//! threads, atomics and probes of its own.

pub use super::model::Model;
pub(crate) use super::model::model;
pub use super::probe::*;
use releasepool::{AutoreleasePool, PoolManager, ThreadHandle};
use std::ops::Deref;

pub fn manager() -> &'static PoolManager {
    PoolManager::global()
}

/// Enters the calling thread into the registry, and returns its handle.
pub fn this() -> ThreadHandle {
    manager().current_thread().unwrap()
}

/// Drains an empty pool: so the thread serves its duties, such as remote releases.
pub fn drain() {
    drop(AutoreleasePool::new());
}

/// The outcomes of [`died_on`] for two threads.
pub const DIED: &[&str] = &["died on 0", "died on 1"];

/// Returns on which of `threads` the only probe was destroyed, by its index.
pub fn died_on(threads: &[ThreadId]) -> usize {
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 1, "exactly one death");
    let at = threads.iter().position(|thread| *thread == deaths[0]);
    at.unwrap_or_else(|| panic!("died on {:?}", deaths[0]))
}

/// A thread of a scenario.
pub struct Thread<R> {
    handle: JoinHandle<R>,
    pub id: ThreadId,
}

impl<R> Thread<R> {
    pub fn of(handle: JoinHandle<R>) -> Self {
        let id = handle.thread().id();
        Self { handle, id }
    }

    pub fn join(self) -> R {
        self.handle.join().unwrap()
    }

    /// Waits until the thread has ended; returns its id.
    pub fn ended(self) -> ThreadId {
        self.handle.join().unwrap();
        self.id
    }
}

/// Starts a thread; its `join` returns after the thread's exit.
pub fn spawn<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> Thread<R> {
    Thread::of(start(f))
}

/// Returns the calling thread's id.
pub fn me() -> ThreadId {
    thread::current().id()
}

/// Starts a thread that calls `f` with a clone of `shared`.
pub fn spawn_with<S: Clone + Send + 'static, R: Send + 'static>(
    shared: &S,
    f: impl FnOnce(S) -> R + Send + 'static,
) -> Thread<R> {
    let shared = shared.clone();
    spawn(move || f(shared))
}

pub fn join_all<const N: usize, R>(threads: [Thread<R>; N]) -> [R; N] {
    threads.map(Thread::join)
}

/// Uses a probe, and drops the reference to it.
pub fn last_look(probe: impl Deref<Target = Probe>) {
    probe.look();
}

/// A counter for threads that share no other memory, so that loom explores both orders.
#[derive(Clone)]
pub struct Order(Arc<AtomicUsize>);

impl Order {
    pub fn new() -> Self {
        Self(Arc::default())
    }

    /// Returns how many threads came before.
    pub fn next(&self) -> usize {
        // Relaxed, so that it orders nothing.
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Runs a closure when it is dropped.
pub struct OnDrop(Option<Box<dyn FnOnce() + Send + Sync>>);

impl OnDrop {
    pub fn new(f: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(f)))
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.take().unwrap()();
    }
}
