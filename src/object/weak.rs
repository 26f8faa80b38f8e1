//! `Weak`: a counted reference that does not keep its object alive.

use super::destroy;
use super::header::{Thin, checked, header};
use super::strong::Ref;
use crate::unsizing::{Coercible, coerced, sealed};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};

/// A reference that does not keep its object alive, but its memory.
///
/// As `std::sync::Weak`. The usual use is a child's reference to its parent, so
/// that the two do not keep each other alive.
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
    /// As for `Ref`.
    invariant: PhantomData<*mut T>,
}

/// The address of no object; that of every `Weak::new()`.
const DANGLING: usize = usize::MAX;

// SAFETY: an upgrade gives a `Ref`.
unsafe impl<T: ?Sized + Send + Sync> Send for Weak<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for Weak<T> {}

impl<T> Weak<T> {
    /// A reference to nothing: no allocation, and no upgrade ever succeeds.
    #[must_use]
    pub const fn new() -> Self {
        let ptr = ptr::without_provenance_mut(DANGLING);
        // SAFETY: not null.
        let ptr = unsafe { NonNull::new_unchecked(ptr) };
        Self {
            ptr,
            invariant: PhantomData,
        }
    }
}

impl<T: ?Sized> Weak<T> {
    /// # Safety
    /// `ptr` is the payload of an object whose memory is there (or a dangling
    /// pointer of `new`), and the caller gives up one weak reference to it.
    #[inline]
    pub(crate) unsafe fn adopt(ptr: NonNull<T>) -> Self {
        Self {
            ptr,
            invariant: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn into_payload(self) -> NonNull<T> {
        std::mem::ManuallyDrop::new(self).ptr
    }

    #[inline]
    fn thin(&self) -> Option<Thin> {
        let thin: Thin = self.ptr.cast();
        (thin.as_ptr().addr() != DANGLING).then_some(thin)
    }

    /// A strong reference, if the object is still alive.
    ///
    /// Lock-free. Racing the last release it gives either a valid reference or
    /// `None`. Aborts beyond 2³¹.
    #[inline]
    pub fn upgrade(&self) -> Option<Ref<T>> {
        let thin = self.thin()?;
        // SAFETY: the memory is there by `self`.
        let alive = unsafe { checked(thin, header(thin).count.upgrade()) };
        // SAFETY: the reference just counted.
        alive.then(|| unsafe { Ref::adopt(self.ptr) })
    }

    /// How many strong references there are; 0 after the last release.
    pub fn strong_count(&self) -> usize {
        // SAFETY: the memory is there by `self`.
        self.thin()
            .map_or(0, |thin| unsafe { header(thin) }.count.strong())
    }

    /// How many weak references there are; 0 after the last strong release.
    pub fn weak_count(&self) -> usize {
        // SAFETY: the memory is there by `self`.
        self.thin()
            .map_or(0, |thin| unsafe { header(thin) }.count.weak())
    }

    /// Whether both name the same object, or both none.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        ptr::addr_eq(self.ptr.as_ptr(), other.ptr.as_ptr())
    }

    /// The value's address, which must not be read unless a strong reference is
    /// known to live; dangling for [`Weak::new`].
    #[inline]
    pub fn as_ptr(&self) -> *const T {
        self.ptr.as_ptr()
    }

    /// Turns the reference into a pointer, for foreign code.
    /// [`Weak::from_raw`] takes it back.
    #[inline]
    #[must_use = "the reference leaks unless the pointer is given back"]
    pub fn into_raw(self) -> *const T {
        self.into_payload().as_ptr()
    }

    /// Takes a reference back from a pointer.
    ///
    /// # Safety
    /// `p` came from [`Weak::into_raw`] (of a `Weak<U>` where `U` and `T` differ
    /// at most by an unsizing), and stands for one weak reference, which this call
    /// takes over.
    #[inline]
    pub unsafe fn from_raw(p: *const T) -> Self {
        // SAFETY: never null, and the rest is promised.
        unsafe { Self::adopt(NonNull::new_unchecked(p.cast_mut())) }
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[inline]
    fn clone(&self) -> Self {
        if let Some(thin) = self.thin() {
            // SAFETY: the memory is there by `self`.
            unsafe { checked(thin, header(thin).count.downgrade()) };
        }
        // SAFETY: the reference just counted.
        unsafe { Self::adopt(self.ptr) }
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(thin) = self.thin() {
            // SAFETY: our reference, given up here.
            unsafe { destroy::release_weak(thin) };
        }
    }
}

impl<T: ?Sized> Unpin for Weak<T> {}
impl<T: ?Sized + RefUnwindSafe> UnwindSafe for Weak<T> {}
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for Weak<T> {}

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

impl<T: ?Sized> sealed::Sealed for Weak<T> {}

impl<T: ?Sized> Coercible for Weak<T> {
    type Target = T;
    type Of<U: ?Sized + 'static> = Weak<U>;

    unsafe fn coerce<U: ?Sized + 'static>(self, coerce: impl FnOnce(*mut T) -> *mut U) -> Weak<U> {
        // SAFETY: as for `Ref`; a dangling pointer stays one.
        unsafe { Weak::adopt(coerced(self.into_payload(), coerce)) }
    }
}
