//! `SlotCache`: the object of a slot, as one reader has last seen it.

use super::Slot;
use crate::object::strong::Ref;
use crate::object::thin_target::ThinTarget;
use std::fmt;
use std::ops::Deref;

/// A reader of a [`Slot`] that keeps a counted reference to the object that it has loaded
/// last. While the slot is not changed, a load is one load and a comparison, without a pool and
/// without a pin.
///
/// `S` is anything that derefs to the slot: a `&Slot<T>`, or a `Ref` or `Arc` of it, so that the cache
/// may be kept in a thread's state or move between threads.
///
/// # When not to use it
/// Where a pool is at hand anyway, [`Slot::load`](crate::Slot::load) is as quick and keeps
/// nothing. For a reader that reads once, use [`Slot::with`](crate::Slot::with).
///
/// # What an idle cache keeps
/// The object that it has loaded last, even if the slot has long held another one: until the next
/// [`load`](Self::load), [`clear`](Self::clear), or the cache's end. It never delays the release of other
/// objects.
///
/// # Threads
/// A cache has one user at a time, as `load` needs `&mut self`: each thread has one of its own. It is
/// Send and Sync if `S` is.
///
/// ```
/// use releasepool::{Ref, Slot, SlotCache};
/// let settings = Ref::new(Slot::new(Ref::new("easy")));
/// let mut cache = SlotCache::new(settings.clone());
/// assert_eq!(**cache.load(), "easy");
/// settings.store(Ref::new("hard"));
/// assert_eq!(**cache.load(), "hard");
/// cache.clear(); // keeps no object while it is idle
/// ```
#[doc(alias = "Cache")]
pub struct SlotCache<S, T: ?Sized + 'static> {
    slot: S,
    last: Option<Ref<T>>,
}

impl<S: Deref<Target = Slot<T>>, T: ?Sized + ThinTarget + Send + Sync> SlotCache<S, T> {
    /// Makes a cache of the slot, which it loads when it is first used.
    pub fn new(slot: S) -> Self {
        Self { slot, last: None }
    }

    /// Returns the object that the slot holds.
    ///
    /// If the slot has been changed since the last call, costs a
    /// [`load_full`](crate::Slot::load_full) and the release of the object before.
    ///
    /// # Panics
    /// With the panic of a destructor, if this cache had the last reference to the object before.
    pub fn load(&mut self) -> &Ref<T> {
        // The reference keeps its object's address from being used again, so an equal address means
        // the same object.
        let is_same = |last: &Ref<T>| self.slot.0.holds(last);
        if !self.last.as_ref().is_some_and(is_same) {
            let before = self.last.replace(self.slot.load_full());
            // Drops it only now, as its destructor is foreign code.
            drop(before);
        }
        self.last.as_ref().expect("it was just set")
    }

    /// Drops the reference to the object that was loaded last.
    ///
    /// # Panics
    /// With the panic of a destructor, if that was the last reference.
    pub fn clear(&mut self) {
        self.last = None;
    }

    /// Returns what leads to the slot.
    pub fn slot(&self) -> &S {
        &self.slot
    }
}

impl<S: Clone, T: ?Sized> Clone for SlotCache<S, T> {
    fn clone(&self) -> Self {
        Self {
            slot: self.slot.clone(),
            last: self.last.clone(),
        }
    }
}

impl<S, T: ?Sized + fmt::Debug> fmt::Debug for SlotCache<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotCache")
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}
