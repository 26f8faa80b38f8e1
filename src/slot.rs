//! Slots: places that hold an object for all threads to load and to replace.
//!
//! * [`Slot`] always holds one, [`OptionSlot`] perhaps; both are a [`raw::Raw`]

mod option;
mod raw;

pub use option::OptionSlot;

use crate::object::strong::Ref;
use crate::pool::guard::AutoreleasePool;
use crate::pool::pool_ref::PoolRef;
use raw::Raw;
use std::fmt;

/// Holds one object for all threads: each may load it, or put another in its place.
///
/// Loading with a pool costs one load: the count is not touched, so readers on any
/// number of threads do not disturb each other, where cloning a `Ref` or an `Arc`
/// would have them fight for one cache line. What is loaded stays valid until that
/// pool is drained, whatever is stored meanwhile.
///
/// # When not to use it
/// For what changes as often as it is read: a store costs one allocation of 40 bytes, beside that
/// of the new object, and some tens of nanoseconds; every 32nd (more often, if stores are rare) also takes
/// the epoch a step further, which allocates some 4 KiB. What it replaces is not released before all pools that
/// were loaded with have been drained. A pool that is never drained holds, for the
/// whole process, all that slots give up; once stores or drains have seen it do so for a second, an
/// [event](crate::event::EventKind::EpochHeld) names it. If no thread drains a pool, nothing that
/// slots give up is released until somebody calls [`quiesce`](crate::PoolManager::quiesce);
/// [another event](crate::event::EventKind::OrphansWaiting) says that. For what only one thread reads
/// a channel or [`ThreadHandle`](crate::ThreadHandle) is better.
///
/// # Releases
/// A slot never releases an object itself. Its reference is *retired*: some outermost drain, on
/// any thread, of any manager's pools, releases it once no pool can have it from this slot any
/// more. [`quiesce`](crate::PoolManager::quiesce) gets that done at once. Dropping a slot retires what
/// it holds. So [`Ref::get_mut`] of what was swapped out fails for a while, as the
/// slot's own reference is still there.
///
/// The first load with a pool since it was opened or drained *pins* it: it marks the
/// pool as a reader that is to be waited for (tens of nanoseconds). Each pool is pinned separately, so a
/// drained pool holds nothing, even if the pins of several pools overlap, as with double buffering. The algorithm is Fraser's epoch-based reclamation, by crossbeam-epoch.
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
pub struct Slot<T: Send + Sync + 'static>(Raw<T>);

/// What is never null in a `Slot`.
fn held<R>(r: Option<R>) -> R {
    match r {
        Some(r) => r,
        None => unreachable!("a slot always holds an object"),
    }
}

impl<T: Send + Sync> Slot<T> {
    /// A slot that holds `r`.
    pub fn new(r: Ref<T>) -> Self {
        Self(Raw::new(Some(r)))
    }

    /// What the slot holds, for as long as `pool` is not drained.
    ///
    /// One load; the first since the pool was opened or drained also pins it.
    #[inline]
    pub fn load<'p>(&self, pool: &'p AutoreleasePool) -> PoolRef<'p, T> {
        held(self.0.load(pool))
    }

    /// A counted reference to what the slot holds. One read-modify-write, and the
    /// epoch pinned for that time.
    pub fn load_full(&self) -> Ref<T> {
        held(self.0.load_full())
    }

    /// Puts `r` in, and retires what was there.
    pub fn store(&self, r: Ref<T>) {
        self.0.store(Some(r));
    }

    /// Puts `r` in, and gives a reference to what was there. It is one that was added:
    /// the slot's own is retired, so [`Ref::get_mut`] fails until that is released.
    pub fn swap(&self, r: Ref<T>) -> Ref<T> {
        held(self.0.swap(Some(r)))
    }

    /// Puts `new` in if the slot holds the object at the address of `current`, and gives
    /// a reference to what was there, as [`swap`](Self::swap).
    ///
    /// # Errors
    /// Gives `new` back if the slot holds another object.
    pub fn compare_exchange(&self, current: &T, new: Ref<T>) -> Result<Ref<T>, Ref<T>> {
        match self.0.compare_exchange(Some(current), Some(new)) {
            Ok(before) => Ok(held(before)),
            Err(new) => Err(held(new)),
        }
    }

    /// Puts in what `f` makes of what is there, and returns a reference to what was there, as
    /// [`swap`](Self::swap). If another thread comes in between, `f` is called again:
    /// *read, copy, update*. Nothing that slots give up is released while `f` runs.
    ///
    /// # Panics
    /// As `f`; nothing is changed then.
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

impl<T: Send + Sync + Default> Default for Slot<T> {
    fn default() -> Self {
        Self::new(Ref::default())
    }
}

impl<T: Send + Sync> From<Ref<T>> for Slot<T> {
    fn from(r: Ref<T>) -> Self {
        Self::new(r)
    }
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.load_full()).finish()
    }
}
