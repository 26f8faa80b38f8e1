//! Slots of references, such as to trait objects: reading through both.

use super::Slot;
use crate::object::strong::Ref;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::pool_ref::PoolRef;

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
