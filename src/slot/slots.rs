//! [`Slot`] always holds an object, [`OptionSlot`] may be empty; both wrap a [`RawSlot`].
//!
//! ```text
//!   RawSlot ──owns one reference──> object <── PoolRef, lent to a pinned pool
//!      │
//!      │ store, swap: the old pointer comes out
//!      ▼
//!   retired   in the thread's own pages
//!      │ a collection: what all threads have retired becomes a batch
//!      ▼
//!   sealed    a batch with a tag of the epoch
//!      │ all pools that were pinned then have been drained
//!      ▼
//!   orphans ──> the next outermost drain, on any thread ──> released
//! ```
//!
//! Invariants, cited by `SAFETY:` comments here and in `raw`:
//!
//! 1. A non-null pointer in a slot owns one strong reference, so its object is alive while the slot
//!    holds it.
//! 2. That reference leaves the slot only by an atomic exchange or by the slot's own drop. The
//!    thread that gets the reference may only retire it, never release it directly.
//! 3. A retired reference is released only after everything that was pinned when it was retired has
//!    been unpinned ([`epoch`](crate::epoch)). So an object that was loaded under a pin is alive
//!    until that pin ends.
//! 4. A pinned pool stays pinned until its next drain, which needs `&mut` and therefore ends all
//!    `PoolRef`s that the pool has lent.
//! 5. The pointer in a `Slot` is never null: every function of `Slot` that writes to it has a `Ref`.

use super::raw::RawSlot;
use crate::macros::debug_fields;
use crate::object::strong::Ref;
use crate::object::thin_target::ThinTarget;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::pool_ref::PoolRef;
use crate::sync::const_fn;
use std::fmt;
use std::ops::Deref;

/// A variable that holds one object, which any thread may load or replace, such as settings.
///
/// A load with a pool is one load and does not touch the count, so readers do not disturb each
/// other. A loaded object stays valid until that pool is drained, whatever is stored meanwhile.
/// [`with`](Self::with) needs no pool. [Coming from
/// arc-swap](crate::guide::from_arc#coming-from-arc-swap) lists the counterparts.
///
/// # When not to use it
/// For a value that changes as often as it is read: stores and drains [make fences for all
/// threads](crate::guide#what-a-slot-has-replaced). For values that one thread reads, use a
/// channel. If loaded objects must outlive the pools, do not call [`load_full`](Self::load_full)
/// all the time, as threads then contend for the count: let the slot hold a
/// [`Hot`](crate::guide#a-hot-object-that-is-replaced).
///
/// # When replaced objects die
/// Never in a store, but in an outermost drain, on any thread. Before that, all pools that had
/// loaded from any slot when the object was replaced must be drained, and all closures of `with`
/// and `rcu` that ran then must end. So **one pool that is never drained keeps all replaced
/// objects**, as does a program that drains none: call [`quiesce`](crate::PoolManager::quiesce).
/// Events report both. [More](crate::guide#what-a-slot-has-replaced).
///
/// # What a slot can hold
/// Sized values, `str` and slices: the types that are [`ThinTarget`]. Objects with a vtable go in
/// as [`Ref<dyn Trait>`](Self::load_dyn).
///
/// ```
/// use releasepool::{AutoreleasePool, Ref, Slot};
/// let settings = Slot::new(Ref::new(String::from("easy")));
/// let pool = AutoreleasePool::new();
/// let now = settings.load(&pool);
/// settings.store(Ref::new(String::from("hard"))); // any thread may
/// assert_eq!((now.as_str(), settings.with(|s| s.len())), ("easy", 4));
/// ```
#[doc(alias = "ArcSwap")]
pub struct Slot<T: ?Sized + ThinTarget + Send + Sync>(RawSlot<T>);

/// Unwraps the content of a `Slot`, which is never null (invariant 5).
fn held<R>(r: Option<R>) -> R {
    r.expect("a slot always holds an object")
}

