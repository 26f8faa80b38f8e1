//! Slots: places that hold an object, which all threads may load and replace.
//!
//! [`Slot`] always holds an object, [`OptionSlot`] may be empty; both wrap a [`raw::RawSlot`].
//!
//! ```text
//!   RawSlot ──owns one reference──> object <── PoolRef, lent to a pinned pool
//!      │
//!      │ store, swap: the old pointer comes out
//!      ▼
//!   retired   list of the slot's own references (pool::epoch::retire)
//!      │ advance: the list becomes a batch
//!      ▼
//!   sealed    batch deferred by the epoch collector
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
//! 3. A retired reference is released only after every participant that was pinned when it was
//!    retired has been unpinned. So an object that was loaded while pinned is alive until the
//!    unpin.
//! 4. A pinned pool stays pinned until its next drain, which needs `&mut` and therefore ends all
//!    `PoolRef`s that the pool has lent.
//! 5. The pointer in a `Slot` is never null: every function of `Slot` that writes to it has a `Ref`.

mod cache;
mod option;
mod raw;
#[cfg(feature = "serde")]
mod slot_serialize;

pub use cache::SlotCache;
pub use option::OptionSlot;

use crate::object::strong::Ref;
use crate::object::thin_target::ThinTarget;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::pool_ref::PoolRef;
use raw::RawSlot;
use std::fmt;

/// Holds one object that any thread may load or replace.
///
/// Loading with a pool costs one load and does not touch the count. So readers on any number of
/// threads do not disturb each other, whereas clones of a `Ref` or an `Arc` contend for one cache
/// line. A loaded object stays valid until that pool is drained, whatever is stored meanwhile.
///
/// # When not to use it
/// Do not use a slot for a value that changes as often as it is read. A store allocates 40 bytes in
/// addition to the new object; with the drains that release what it replaces, it takes some 100 nanoseconds
/// on one thread, and some 300 while a second thread stores, too. Every 32nd store (more often, if
/// stores are rare) also advances the epoch, which allocates some 4 KiB. The replaced object is not
/// released before all pools that have loaded from slots before the store have been drained.
///
/// A pool that is never drained delays the release of all objects that slots retire, in the whole
/// process. Once stores or drains have seen such a pool for a second, an
/// [event](crate::event::EventKind::EpochHeld) names it. If no thread drains a pool, retired
/// objects are not released until a thread calls [`quiesce`](crate::PoolManager::quiesce); [another
/// event](crate::event::EventKind::OrphansWaiting) reports that.
///
/// For values that only one thread reads, a channel or a [`ThreadHandle`](crate::ThreadHandle) is
/// better. If loaded objects must outlive the pools, do not call [`load_full`](Self::load_full) all
/// the time, as threads then contend for the count; let the slot hold a
/// [`Hot`](crate::Hot#replacing-a-hot-object), whose references are counted without contention.
///
/// # From arc-swap
/// | `ArcSwap` | `Slot` |
/// |---|---|
/// | `load` | [`load`](Self::load), for as long as a pool; [`with`](Self::with), for as long as a closure |
/// | `load_full`, `store`, `swap`, `rcu` | the same names |
/// | `compare_and_swap` | [`compare_exchange`](Self::compare_exchange), which says whether it did |
/// | `Cache` | [`SlotCache`] |
/// | `access::Map` | a borrow of the part: `&PoolRef::get(slot.load(&pool)).part`, `slot.with(\|s\| f(&s.part))`; [more](crate::from_arc#coming-from-arc-swap) |
/// | `ArcSwapOption`, `const_empty` | [`OptionSlot`], `empty` |
/// | `ArcSwapAny<Box<dyn Trait>>` | [`Slot<Ref<dyn Trait>>`](Self::load_dyn) |
///
/// # What a slot can hold
/// Sized values, `str`, and slices: the types that are [`ThinTarget`]. A slot is one word; the length
/// of a `str` or slice is read from the object, which costs a load three more. Objects with a vtable
/// go in as [`Ref<dyn Trait>`](Self::load_dyn).
///
/// # Releases
/// A slot never releases an object itself. It *retires* its reference: an outermost drain, on any
/// thread, of any manager's pool, releases the reference once no pool can still use an object that
/// it loaded from this slot. [`quiesce`](crate::PoolManager::quiesce) does this at once. Dropping a
/// slot retires the object that it holds. As a retired reference still counts, [`Ref::get_mut`] on
/// an object that was swapped out fails until the release. Closing a pool that is empty is not a
/// drain.
///
/// The first load with a pool after it was opened or drained *pins* the pool: it marks the pool as a
/// reader for which releases must wait (tens of nanoseconds). Each pool is pinned separately, so a
/// drained pool delays nothing, even if the pins of several pools overlap, as with double buffering.
/// From its first load until it is closed, a pool keeps 2.5 KiB for its pin; afterwards the thread
/// reuses the memory. The algorithm is Fraser's epoch-based reclamation, implemented by
/// crossbeam-epoch.
///
/// ```
/// use releasepool::{AutoreleasePool, Ref, Slot};
/// use std::thread;
///
/// let settings = Slot::new(Ref::new(String::from("easy")));
/// thread::scope(|s| {
///     s.spawn(|| {
///         let pool = AutoreleasePool::new();
///         let now = settings.load(&pool);
///         assert!(*now == "easy" || *now == "hard");
///     });
///     settings.store(Ref::new(String::from("hard")));
/// });
/// assert_eq!(*settings.load_full(), "hard");
/// ```
#[doc(alias = "ArcSwap")]
pub struct Slot<T: ?Sized + ThinTarget + Send + Sync>(RawSlot<T>);

