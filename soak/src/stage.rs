//! The state that the threads share.

use crate::ledger::{LEDGER, fail};
use crate::payload::{Item, Thing};
use crate::ui;
use fastrand::Rng;
use releasepool::{Ref, Slot, ThreadHandle};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long to wait for something before it counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How many handles are kept: of the latest threads, many of which have ended.
const HANDLES: usize = 12;
/// How many roots may be on their way to the UI thread.
const WAITING: u64 = 2_000;

pub struct Stage {
    pub ui: ThreadHandle,
    /// Tells workers to end.
    pub stop: AtomicBool,
    /// The next number, for names and seeds.
    next: AtomicU64,
    handles: Mutex<VecDeque<ThreadHandle>>,
    /// Made by the first worker that asks for it.
    cached: Mutex<Option<Arc<Slot<Item>>>>,
}

/// Locks a mutex. Poisoning can be ignored, because no worker panics while it holds one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    pub fn new(ui: ThreadHandle) -> Self {
        Self {
            ui,
            stop: AtomicBool::new(false),
            next: AtomicU64::new(1),
            handles: Mutex::default(),
            cached: Mutex::default(),
        }
    }

    /// Returns a number that has not been returned before.
    pub fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn put_handle(&self, handle: ThreadHandle) {
        let mut handles = lock(&self.handles);
        handles.push_back(handle);
        if handles.len() > HANDLES {
            handles.pop_front();
        }
    }

    /// Returns a handle to a random thread, which may have ended long ago.
    pub fn some_handle(&self, rng: &mut Rng) -> Option<ThreadHandle> {
        let handles = lock(&self.handles);
        (!handles.is_empty()).then(|| handles[rng.usize(..handles.len())].clone())
    }

    /// Returns a slot whose items have growing numbers.
    pub fn cached(&self) -> Arc<Slot<Item>> {
        let new = || Arc::new(Slot::new(Ref::new(Item::new(0))));
        lock(&self.cached).get_or_insert_with(new).clone()
    }

    /// Drops everything. All workers must have been joined.
    pub fn clear(&self) {
        drop(lock(&self.cached).take());
        let handles = std::mem::take(&mut *lock(&self.handles));
        if handles.iter().any(ThreadHandle::is_alive) {
            fail("a thread lives that has been joined");
        }
    }

    /// Returns whether few enough roots wait for the UI thread to send another one.
    pub fn has_room(&self) -> bool {
        let taken = LEDGER.roots_taken.get();
        LEDGER.roots_sent.get().saturating_sub(taken) < WAITING
    }

    /// Sends a root to the UI thread, which displays it.
    pub fn show(&self, root: Ref<dyn Thing>) {
        LEDGER.roots_sent.add(1);
        post(&self.ui, move || ui::take(root));
    }
}

/// Posts a closure and counts what becomes of it.
pub fn post(to: &ThreadHandle, work: impl FnOnce() + Send + 'static) {
    let was_alive = to.is_alive();
    // Counted before it can run.
    LEDGER.posts_accepted.add(1);
    let counted = move || {
        LEDGER.posts_run.add(1);
        work();
    };
    if let Err(back) = to.post(counted) {
        LEDGER.posts_refused.add(1);
        // The closure was returned: what it owns is destroyed here.
        drop(back.0);
    } else if !was_alive {
        fail("a closure was accepted by a thread that had ended");
    }
}
