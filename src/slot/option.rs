//! `OptionSlot`: a slot that may be empty.

use super::raw::Raw;
use crate::object::strong::Ref;
use crate::pool::guard::AutoreleasePool;
use crate::pool::pool_ref::PoolRef;
use std::fmt;

/// A [`Slot`](super::Slot) that may be empty; for the rest, see there.
///
/// ```
/// use releasepool::{AutoreleasePool, OptionSlot, Ref};
/// let newest = OptionSlot::empty();
/// let pool = AutoreleasePool::new();
/// assert!(newest.load(&pool).is_none());
/// newest.store(Some(Ref::new(7)));
/// assert_eq!(newest.load(&pool).as_deref(), Some(&7));
/// ```
pub struct OptionSlot<T: Send + Sync + 'static>(Raw<T>);

impl<T: Send + Sync> OptionSlot<T> {
    /// A slot that holds `r`.
    pub fn new(r: Option<Ref<T>>) -> Self {
        Self(Raw::new(r))
    }

    /// An empty one.
    pub fn empty() -> Self {
        Self::new(None)
    }

    /// As [`Slot::load`](super::Slot::load).
    #[inline]
    pub fn load<'p>(&self, pool: &'p AutoreleasePool) -> Option<PoolRef<'p, T>> {
        self.0.load(pool)
    }

    /// As [`Slot::load_full`](super::Slot::load_full).
    pub fn load_full(&self) -> Option<Ref<T>> {
        self.0.load_full()
    }

    /// Whether there is nothing in it just now.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As [`Slot::store`](super::Slot::store).
    pub fn store(&self, r: Option<Ref<T>>) {
        self.0.store(r);
    }

    /// As [`Slot::swap`](super::Slot::swap).
    pub fn swap(&self, r: Option<Ref<T>>) -> Option<Ref<T>> {
        self.0.swap(r)
    }

    /// Takes out what is there, as [`swap`](Self::swap).
    pub fn take(&self) -> Option<Ref<T>> {
        self.swap(None)
    }

    /// As [`Slot::compare_exchange`](super::Slot::compare_exchange); `None` stands for
    /// an empty slot.
    ///
    /// # Errors
    /// Gives `new` back if the slot holds something else.
    pub fn compare_exchange(
        &self,
        current: Option<&T>,
        new: Option<Ref<T>>,
    ) -> Result<Option<Ref<T>>, Option<Ref<T>>> {
        self.0.compare_exchange(current, new)
    }

    /// As [`Slot::rcu`](super::Slot::rcu).
    ///
    /// # Panics
    /// As `f`; nothing is changed then.
    pub fn rcu(&self, f: impl FnMut(Option<&T>) -> Option<Ref<T>>) -> Option<Ref<T>> {
        self.0.rcu(f)
    }
}

impl<T: Send + Sync> Default for OptionSlot<T> {
    fn default() -> Self {
        Self::empty()
    }
}

impl<T: Send + Sync> From<Option<Ref<T>>> for OptionSlot<T> {
    fn from(r: Option<Ref<T>>) -> Self {
        Self::new(r)
    }
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for OptionSlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OptionSlot")
            .field(&self.load_full())
            .finish()
    }
}