impl<T: ?Sized + ThinTarget + Send + Sync> Slot<T> {
    /// Makes a slot that holds `r`.
    ///
    /// # Panics
    /// If the values of a slice have no size, and [`unsize!`](crate::unsize) or a `Box` has made the
    /// slice: then the object does not know its length. All functions that put an object into a
    /// slot panic then, and leave the slot unchanged.
    pub fn new(r: Ref<T>) -> Self {
        Self(RawSlot::new(Some(r)))
    }

    /// Returns the object that the slot holds, lent until `pool` is drained.
    ///
    /// Costs one load; the first load after the pool was opened or drained also pins it.
    ///
    /// ```
    /// use releasepool::{AutoreleasePool, Ref, Slot};
    /// let scene = Slot::new(Ref::new("old"));
    /// let pool = AutoreleasePool::new();
    /// let old = scene.load(&pool);
    /// scene.store(Ref::new("new"));
    /// assert_eq!((*old, *scene.load(&pool)), ("old", "new")); // both live until the drain
    /// ```
    #[inline]
    pub fn load<'p>(&self, pool: &'p AutoreleasePool) -> PoolRef<'p, T> {
        // SAFETY: the pointer is never null (invariant 5).
        unsafe { self.0.load_held(pool) }
    }

    /// Returns a counted reference to the object that the slot holds, which may outlive pools.
    /// Costs one read-modify-write, and a pin that ends with the call.
    pub fn load_full(&self) -> Ref<T> {
        held(self.0.load_full())
    }

    /// Calls `f` with the object that the slot holds, and returns its result. Needs no pool.
    ///
    /// The object stays alive as long as `f` runs, whatever is stored meanwhile, also by `f`. While
    /// `f` runs, no thread releases what slots retire: keep `f` short. An
    /// [event](crate::event::EventKind::EpochHeld) names a call that takes a second.
    ///
    /// Costs a pin and its end, a few nanoseconds. Where a pool is open anyway, [`load`](Self::load) costs
    /// one load.
    ///
    /// ```
    /// use releasepool::{Ref, Slot};
    /// let settings = Slot::new(Ref::new(("easy", 60)));
    /// let rate = settings.with(|settings| settings.1);
    /// assert_eq!(rate, 60);
    /// ```
    ///
    /// # Panics
    /// If `f` panics.
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        self.0.with(|object| f(held(object)))
    }

    /// Replaces the object with `r` and retires the old one.
    pub fn store(&self, r: Ref<T>) {
        self.0.store(Some(r));
    }

    /// Replaces the object with `r` and returns a reference to the old one. The returned reference
    /// is a new one. The slot's own reference is retired, so [`Ref::get_mut`] fails until a drain
    /// has released that one.
    pub fn swap(&self, r: Ref<T>) -> Ref<T> {
        held(self.0.swap(Some(r)))
    }

    /// Replaces the object with `new` if the slot holds the object at the address of `current`, and
    /// returns a reference to the old one, as [`swap`](Self::swap) does.
    ///
    /// ```
    /// use releasepool::{Ref, Slot};
    /// let slot = Slot::new(Ref::new(1));
    /// let seen = slot.load_full();
    /// assert_eq!(slot.compare_exchange(&seen, Ref::new(2)).as_deref(), Ok(&1));
    /// let refused = slot.compare_exchange(&seen, Ref::new(3)); // the slot holds the 2
    /// assert_eq!(*refused.unwrap_err(), 3);
    /// ```
    ///
    /// # Errors
    /// Returns `new` if the slot holds another object.
    pub fn compare_exchange(&self, current: &T, new: Ref<T>) -> Result<Ref<T>, Ref<T>> {
        match self.0.compare_exchange(Some(current), Some(new)) {
            Ok(before) => Ok(held(before)),
            Err(new) => Err(held(new)),
        }
    }

    /// Replaces the object with the result of `f`, which gets the current one, and returns a
    /// reference to the old one, as [`swap`](Self::swap) does. If another thread replaces the
    /// object meanwhile, `f` is called again: *read, copy, update*. Nothing that slots retire is
    /// released while `f` runs.
    ///
    /// # Panics
    /// If `f` panics; the slot is then unchanged.
    ///
    /// ```
    /// use releasepool::{Ref, Slot};
    /// let hits = Slot::new(Ref::new(0));
    /// assert_eq!(*hits.rcu(|n| Ref::new(n + 1)), 0);
    /// assert_eq!(*hits.load_full(), 1);
    /// ```
    pub fn rcu(&self, mut f: impl FnMut(&T) -> Ref<T>) -> Ref<T> {
        held(self.0.rcu(|now| Some(f(held(now)))))
    }
}

