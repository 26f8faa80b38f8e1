//! Where the threads meet.

use crate::dice::Dice;
use crate::ledger::{LEDGER, fail};
use crate::payload::{Item, Thing};
use crate::ui;
use releasepool::{OptionSlot, Ref, ThreadHandle, Weak};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SLOTS: usize = 16;
/// Handles to the latest threads, of which many have ended.
const HANDLES: usize = 12;
/// Roots that may be on their way to the UI thread.
const WAITING: u64 = 2_000;

pub struct Stage {
    pub ui: ThreadHandle,
    /// Workers end their lives early.
    pub stop: AtomicBool,
    /// For names and seeds.
    next: AtomicU64,
    slots: [Mutex<Option<Ref<dyn Thing>>>; SLOTS],
    weak: [Mutex<Option<Weak<dyn Thing>>>; SLOTS],
    handles: Mutex<VecDeque<ThreadHandle>>,
    /// For all to load, and to replace.
    pub latest: OptionSlot<Item>,
}

/// A worker that panics does so without a lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
            latest: OptionSlot::new(None),
        }
    }

    pub fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Puts a thing into one of the slots, and takes what was there.
    pub fn swap(&self, dice: &mut Dice, thing: Option<Ref<dyn Thing>>) -> Option<Ref<dyn Thing>> {
        let slot = dice.index(SLOTS);
        std::mem::replace(&mut *lock(&self.slots[slot]), thing)
    }

    /// Another reference to what is in one of the slots.
    pub fn peek(&self, dice: &mut Dice) -> Option<Ref<dyn Thing>> {
        lock(&self.slots[dice.index(SLOTS)]).clone()
    }

    pub fn put_weak(&self, dice: &mut Dice, weak: Weak<dyn Thing>) {
        let before = lock(&self.weak[dice.index(SLOTS)]).replace(weak);
        drop(before);
    }

    pub fn peek_weak(&self, dice: &mut Dice) -> Option<Weak<dyn Thing>> {
        lock(&self.weak[dice.index(SLOTS)]).clone()
    }

    pub fn put_handle(&self, handle: ThreadHandle) {
        let mut handles = lock(&self.handles);
        handles.push_back(handle);
        if handles.len() > HANDLES {
            handles.pop_front();
        }
    }

    /// A thread to send to, which may have ended long ago.
    pub fn some_handle(&self, dice: &mut Dice) -> Option<ThreadHandle> {
        let handles = lock(&self.handles);
        if handles.is_empty() {
            return None;
        }
        Some(handles[dice.index(handles.len())].clone())
    }

    /// Nobody is at work: empties it.
    pub fn clear(&self) {
        self.slots.iter().for_each(|slot| drop(lock(slot).take()));
        self.weak.iter().for_each(|slot| drop(lock(slot).take()));
        self.latest.store(None);
        let handles = std::mem::take(&mut *lock(&self.handles));
        if handles.iter().any(ThreadHandle::is_alive) {
            fail("a thread lives that has been joined");
        }
    }

    /// Whether the UI thread can keep up with another root.
    pub fn has_room(&self) -> bool {
        let taken = LEDGER.roots_taken.get();
        LEDGER.roots_sent.get().saturating_sub(taken) < WAITING
    }

    /// Sends a root, to be put on display.
    pub fn show(&self, root: Ref<dyn Thing>) {
        LEDGER.roots_sent.add(1);
        post(&self.ui, move || ui::take(root));
    }
}

/// Sends a closure, and keeps account of it.
pub fn post(to: &ThreadHandle, work: impl FnOnce() + Send + 'static) {
    let was_alive = to.is_alive();
    // Before it can run.
    LEDGER.posts_accepted.add(1);
    let counted = move || {
        LEDGER.posts_run.add(1);
        work();
    };
    if let Err(back) = to.post(counted) {
        LEDGER.posts_refused.add(1);
        // Given back whole: whatever is in it dies here.
        drop(back.0);
    } else if !was_alive {
        fail("a closure was accepted by a thread that had ended");
    }
}
