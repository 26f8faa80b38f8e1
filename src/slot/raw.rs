//! The pointer behind both kinds of slots: it owns a strong reference, or is null.
//!
//! The invariants that `SAFETY:` comments cite by number are listed at the head of `slots`.

use crate::epoch::Call;
use crate::object::header::{checked, header, note_read};
use crate::object::strong::Ref;
use crate::object::thin_target::ThinTarget;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::pin::{pinned, pinned_while, retire};
use crate::pool::api::pool_ref::PoolRef;
use crate::sync::FreeWitness;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::const_fn;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};

/// A pointer that owns a strong reference, or null. The address alone leads to the object: a slot
/// stores neither its length nor a vtable.
pub(super) struct RawSlot<T: ?Sized + ThinTarget + Send + Sync> {
    at: AtomicPtr<T::First>,
    /// Makes the slot invariant in `T`, as `Ref` is.
    holds: PhantomData<*mut T>,
}

// SAFETY: a slot gives access to its object only as `Ref<T>`, `PoolRef<T>` and `&T`, which may be
// sent and shared for `T: Send + Sync`; its own field is atomic.
unsafe impl<T: ?Sized + ThinTarget + Send + Sync> Send for RawSlot<T> {}
// SAFETY: a slot gives access to its object only as `Ref<T>`, `PoolRef<T>` and `&T`, which may be
// sent and shared for `T: Send + Sync`; its own field is atomic.
unsafe impl<T: ?Sized + ThinTarget + Send + Sync> Sync for RawSlot<T> {}
// A panic leaves no slot half changed: each change of a slot is one atomic operation.
impl<T: ?Sized + ThinTarget + Send + Sync + RefUnwindSafe> UnwindSafe for RawSlot<T> {}
impl<T: ?Sized + ThinTarget + Send + Sync + RefUnwindSafe> RefUnwindSafe for RawSlot<T> {}

/// Turns a reference into a pointer that owns it; `None` becomes null.
///
/// # Panics
/// If the object does not know its length.
fn into_pointer<T: ?Sized + ThinTarget + Send + Sync>(r: Option<Ref<T>>) -> *mut T::First {
    r.map_or(ptr::null_mut(), |r| {
        // SAFETY: `r` keeps its object alive.
        let found = unsafe { T::is_found(Ref::payload(&r)) };
        assert!(found, "a slot cannot tell the length of an array of zero-sized values: make the slice by Ref::from");
        Ref::into_payload(r).cast().as_ptr()
    })
}

/// Turns a pointer from [`into_pointer`] back into a reference.
///
/// # Safety
/// The pointer owns a reference, or is null.
unsafe fn from_pointer<T: ?Sized + ThinTarget + Send + Sync>(at: *mut T::First) -> Option<Ref<T>> {
    // SAFETY: by the caller's promise the pointer owns a reference, which `adopt` takes over.
    NonNull::new(at).map(|at| unsafe { Ref::adopt(T::whole(at)) })
}

/// Counts a new reference to the object; `None` if the pointer is null.
///
/// # Safety
/// The object, if there is one, is alive.
unsafe fn retained<T: ?Sized + ThinTarget + Send + Sync>(at: *mut T::First) -> Option<Ref<T>> {
    let at = NonNull::new(at)?;
    let thin = at.cast();
    // SAFETY: the object is alive by the caller's promise, so its header can be read.
    unsafe { checked(thin, header(thin).count.retain()) };
    // SAFETY: adopts the reference that was counted in the line above.
    Some(unsafe { Ref::adopt(T::whole(at)) })
}

impl<T: ?Sized + ThinTarget + Send + Sync> RawSlot<T> {
    pub(super) fn new(r: Option<Ref<T>>) -> Self {
        Self {
            at: AtomicPtr::new(into_pointer(r)),
            holds: PhantomData,
        }
    }

    const_fn! {
        pub(super) fn empty() -> Self {
            Self {
                at: AtomicPtr::new(ptr::null_mut()),
                holds: PhantomData,
            }
        }
    }