/// Trait objects in slots. A slot is one word, which has no room for a vtable, so the slot holds a
/// small object with a `Ref<dyn Trait>`. These functions make that object, and read through it.
///
/// ```
/// use releasepool::{AutoreleasePool, Ref, Slot, unsize};
/// trait Codec: Send + Sync {
///     fn name(&self) -> &str;
/// }
/// impl Codec for &'static str {
///     fn name(&self) -> &str {
///         self
///     }
/// }
/// let slot: Slot<Ref<dyn Codec>> = Slot::new_dyn(unsize!(Ref::new("zstd") => dyn Codec));
/// let pool = AutoreleasePool::new();
/// assert_eq!(slot.load_dyn(&pool).name(), "zstd");
/// slot.store_dyn(unsize!(Ref::new("lz4") => dyn Codec));
/// assert_eq!(slot.load_full_dyn().name(), "lz4");
/// ```
impl<T: ?Sized + Send + Sync> Slot<Ref<T>> {
    /// Makes a slot whose object contains `r`.
    pub fn new_dyn(r: Ref<T>) -> Self {
        Self::new(Ref::new(r))
    }

    /// Returns the object to which the slot's object refers, lent until `pool` is drained.
    ///
    /// Costs two loads, one after the other, and the pin of [`load`](Self::load).
    #[inline]
    pub fn load_dyn<'p>(&self, pool: &'p AutoreleasePool) -> PoolRef<'p, T> {
        let inner: &'p Ref<T> = PoolRef::get(self.load(pool));
        // SAFETY: `inner` is a strong reference, which is borrowed for `'p`.
        unsafe { PoolRef::lend(Ref::payload(inner)) }
    }

    /// Returns a counted reference to the object to which the slot's object refers. Costs three
    /// read-modify-writes.
    pub fn load_full_dyn(&self) -> Ref<T> {
        Ref::clone(&self.load_full())
    }

    /// Replaces the slot's object with a new one that contains `r`, and retires the old one.
    pub fn store_dyn(&self, r: Ref<T>) {
        self.store(Ref::new(r));
    }
}

impl<T: ?Sized + ThinTarget + Send + Sync> Default for Slot<T>
where
    Ref<T>: Default,
{
    fn default() -> Self {
        Self::new(Ref::default())
    }
}

impl<T: ?Sized + ThinTarget + Send + Sync + fmt::Debug> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.load_full()).finish()
    }
}

