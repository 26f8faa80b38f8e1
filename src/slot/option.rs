//! `OptionSlot`: a slot that may be empty.

use super::raw::RawSlot;
use crate::object::strong::Ref;
use crate::object::thin_target::ThinTarget;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::pool_ref::PoolRef;
use crate::sync::const_fn;
use std::fmt;

/// A [`Slot`](super::Slot) that may be empty. For everything else, see `Slot`.
///
/// ```
/// use releasepool::{AutoreleasePool, OptionSlot, Ref};
/// let newest = OptionSlot::empty();
/// let pool = AutoreleasePool::new();
/// assert!(newest.load(&pool).is_none());
/// newest.store(Some(Ref::new(7)));
/// assert_eq!(newest.load(&pool).as_deref(), Some(&7));
/// ```
#[doc(alias = "ArcSwapOption")]
pub struct OptionSlot<T: ?Sized + ThinTarget + Send + Sync>(RawSlot<T>);

impl<T: ?Sized + ThinTarget + Send + Sync> OptionSlot<T> {
    /// Makes a slot that holds `r`.
    pub fn new(r: Option<Ref<T>>) -> Self {
        Self(RawSlot::new(r))
    }

    const_fn! {
        /// Makes an empty slot.
        ///
        /// ```
        /// use releasepool::OptionSlot;
        /// static NEWEST: OptionSlot<str> = OptionSlot::empty();
        /// assert!(NEWEST.is_empty());
        /// ```
        pub fn empty() -> Self {
            Self(RawSlot::empty())
        }
    }

    /// Returns the object that the slot holds, if any, lent until `pool` is drained. See
    /// [`Slot::load`](super::Slot::load).
    #[inline]
    pub fn load<'p>(&self, pool: &'p AutoreleasePool) -> Option<PoolRef<'p, T>> {
        self.0.load(pool)
    }

    /// Returns a counted reference to the object that the slot holds, if any. See
    /// [`Slot::load_full`](super::Slot::load_full).
    pub fn load_full(&self) -> Option<Ref<T>> {
        self.0.load_full()
    }

    /// Calls `f` with the object that the slot holds, if any, and returns its result. See
    /// [`Slot::with`](super::Slot::with).
    pub fn with<R>(&self, f: impl FnOnce(Option<&T>) -> R) -> R {
        self.0.with(f)
    }

    /// Returns whether the slot is empty at this moment.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces the content with `r` and retires the old object. See
    /// [`Slot::store`](super::Slot::store).
    pub fn store(&self, r: Option<Ref<T>>) {
        self.0.store(r);
    }

    /// Replaces the content with `r` and returns a reference to the old object. See
    /// [`Slot::swap`](super::Slot::swap).
    pub fn swap(&self, r: Option<Ref<T>>) -> Option<Ref<T>> {
        self.0.swap(r)
    }

    /// Empties the slot and returns a reference to the old object, as [`swap`](Self::swap) does.
    ///
    /// ```
    /// use releasepool::{OptionSlot, Ref};
    /// let newest = OptionSlot::new(Some(Ref::new("frame 7")));
    /// assert_eq!(newest.take().as_deref(), Some(&"frame 7")); // one thread alone gets it
    /// assert!(newest.take().is_none());
    /// ```
    pub fn take(&self) -> Option<Ref<T>> {
        self.swap(None)
    }

    /// Replaces the content with `new` if it is `current`; `None` stands for an empty slot. See
    /// [`Slot::compare_exchange`](super::Slot::compare_exchange).
    ///
    /// # Errors
    /// Returns `new` if the slot's content is not `current`.
    pub fn compare_exchange(
        &self,
        current: Option<&T>,
        new: Option<Ref<T>>,
    ) -> Result<Option<Ref<T>>, Option<Ref<T>>> {
        self.0.compare_exchange(current, new)
    }

    /// Replaces the content with the result of `f`, which gets the current one. See
    /// [`Slot::rcu`](super::Slot::rcu).
    ///
    /// # Panics
    /// If `f` panics; the slot is then unchanged.
    pub fn rcu(&self, f: impl FnMut(Option<&T>) -> Option<Ref<T>>) -> Option<Ref<T>> {
        self.0.rcu(f)
    }
}

impl<T: ?Sized + ThinTarget + Send + Sync> Default for OptionSlot<T> {
    fn default() -> Self {
        Self::empty()
    }
}

impl<T: ?Sized + ThinTarget + Send + Sync> From<Option<Ref<T>>> for OptionSlot<T> {
    fn from(r: Option<Ref<T>>) -> Self {
        Self::new(r)
    }
}

impl<T: ?Sized + ThinTarget + Send + Sync + fmt::Debug> fmt::Debug for OptionSlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OptionSlot")
            .field(&self.load_full())
            .finish()
    }
}
