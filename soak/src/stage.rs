//! The state that the threads share.

use crate::ledger::{LEDGER, fail};
use crate::payload::{Item, Thing};
use crate::ui;
use fastrand::Rng;
use releasepool::{OptionSlot, Ref, RemoteRelease, Slot, ThreadHandle, Weak};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long to wait for something before it counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(60);

const SLOTS: usize = 16;
/// How many handles and queues are kept: of the latest threads, many of which have ended.
const HANDLES: usize = 12;
/// How many roots may be on their way to the UI thread.
const WAITING: u64 = 2_000;

/// Foreign references that any worker gives up, and that one releases.
pub type Queue = RemoteRelease<Item, Box<dyn Fn() -> bool + Send + Sync>>;

pub struct Stage {
    pub ui: ThreadHandle,
    /// Tells workers to end.
    pub stop: AtomicBool,
    /// The next number, for names and seeds.
    next: AtomicU64,
    slots: [Mutex<Option<Ref<dyn Thing>>>; SLOTS],
    weak: [Mutex<Option<Weak<dyn Thing>>>; SLOTS],
    handles: Mutex<VecDeque<ThreadHandle>>,
    queues: Mutex<VecDeque<Arc<Queue>>>,
    /// All workers load and replace it.
    pub latest: OptionSlot<Item>,
    /// Made by the first worker that asks for it.
    cached: Mutex<Option<Arc<Slot<Item>>>>,
}

/// Locks a mutex. Poisoning can be ignored, because no worker panics while it holds one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the newest, and drops the oldest if there are too many.
fn put_latest<T>(latest: &Mutex<VecDeque<T>>, new: T) {
    let mut latest = lock(latest);
    latest.push_back(new);
    if latest.len() > HANDLES {
        latest.pop_front();
    }
}

fn some<T: Clone>(all: &Mutex<VecDeque<T>>, rng: &mut Rng) -> Option<T> {
    let all = lock(all);
    (!all.is_empty()).then(|| all[rng.usize(..all.len())].clone())
}

impl Stage {
    pub fn new(ui: ThreadHandle) -> Self {
        Self {
            ui,
            stop: AtomicBool::new(false),
            next: AtomicU64::new(1),
            slots: [const { Mutex::new(None) }; SLOTS],
            weak: [const { Mutex::new(None) }; SLOTS],
            handles: Mutex::default(),
            queues: Mutex::default(),
            latest: OptionSlot::new(None),
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

    /// Puts a thing into a random slot and returns what it replaces.
    pub fn swap(&self, rng: &mut Rng, thing: Option<Ref<dyn Thing>>) -> Option<Ref<dyn Thing>> {
        let slot = rng.usize(..SLOTS);
        std::mem::replace(&mut *lock(&self.slots[slot]), thing)
    }

    /// Returns another reference to what is in a random slot.
    pub fn peek(&self, rng: &mut Rng) -> Option<Ref<dyn Thing>> {
        lock(&self.slots[rng.usize(..SLOTS)]).clone()
    }

    pub fn put_weak(&self, rng: &mut Rng, weak: Weak<dyn Thing>) {
        let before = lock(&self.weak[rng.usize(..SLOTS)]).replace(weak);
        drop(before);
    }

    pub fn peek_weak(&self, rng: &mut Rng) -> Option<Weak<dyn Thing>> {
        lock(&self.weak[rng.usize(..SLOTS)]).clone()
    }

    pub fn put_handle(&self, handle: ThreadHandle) {
        put_latest(&self.handles, handle);
    }

    /// Returns a handle to a random thread, which may have ended long ago.
    pub fn some_handle(&self, rng: &mut Rng) -> Option<ThreadHandle> {
        some(&self.handles, rng)
    }

    pub fn put_queue(&self, queue: Arc<Queue>) {
        put_latest(&self.queues, queue);
    }

    /// Returns the queue of a random worker, which may have ended long ago.
    pub fn some_queue(&self, rng: &mut Rng) -> Option<Arc<Queue>> {
        some(&self.queues, rng)
    }

    /// Returns a slot whose items have growing numbers.
    pub fn cached(&self) -> Arc<Slot<Item>> {
        let new = || Arc::new(Slot::new(Ref::new(Item::new(0))));
        lock(&self.cached).get_or_insert_with(new).clone()
    }

    /// Drops everything. All workers must have been joined.
    pub fn clear(&self) {
        self.slots.iter().for_each(|slot| drop(lock(slot).take()));
        self.weak.iter().for_each(|slot| drop(lock(slot).take()));
        self.latest.store(None);
        drop(lock(&self.cached).take());
        lock(&self.queues).clear();
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
