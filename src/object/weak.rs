//! `Weak`: a counted reference that does not keep its object alive.

use super::header::{Thin, checked, header};
use super::strong::Ref;
use super::{destroy, raw_checks};
use crate::ledger::{self, RawCall};
use crate::unsizing::{coerced, coercible};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// A counted reference that does not keep its object alive, only its memory.
///
/// It is like `std::sync::Weak`. A typical use is the reference of a child to its parent, so that
/// the two do not keep each other alive.
///
/// ```
/// use releasepool::{Ref, Weak};
/// let r = Ref::new(5);
/// let w = Ref::downgrade(&r);
/// assert_eq!(w.upgrade().as_deref(), Some(&5));
/// drop(r);
/// assert!(w.upgrade().is_none());
/// assert!(Weak::<i32>::new().upgrade().is_none());
/// ```
#[repr(transparent)]
pub struct Weak<T: ?Sized + 'static> {
    /// The payload, or [`DANGLING`].
    ptr: NonNull<T>,
    /// Invariant, for the reason given for `Ref`.
    invariant: PhantomData<*mut T>,
}

/// The address in every `Weak::new()`: no object has this address.
const DANGLING: usize = usize::MAX;

// SAFETY: an upgrade returns a `Ref`, so the requirements are those of `Ref`.
unsafe impl<T: ?Sized + Send + Sync> Send for Weak<T> {}
// SAFETY: an upgrade returns a `Ref`, so the requirements are those of `Ref`.
unsafe impl<T: ?Sized + Send + Sync> Sync for Weak<T> {}

impl<T> Weak<T> {
    /// Returns a reference to no object, which can never be upgraded. Does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        let ptr = ptr::without_provenance_mut(DANGLING);
        // SAFETY: the address is not null.
        let ptr = unsafe { NonNull::new_unchecked(ptr) };
        Self {
            ptr,
            invariant: PhantomData,
        }
    }
}

impl<T: ?Sized> Weak<T> {
    /// Takes over a weak reference.
    ///
    /// # Safety
    /// `ptr` is the payload of an object whose memory is not freed, and the caller gives up one
    /// weak reference to it. Or it is the dangling pointer of [`Weak::new`].
    #[inline]
    pub(crate) unsafe fn adopt(ptr: NonNull<T>) -> Self {
        Self {
            ptr,
            invariant: PhantomData,
        }
    }

    /// Turns the handle into a pointer that stands for the reference.
    #[inline]
    pub(crate) fn into_payload(self) -> NonNull<T> {
        std::mem::ManuallyDrop::new(self).ptr
    }

    /// Returns the address of the value, or the dangling address.
    pub(crate) fn payload(&self) -> NonNull<T> {
        self.ptr
    }

    /// Returns the thin address of the object, if there is one.
    #[inline]
    fn thin(&self) -> Option<Thin> {
        let thin: Thin = self.ptr.cast();
        (thin.as_ptr().addr() != DANGLING).then_some(thin)
    }

    /// Returns a strong reference if the object is still alive.
    ///
    /// Lock-free. Concurrently with the last release, it returns either a valid reference or
    /// `None`. Aborts at more than 2³¹ strong references.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn upgrade(&self) -> Option<Ref<T>> {
        let thin = self.thin()?;
        // SAFETY: `self` keeps the memory.
        let alive = unsafe { checked(thin, header(thin).count.upgrade()) };
        if alive {
            ledger::retained(thin);
        }
        // SAFETY: `upgrade` counted the reference.
        alive.then(|| unsafe { Ref::adopt(self.ptr) })
    }

    /// Returns the number of strong references; 0 after the last release.
    ///
    /// Like [`Ref::strong_count`], it orders nothing: 0 does not mean that the value has been
    /// destroyed, nor that other threads' accesses to it happen before the caller's next step.
    pub fn strong_count(&self) -> usize {
        // SAFETY: `self` keeps the memory.
        self.thin()
            .map_or(0, |thin| unsafe { header(thin) }.count.strong())
    }

    /// Returns the number of weak references; 0 after the last strong release. Like
    /// [`Ref::strong_count`], it orders nothing.
    pub fn weak_count(&self) -> usize {
        // SAFETY: `self` keeps the memory.
        self.thin()
            .map_or(0, |thin| unsafe { header(thin) }.count.weak())
    }

    /// Returns whether both refer to the same object, or both to none.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        ptr::addr_eq(self.ptr.as_ptr(), other.ptr.as_ptr())
    }

    /// Returns the address of the value, which must not be read unless there is a strong reference;
    /// dangling for [`Weak::new`].
    #[inline]
    pub fn as_ptr(&self) -> *const T {
        self.ptr.as_ptr()
    }

    /// Turns the reference into a pointer, for foreign code. [`Weak::from_raw`] turns it back.
    #[inline]
    #[must_use = "the reference leaks unless the pointer is given back"]
    pub fn into_raw(self) -> *const T {
        self.into_payload().as_ptr()
    }

    /// Turns a pointer back into a reference.
    ///
    /// # Safety
    /// `p` came from [`Weak::into_raw`] (of a `Weak<U>` where `U` and `T` differ at most by an
    /// unsizing), and stands for one weak reference, which this call takes over.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub unsafe fn from_raw(p: *const T) -> Self {
        if p.addr() != DANGLING {
            raw_checks::raw_call(p.cast(), RawCall::WeakFromRaw);
        }
        // SAFETY: `into_raw` never returns null; the rest is the contract.
        unsafe { Self::adopt(NonNull::new_unchecked(p.cast_mut())) }
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[inline]
    fn clone(&self) -> Self {
        if let Some(thin) = self.thin() {
            // SAFETY: `self` keeps the memory.
            unsafe { checked(thin, header(thin).count.downgrade()) };
        }
        // SAFETY: `downgrade` counted the reference; a dangling pointer stays one.
        unsafe { Self::adopt(self.ptr) }
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(thin) = self.thin() {
            // SAFETY: `self` owns a weak reference, which ends here.
            unsafe { destroy::release_weak(thin) };
        }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

coercible!(Weak, |this, coerce| {
    // SAFETY: by the contract, `coerce` keeps the address. So the result is the payload of the same
    // object, and the reference moves into the result; or a dangling pointer stays dangling.
    unsafe { Weak::adopt(coerced(this.into_payload(), coerce)) }
});
