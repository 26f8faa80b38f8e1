//! Threads, and payloads that detect uses after their destruction and record on which thread they
//! died.

use loom::cell::UnsafeCell;
pub use loom::sync::Arc;
pub use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread::JoinHandle;
pub use loom::thread::ThreadId;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
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
        // SAFETY: loom checks it.
        self.0
            .with(|n| assert_eq!(unsafe { *n }, 7, "used after its destructor"));
    }

    pub fn change(&mut self) {
        // SAFETY: loom checks it.
        self.0.with_mut(|n| unsafe { *n = 7 });
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // SAFETY: loom checks it.
        self.0.with_mut(|n| {
            assert_eq!(
                unsafe { std::mem::replace(&mut *n, 0) },
                7,
                "destroyed twice"
            );
        });
        deaths().push(loom::thread::current().id());
    }
}

/// Written by the destructor of a [`Watched`] and read without a join in between, so something else
/// must order the two.
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
        // SAFETY: loom checks it.
        self.0.with(|seen| unsafe { *seen })
    }
}

pub struct Watched(pub std::sync::Arc<Seen>);

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: loom checks it.
        self.0.0.with_mut(|seen| unsafe { *seen = true });
    }
}

/// Returns the threads on which probes were destroyed since the last call.
pub fn take_deaths() -> Vec<ThreadId> {
    std::mem::take(&mut deaths())
}

/// Returns the calling thread's id.
pub fn me() -> ThreadId {
    loom::thread::current().id()
}

/// A thread of a model.
pub struct Thread<R> {
    handle: JoinHandle<R>,
    pub id: ThreadId,
}

impl<R> Thread<R> {
    pub fn join(self) -> R {
        self.handle.join().unwrap()
    }

    /// Waits until the thread has ended; returns its id.
    pub fn ended(self) -> ThreadId {
        self.handle.join().unwrap();
        self.id
    }
}

/// Starts a thread that ends with `model::thread_exit`.
pub fn spawn<R: 'static>(f: impl FnOnce() -> R + 'static) -> Thread<R> {
    spawn_without_exit(move || {
        let result = f();
        releasepool::model::thread_exit();
        result
    })
}

/// Starts a thread that ends without `model::thread_exit`: there is nothing that it would release.
pub fn spawn_without_exit<R: 'static>(f: impl FnOnce() -> R + 'static) -> Thread<R> {
    let handle = loom::thread::spawn(f);
    let id = handle.thread().id();
    Thread { handle, id }
}

/// Starts the threads of a race on real threads; models need no start.
pub fn go() {}

/// The outcomes of [`overlap`].
pub const OVERLAP: &[&str] = &["at once", "one after the other"];

/// Runs `there` on another thread while this one runs `here`. Returns their results, and whether
/// that overlapped.
pub fn overlap<A: 'static, B>(
    there: impl FnOnce() -> A + 'static,
    here: impl FnOnce() -> B,
) -> (A, B, bool) {
    Overlap::default().between(there, here)
}

/// Records what two threads do, and tells whether that overlapped. loom does not see it.
#[derive(Clone, Default)]
pub struct Overlap(std::sync::Arc<Parts>);

#[derive(Default)]
struct Parts {
    steps: AtomicU32,
    done: Mutex<Vec<Range<u32>>>,
    /// An atomic that both threads use, if loom sees them share nothing else when they begin.
    shared: Option<loom::sync::atomic::AtomicU32>,
}

impl Overlap {
    /// Makes one for threads that loom does not see share anything when they begin: without it,
    /// loom would try one order only. The atomic that they share orders nothing else.
    pub fn shared() -> Self {
        Self(std::sync::Arc::new(Parts {
            shared: Some(Default::default()),
            ..Parts::default()
        }))
    }

    /// Runs what one of the threads does.
    pub fn during<R>(&self, f: impl FnOnce() -> R) -> R {
        let Parts {
            steps,
            done,
            shared,
        } = &*self.0;
        if let Some(shared) = shared {
            shared.fetch_add(1, Ordering::Relaxed);
        }
        let step = || steps.fetch_add(1, Ordering::Relaxed);
        let begin = step();
        let result = f();
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.push(begin..step());
        result
    }

    pub fn between<A: 'static, B>(
        self,
        there: impl FnOnce() -> A + 'static,
        here: impl FnOnce() -> B,
    ) -> (A, B, bool) {
        let overlap = self.clone();
        let other = spawn(move || overlap.during(there));
        let here = self.during(here);
        (other.join(), here, self.at_once())
    }

    pub fn at_once(&self) -> bool {
        let parts = self.0.done.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, last] = &parts[..] else {
            panic!("of two threads")
        };
        last.start <= first.end
    }
}
