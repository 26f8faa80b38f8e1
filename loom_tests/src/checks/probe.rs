//! Threads, and payloads that detect uses after their destruction and record on which thread they
//! died.

use loom::cell::UnsafeCell;
pub use loom::sync::Arc;
pub use loom::sync::atomic::{AtomicUsize, Ordering};
pub use loom::thread::{self, JoinHandle, ThreadId};
use std::sync::{Mutex, PoisonError};

/// A payload: each use reads a cell that the destructor writes, so loom checks their order.
pub struct Probe(UnsafeCell<u32>);

// SAFETY: loom runs one thread at a time, and fails the model if uses and writes are not ordered.
unsafe impl Sync for Probe {}

/// The threads on which probes were destroyed in this execution.
static DEATHS: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

fn deaths() -> std::sync::MutexGuard<'static, Vec<ThreadId>> {
    DEATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Probe {
    pub fn new() -> Self {
        Self(UnsafeCell::new(7))
    }

    pub fn look(&self) {
        // SAFETY: loom fails the model if this access is not ordered with the others.
        self.0
            .with(|n| assert_eq!(unsafe { *n }, 7, "used after its destructor"));
    }

    pub fn change(&mut self) {
        // SAFETY: loom fails the model if this access is not ordered with the others.
        self.0.with_mut(|n| unsafe { *n = 7 });
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // SAFETY: loom fails the model if this access is not ordered with the others.
        self.0.with_mut(|n| {
            assert_eq!(
                unsafe { std::mem::replace(&mut *n, 0) },
                7,
                "destroyed twice"
            );
        });
        deaths().push(thread::current().id());
    }
}

/// A flag that the destructor of a [`Watched`] sets. A model reads it without a join in between, so
/// something else must order the write and the read.
pub struct Seen(UnsafeCell<bool>);

// SAFETY: loom runs one thread at a time, and fails the model if accesses are not ordered.
unsafe impl Sync for Seen {}
// SAFETY: loom runs one thread at a time, and fails the model if accesses are not ordered.
unsafe impl Send for Seen {}

impl Seen {
    pub fn new() -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self(UnsafeCell::new(false)))
    }

    pub fn get(&self) -> bool {
        // SAFETY: loom fails the model if this access is not ordered with the others.
        self.0.with(|seen| unsafe { *seen })
    }
}

pub struct Watched(pub std::sync::Arc<Seen>);

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: loom fails the model if this access is not ordered with the others.
        self.0.0.with_mut(|seen| unsafe { *seen = true });
    }
}

/// Returns the threads on which probes were destroyed since the last call.
pub fn take_deaths() -> Vec<ThreadId> {
    std::mem::take(&mut deaths())
}

/// Starts the threads of a race on real threads; models need no start.
pub fn go() {}

/// Starts a thread that ends with `model::thread_exit`.
pub fn start<R: 'static>(f: impl FnOnce() -> R + 'static) -> JoinHandle<R> {
    thread::spawn(move || {
        let result = f();
        releasepool::model::thread_exit();
        result
    })
}