/// Unwraps the content of a `Slot`, which is never null (invariant 5).
fn held<R>(r: Option<R>) -> R {
    match r {
        Some(r) => r,
        None => unreachable!("a slot always holds an object"),
    }
}

impl<T: ?Sized + ThinTarget + Send + Sync> Slot<T> {
    /// Makes a slot that holds `r`.
    ///
    /// # Panics
    /// If the values of a slice have no size, and [`unsize!`](crate::unsize) or a `Box` has made the
    /// slice: then the object does not know its length. So do all functions that put an object into
    /// a slot; the slot is then unchanged.
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

    /// Returns a counted reference to the object that the slot holds, which may outlive pools. One
    /// read-modify-write, during which the epoch is pinned.
    pub fn load_full(&self) -> Ref<T> {
        held(self.0.load_full())
    }

    /// Calls `f` with the object that the slot holds, and returns its result. Needs no pool.
    ///
    /// The object stays alive as long as `f` runs, whatever is stored meanwhile, also by `f` itself. Until
    /// then, nothing that slots retire is released, on any thread: keep `f` short. An
    /// [event](crate::event::EventKind::EpochHeld) names a call that takes a second.
    ///
    /// Costs a pin and its end, some tens of nanoseconds. Where a pool is open anyway, [`load`](Self::load)
    /// costs one load.
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
    /// is a new one: the slot's own reference is retired, so [`Ref::get_mut`] fails until a drain
    /// has released it.
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
    /// Makes a slot that holds an object with `r`.
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

    /// Returns a counted reference to the object to which the slot's object refers. Three
    /// read-modify-writes.
    pub fn load_full_dyn(&self) -> Ref<T> {
        Ref::clone(&self.load_full())
    }

    /// Replaces the slot's object with a new one that holds `r`, and retires the old one.
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

impl<T: ?Sized + ThinTarget + Send + Sync> From<Ref<T>> for Slot<T> {
    fn from(r: Ref<T>) -> Self {
        Self::new(r)
    }
}

impl<T: ?Sized + ThinTarget + Send + Sync + fmt::Debug> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.load_full()).finish()
    }
}
