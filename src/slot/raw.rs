//! What both kinds of slots are: a pointer that owns a reference, or null.

use crate::object::header::{checked, header, note_read};
use crate::object::strong::Ref;
use crate::pool::guard::AutoreleasePool;
use crate::pool::pin::{pinned_while, retire, with_guard};
use crate::pool::pool_ref::PoolRef;
use crate::sync::FreeWitness;
use crate::sync::atomic::{AtomicPtr, Ordering};
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};

/// See the module.
pub(super) struct Raw<T: Send + Sync + 'static> {
    at: AtomicPtr<T>,
    /// Invariant in `T`, as `Ref`.
    holds: PhantomData<*mut T>,
}

// SAFETY: it hands out what `Ref<T>` hands out, to whichever thread.
unsafe impl<T: Send + Sync> Send for Raw<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Raw<T> {}
// A panic leaves a slot as it was.
impl<T: Send + Sync + RefUnwindSafe> UnwindSafe for Raw<T> {}
impl<T: Send + Sync + RefUnwindSafe> RefUnwindSafe for Raw<T> {}

fn into_pointer<T>(r: Option<Ref<T>>) -> *mut T {
    r.map_or(ptr::null_mut(), |r| Ref::into_payload(r).as_ptr())
}

/// # Safety
/// The pointer owns a reference, or is null.
unsafe fn from_pointer<T>(at: *mut T) -> Option<Ref<T>> {
    // SAFETY: by the caller's promise.
    NonNull::new(at).map(|at| unsafe { Ref::adopt(at) })
}

/// # Safety
/// The object, if there is one, is alive.
unsafe fn retained<T>(at: *mut T) -> Option<Ref<T>> {
    let at = NonNull::new(at)?;
    let thin = at.cast();
    // SAFETY: by the caller's promise.
    unsafe { checked(thin, header(thin).count.retain()) };
    // SAFETY: the reference just counted.
    Some(unsafe { Ref::adopt(at) })
}

impl<T: Send + Sync> Raw<T> {
    pub(super) fn new(r: Option<Ref<T>>) -> Self {
        Self {
            at: AtomicPtr::new(into_pointer(r)),
            holds: PhantomData,
        }
    }

    #[inline]
    pub(super) fn load<'p>(&self, pool: &'p AutoreleasePool) -> Option<PoolRef<'p, T>> {
        pool.pin();
        // SAFETY: pinned.
        unsafe { self.lend() }
    }

    /// # Safety
    /// Something that lives for `'p` has been pinned.
    #[inline]
    unsafe fn lend<'p>(&self) -> Option<PoolRef<'p, T>> {
        // Acquire: pairs with the Release of who put it in, so that the value is seen.
        // Model: slot_load_store.
        let at = NonNull::new(self.at.load(Ordering::Acquire))?;
        // SAFETY: it was in the slot after that, so what the slot holds of it is given up
        // only when the pin has gone.
        Some(unsafe { PoolRef::lend(at) })
    }

    pub(super) fn load_full(&self) -> Option<Ref<T>> {
        with_guard(|_| {
            // Acquire: as in `load`. Model: slot_load_full.
            let at = self.at.load(Ordering::Acquire);
            // SAFETY: as in `load`, for as long as the guard is there.
            unsafe { retained(at) }
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at.load(Ordering::Relaxed).is_null()
    }

    pub(super) fn store(&self, r: Option<Ref<T>>) {
        if let Some(before) = NonNull::new(self.replace(r)) {
            // SAFETY: the slot's own reference, which is ours now.
            unsafe { retire(before.cast()) };
        }
    }

    pub(super) fn swap(&self, r: Option<Ref<T>>) -> Option<Ref<T>> {
        let before = self.replace(r);
        // SAFETY: what came out is ours.
        unsafe { out(before) }
    }

    /// Gives what comes out, which owns a reference, or null.
    fn replace(&self, r: Option<Ref<T>>) -> *mut T {
        // Release: pairs with the Acquire of the loads. Acquire: pairs with the Release
        // of who put in what comes out, so that what he did with it comes before its
        // end. Model: slot_load_store, slot_two_writers.
        self.at.swap(into_pointer(r), Ordering::AcqRel)
    }

    pub(super) fn compare_exchange(
        &self,
        current: Option<&T>,
        new: Option<Ref<T>>,
    ) -> Result<Option<Ref<T>>, Option<Ref<T>>> {
        let current = current.map_or(ptr::null_mut(), |current| ptr::from_ref(current).cast_mut());
        self.exchange(current, new)
    }

    fn exchange(
        &self,
        current: *mut T,
        new: Option<Ref<T>>,
    ) -> Result<Option<Ref<T>>, Option<Ref<T>>> {
        let new = into_pointer(new);
        // AcqRel: as in `swap`. Model: slot_compare_exchange, slot_rcu.
        let exchanged = self
            .at
            .compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed);
        match exchanged {
            // By the slot's pointer, as `current` may have another provenance.
            // SAFETY: what came out is ours.
            Ok(before) => Ok(unsafe { out(before) }),
            // SAFETY: made of `new`, and still ours.
            Err(_) => Err(unsafe { from_pointer(new) }),
        }
    }

    pub(super) fn rcu(&self, mut f: impl FnMut(Option<&T>) -> Option<Ref<T>>) -> Option<Ref<T>> {
        // Pinned all the time: what was read is not freed, so no other object comes
        // to stand at its address before the exchange.
        pinned_while("rcu", || {
            loop {
                // Acquire: as in `load`. Model: slot_rcu.
                let now = self.at.load(Ordering::Acquire);
                // SAFETY: as in `load_full`.
                let new = f(NonNull::new(now).map(|now| unsafe {
                    note_read(now.cast());
                    now.as_ref()
                }));
                match self.exchange(now, new) {
                    Ok(before) => return before,
                    Err(new) => drop(new),
                }
            }
        })
    }
}

/// Gives an added reference to what came out of a slot, and retires the slot's own.
///
/// # Safety
/// The pointer owns a reference, which the caller gives up.
unsafe fn out<T: Send + Sync>(at: *mut T) -> Option<Ref<T>> {
    // SAFETY: alive by the reference.
    let added = unsafe { retained(at) }?;
    // SAFETY: by the caller's promise; `T` is Send and Sync.
    unsafe { retire(Ref::thin(&added)) };
    Some(added)
}

impl<T: Send + Sync> Drop for Raw<T> {
    fn drop(&mut self) {
        // Relaxed: nobody else has the slot.
        let at = self.at.load(Ordering::Relaxed);
        self.at.freed();
        if let Some(at) = NonNull::new(at) {
            // SAFETY: the slot's own reference; `T` is Send and Sync.
            unsafe { retire(at.cast()) };
        }
    }
}