    #[inline]
    pub(super) fn load<'p>(&self, pool: &'p AutoreleasePool) -> Option<PoolRef<'p, T>> {
        pool.pin();
        // SAFETY: the pool was pinned in the line above, and stays so for `'p` (invariant 4).
        unsafe { self.lend() }
    }

    /// Lends the object of a slot that always holds one.
    ///
    /// # Safety
    /// Only objects are ever put into the slot, never `None`.
    #[inline]
    pub(super) unsafe fn load_held<'p>(&self, pool: &'p AutoreleasePool) -> PoolRef<'p, T> {
        // SAFETY: by the contract, the pointer is never null.
        unsafe { self.load(pool).unwrap_unchecked() }
    }

    /// Lends the object, if there is one.
    ///
    /// # Safety
    /// A pool or a call of the calling thread was pinned before, and stays pinned for `'p`.
    #[inline]
    unsafe fn lend<'p>(&self) -> Option<PoolRef<'p, T>> {
        // Acquire: pairs with the Release in `replace` and `exchange`, so that the value of the
        // object is visible. Model: slot_drained_empty.
        let at = NonNull::new(self.at.load(Ordering::Acquire))?;
        // SAFETY: the object was in the slot after the pin, so the slot's reference is retired
        // later than the pin, and released only after the unpin (invariant 3).
        Some(unsafe { PoolRef::lend(T::whole(at)) })
    }

    pub(super) fn load_full(&self) -> Option<Ref<T>> {
        pinned(|| {
            // Acquire: pairs with the Release in `replace` and `exchange`, so that the value of the
            // object is visible. Model: slot_load_full.
            let at = self.at.load(Ordering::Acquire);
            // SAFETY: `pinned` has pinned the thread, so the object is alive until `pinned` returns
            // (invariant 3).
            unsafe { retained(at) }
        })
    }

    /// Calls `f`, which is foreign code, with the object.
    pub(super) fn with<R>(&self, f: impl FnOnce(Option<&T>) -> R) -> R {
        pinned_while(Call::With, || {
            // Acquire: pairs with the Release in `replace` and `exchange`, so that the value of the
            // object is visible. Model: slot_with.
            let at = self.at.load(Ordering::Acquire);
            // SAFETY: pinned by `pinned_while`, so the object is alive while `f` runs (invariant 3).
            f(NonNull::new(at).map(|at| unsafe {
                note_read(at.cast());
                T::whole(at).as_ref()
            }))
        })
    }

    /// Returns whether the slot holds the object of `r`.
    #[inline]
    pub(super) fn holds(&self, r: &Ref<T>) -> bool {
        // Relaxed: if the slot holds the object of `r`, the caller sees that object already.
        self.at.load(Ordering::Relaxed).cast() == Ref::thin(r).as_ptr()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at.load(Ordering::Relaxed).is_null()
    }

    pub(super) fn store(&self, r: Option<Ref<T>>) {
        if let Some(before) = NonNull::new(self.replace(r)) {
            // SAFETY: the exchange moved the slot's own reference here (invariants 1 and 2); `T` is
            // Send and Sync.
            unsafe { retire(before.cast()) };
        }
    }

    pub(super) fn swap(&self, r: Option<Ref<T>>) -> Option<Ref<T>> {
        let before = self.replace(r);
        // SAFETY: the exchange moved the slot's own reference here (invariants 1 and 2).
        unsafe { retain_and_retire(before) }
    }

    /// Puts `r` into the slot and returns the old pointer, which owns a reference or is null.
    fn replace(&self, r: Option<Ref<T>>) -> *mut T::First {
        // Release: pairs with the Acquire of the loads. Acquire: pairs with the Release of the
        // thread that put the old object in, so that its uses of the object happen-before the
        // destructor. Model: slot_two_writers.
        self.at.swap(into_pointer(r), Ordering::AcqRel)
    }

    pub(super) fn compare_exchange(
        &self,
        current: Option<&T>,
        new: Option<Ref<T>>,
    ) -> Result<Option<Ref<T>>, Option<Ref<T>>> {
        let current = current.map_or(ptr::null_mut(), |current| {
            ptr::from_ref(current).cast_mut().cast()
        });
        self.exchange(current, new)
    }

    fn exchange(
        &self,
        current: *mut T::First,
        new: Option<Ref<T>>,
    ) -> Result<Option<Ref<T>>, Option<Ref<T>>> {
        let new = into_pointer(new);
        // Release: pairs with the Acquire of the loads. Acquire: pairs with the Release of the
        // thread that put the old object in. Model: slot_compare_exchange, slot_rcu.
        let exchanged = self
            .at
            .compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed);
        match exchanged {
            // Uses the pointer `before`, as `current` may have another provenance.
            // SAFETY: the exchange moved the slot's own reference here (invariants 1 and 2).
            Ok(before) => Ok(unsafe { retain_and_retire(before) }),
            // SAFETY: the pointer was made of `new` above; the failed exchange did not take it.
            Err(_) => Err(unsafe { from_pointer(new) }),
        }
    }

    pub(super) fn rcu(&self, mut f: impl FnMut(Option<&T>) -> Option<Ref<T>>) -> Option<Ref<T>> {
        // The pin lasts from the read to the exchange: the object that was read is not freed
        // meanwhile, so no other object can take its address.
        pinned_while(Call::Rcu, || {
            loop {
                // Acquire: pairs with the Release in `replace` and `exchange`, so that the value of
                // the object is visible. Model: slot_rcu.
                let now = self.at.load(Ordering::Acquire);
                // SAFETY: pinned by `pinned_while`, so the object is alive while `f` runs
                // (invariant 3).
                let new = f(NonNull::new(now).map(|now| unsafe {
                    note_read(now.cast());
                    T::whole(now).as_ref()
                }));
                match self.exchange(now, new) {
                    Ok(before) => return before,
                    Err(new) => drop(new),
                }
            }
        })
    }
}

/// Counts and returns a new reference, and retires the reference that came out of a slot.
///
/// # Safety
/// The pointer owns a reference, which the caller gives up.
unsafe fn retain_and_retire<T: ?Sized + ThinTarget + Send + Sync>(
    at: *mut T::First,
) -> Option<Ref<T>> {
    // SAFETY: the reference that the pointer owns keeps the object alive.
    let added = unsafe { retained(at) }?;
    // SAFETY: the caller gives up the reference that the pointer owns; `T` is Send and Sync.
    unsafe { retire(Ref::thin(&added)) };
    Some(added)
}

impl<T: ?Sized + ThinTarget + Send + Sync> Drop for RawSlot<T> {
    fn drop(&mut self) {
        // Relaxed: `&mut self`, so no other thread has access to the slot.
        let at = self.at.load(Ordering::Relaxed);
        self.at.freed();
        if let Some(at) = NonNull::new(at) {
            // SAFETY: this is the slot's own reference (invariant 1), which leaves with the slot;
            // `T` is Send and Sync.
            unsafe { retire(at.cast()) };
        }
    }
}
