//! A mailbox with room for one object: a worker puts the newest state in, and a UI thread takes it
//! out when a frame begins.

pub mod queue;
mod sync;

use releasepool::Ref;
use std::ptr;
use sync::{AtomicPtr, Ordering};

/// Holds a counted object, or nothing.
pub struct Mailbox<T: Send + Sync + 'static> {
    /// From `Ref::into_raw`, or null.
    slot: AtomicPtr<T>,
}

impl<T: Send + Sync> Mailbox<T> {
    /// Creates an empty mailbox.
    pub fn new() -> Self {
        Self {
            slot: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Puts an object in. Returns the one that it replaces, if that was not taken out.
    pub fn put(&self, letter: Ref<T>) -> Option<Ref<T>> {
        // Release: the thread that takes the letter sees what was written to it. Acquire: the
        // replaced letter may come from another thread. Model: a_letter_is_handed_over.
        self.put_with(letter, Ordering::AcqRel)
    }

    /// Does what `put` does, with a planted mistake that a model must find; see `tests/loom`.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn put_carelessly(&self, letter: Ref<T>) -> Option<Ref<T>> {
        self.put_with(letter, Ordering::Relaxed)
    }

    fn put_with(&self, letter: Ref<T>, ordering: Ordering) -> Option<Ref<T>> {
        self.swap(Ref::into_raw(letter).cast_mut(), ordering)
    }

    /// Takes out the object, if there is one.
    pub fn take(&self) -> Option<Ref<T>> {
        self.swap(ptr::null_mut(), Ordering::Acquire)
    }

    fn swap(&self, letter: *mut T, ordering: Ordering) -> Option<Ref<T>> {
        let before = self.slot.swap(letter, ordering);
        // SAFETY: the pointer in the slot came from `into_raw`, and the swap passes it to one caller
        // only.
        (!before.is_null()).then(|| unsafe { Ref::from_raw(before) })
    }
}

impl<T: Send + Sync> Default for Mailbox<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync> Drop for Mailbox<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

// loom's atomics only work in models.
#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use releasepool::{AutoreleasePool, PoolRef};
    use std::thread;

    #[test]
    fn what_is_put_in_is_taken_out_once() {
        let mailbox = Mailbox::new();
        assert!(mailbox.put(Ref::new(1)).is_none());
        assert_eq!(mailbox.put(Ref::new(2)).as_deref(), Some(&1));
        assert_eq!(mailbox.take().as_deref(), Some(&2));
        assert!(mailbox.take().is_none());
    }

    #[test]
    fn what_nobody_takes_is_released() {
        let letter = Ref::new(1);
        let weak = Ref::downgrade(&letter);
        let mailbox = Mailbox::default();
        mailbox.put(letter);
        drop(mailbox);
        assert!(weak.upgrade().is_none());
    }

    #[test]
    fn a_ui_thread_sees_the_newest_state() {
        const LAST: u32 = 1_000;
        let mailbox = Ref::new(Mailbox::new());
        let sender = mailbox.clone();
        let worker = thread::spawn(move || {
            for state in 1..=LAST {
                let pool = AutoreleasePool::new();
                let state = pool.create(state);
                sender.put(PoolRef::retain(state));
            }
        });
        let mut pool = AutoreleasePool::named("frame");
        let mut seen = 0;
        while seen < LAST {
            if let Some(letter) = mailbox.take() {
                let state = *pool.autorelease(letter);
                assert!(state > seen, "states come in order");
                seen = state;
            }
            pool.drain();
            thread::yield_now();
        }
        worker.join().unwrap();
        assert_eq!(Ref::strong_count(&mailbox), 1);
    }
}