/// A [`Slot`] that may be empty. For everything else, see `Slot`.
///
/// ```
/// use releasepool::slot::OptionSlot;
/// use releasepool::{AutoreleasePool, Ref};
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
        /// use releasepool::slot::OptionSlot;
        /// static NEWEST: OptionSlot<str> = OptionSlot::empty();
        /// assert!(NEWEST.is_empty());
        /// ```
        pub fn empty() -> Self {
            Self(RawSlot::empty())
        }
    }

    /// Returns the object that the slot holds, if any, lent until `pool` is drained. See
    /// [`Slot::load`].
    #[inline]
    pub fn load<'p>(&self, pool: &'p AutoreleasePool) -> Option<PoolRef<'p, T>> {
        self.0.load(pool)
    }

    /// Returns a counted reference to the object that the slot holds, if any. See
    /// [`Slot::load_full`].
    pub fn load_full(&self) -> Option<Ref<T>> {
        self.0.load_full()
    }

    /// Calls `f` with the object that the slot holds, if any, and returns its result. See
    /// [`Slot::with`].
    pub fn with<R>(&self, f: impl FnOnce(Option<&T>) -> R) -> R {
        self.0.with(f)
    }

    /// Returns whether the slot is empty at this moment.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces the content with `r` and retires the old object. See
    /// [`Slot::store`].
    pub fn store(&self, r: Option<Ref<T>>) {
        self.0.store(r);
    }

    /// Replaces the content with `r` and returns a reference to the old object. See
    /// [`Slot::swap`].
    pub fn swap(&self, r: Option<Ref<T>>) -> Option<Ref<T>> {
        self.0.swap(r)
    }

    /// Empties the slot and returns a reference to the old object, as [`swap`](Self::swap) does.
    ///
    /// ```
    /// use releasepool::slot::OptionSlot;
    /// use releasepool::Ref;
    /// let newest = OptionSlot::new(Some(Ref::new("frame 7")));
    /// assert_eq!(newest.take().as_deref(), Some(&"frame 7")); // one thread alone gets it
    /// assert!(newest.take().is_none());
    /// ```
    pub fn take(&self) -> Option<Ref<T>> {
        self.swap(None)
    }

    /// Replaces the content with `new` if the slot holds `current`; `None` stands for an empty
    /// slot. See [`Slot::compare_exchange`].
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
    /// [`Slot::rcu`].
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

impl<T: ?Sized + ThinTarget + Send + Sync + fmt::Debug> fmt::Debug for OptionSlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OptionSlot")
            .field(&self.load_full())
            .finish()
    }
}

/// A reader of a [`Slot`] that keeps a counted reference to the object that it has loaded last.
///
/// While the slot is not changed, a load is one load and a comparison, without a pool and without a
/// pin. `S` is anything that derefs to the slot: a `&Slot<T>`, or a `Ref` or `Arc` of it.
///
/// # When not to use it
/// Where a pool is at hand anyway, [`Slot::load`](crate::Slot::load) is as quick and keeps nothing.
/// For a reader that reads once, use [`Slot::with`](crate::Slot::with). An idle cache keeps the
/// object that it has loaded last until the next [`load`](Self::load), [`clear`](Self::clear), or
/// its end; it delays the release of no other object.
///
/// # Threads
/// `load` needs `&mut self`, so each thread has a cache of its own. Send and Sync if `S` is.
///
/// ```
/// use releasepool::{Ref, Slot, slot::SlotCache};
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
    /// Makes a cache of `slot`. The first [`load`](Self::load) reads the slot.
    pub fn new(slot: S) -> Self {
        Self { slot, last: None }
    }

    /// Returns the object that the slot holds.
    ///
    /// If the slot has been changed since the last call, costs a
    /// [`load_full`](crate::Slot::load_full) and the release of the previous object.
    ///
    /// # Panics
    /// With the panic of a destructor, if this cache had the last reference to the previous object.
    pub fn load(&mut self) -> &Ref<T> {
        // The reference keeps its object's address from being used again, so an equal address means
        // the same object.
        let is_same = |last: &Ref<T>| self.slot.0.holds(last);
        if !self.last.as_ref().is_some_and(is_same) {
            let before = self.last.replace(self.slot.load_full());
            // Drops `before` last, as the object's destructor is foreign code.
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
}

impl<S: Clone, T: ?Sized> Clone for SlotCache<S, T> {
    fn clone(&self) -> Self {
        Self {
            slot: self.slot.clone(),
            last: self.last.clone(),
        }
    }
}

debug_fields! { [S, T: ?Sized + fmt::Debug] SlotCache<S, T>: |this| last = this.last, .. }
