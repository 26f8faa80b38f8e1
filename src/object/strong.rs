//! `Ref`: a counted reference that keeps its object alive.

use super::destroy;
use super::header::{Thin, checked, header, note_read};
use super::weak::Weak;
use crate::unsizing::{Coercible, coerced, sealed};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A counted reference: the object lives as long as there is one.
///
/// What `Arc` is to the standard library: one allocation, an atomic count, `Send`
/// and `Sync` if the value is both. Beyond that, a `Ref` can be handed to an
/// [`AutoreleasePool`](crate::AutoreleasePool), which releases it a little later
/// and lends out uncounted references until then; structures of any depth are
/// destroyed in constant stack; and unsized objects are still named by one thin
/// address.
///
/// In the terms of Cocos2d-x and Objective-C, `clone` is *retain* and `drop` is
/// *release*.
///
/// # When not to use it
/// For values that one thread owns and nobody shares, `Box`; for sharing within
/// one thread without pools, `Rc`. Values must be `'static`: pools drop them
/// later.
///
/// # Cost
/// One word for sized types. 16 bytes before the value, 24 for slices and `str`. `clone` and `drop` are
/// one atomic read-modify-write each; the drop of the only reference of any kind is a load.
///
/// # Panics
/// No operation on counts panics. More than 2³¹ strong or 2³⁰ weak references at
/// once abort the process. A destructor that panics unwinds as with `Arc`: if the value that is
/// being dropped has another field whose destructor panics, too, the process aborts, as Rust does
/// for any value. Objects that were queued, or that a pool holds, are destroyed all the same.
///
/// ```
/// use releasepool::Ref;
/// let a = Ref::new(vec![1, 2, 3]);
/// let b = a.clone(); // retain
/// assert_eq!(Ref::strong_count(&a), 2);
/// drop(b); // release
/// assert_eq!(Ref::into_inner(a), Some(vec![1, 2, 3]));
/// ```
#[repr(transparent)]
pub struct Ref<T: ?Sized + 'static> {
    ptr: NonNull<T>,
    /// Invariant: what an object is, its class says for ever. A subtype, even
    /// between two `'static` types, may have another destructor.
    invariant: PhantomData<*mut T>,
}

// SAFETY: a `Ref` on another thread gives out `&T` there (so `T: Sync`), and may
// drop or give back the `T` there (so `T: Send`).
unsafe impl<T: ?Sized + Send + Sync> Send for Ref<T> {}
// SAFETY: a shared `Ref` can be cloned, so as for Send.
unsafe impl<T: ?Sized + Send + Sync> Sync for Ref<T> {}

impl<T: ?Sized> Ref<T> {
    /// # Safety
    /// `ptr` is the payload of a live object, with the provenance of its
    /// allocation, and the caller gives up one strong reference to it.
    #[inline]
    pub(crate) unsafe fn adopt(ptr: NonNull<T>) -> Self {
        Self {
            ptr,
            invariant: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn payload(this: &Self) -> NonNull<T> {
        this.ptr
    }

    /// The address that names the object whatever its type.
    #[inline]
    pub(crate) fn thin(this: &Self) -> Thin {
        this.ptr.cast()
    }

    /// The reference itself, uncounted; whoever takes it has to release it.
    #[inline]
    pub(crate) fn into_payload(this: Self) -> NonNull<T> {
        std::mem::ManuallyDrop::new(this).ptr
    }

    /// How many strong references there are. Others may change it meanwhile; it
    /// includes those that pools hold.
    pub fn strong_count(this: &Self) -> usize {
        // SAFETY: alive by `this`.
        unsafe { header(Self::thin(this)) }.count.strong()
    }

    /// How many [`Weak`] references there are. Others may change it meanwhile.
    pub fn weak_count(this: &Self) -> usize {
        // SAFETY: alive by `this`.
        unsafe { header(Self::thin(this)) }.count.weak()
    }

    /// A reference that does not keep the object alive.
    ///
    /// One read-modify-write. Aborts beyond 2³⁰.
    #[inline]
    #[must_use = "a weak reference does nothing unless it is kept"]
    pub fn downgrade(this: &Self) -> Weak<T> {
        let thin = Self::thin(this);
        // SAFETY: alive by `this`.
        unsafe { checked(thin, header(thin).count.downgrade()) };
        // SAFETY: the reference just counted.
        unsafe { Weak::adopt(this.ptr) }
    }

    /// Whether both name the same object. Compares addresses only: two handles to
    /// one object by different traits are equal.
    #[inline]
    pub fn ptr_eq(a: &Self, b: &Self) -> bool {
        std::ptr::addr_eq(a.ptr.as_ptr(), b.ptr.as_ptr())
    }

    /// The value's address. Valid as long as the object lives.
    #[inline]
    pub fn as_ptr(this: &Self) -> *const T {
        this.ptr.as_ptr()
    }

    /// Turns the reference into a pointer, for foreign code. The count stays:
    /// [`Ref::from_raw`] or [`Ref::decrement_strong_count`] gives it up.
    #[inline]
    #[must_use = "the reference leaks unless the pointer is given back"]
    pub fn into_raw(this: Self) -> *const T {
        Self::into_payload(this).as_ptr()
    }

    /// Takes a reference back from a pointer.
    ///
    /// # Safety
    /// `p` came from [`Ref::into_raw`] (of a `Ref<U>` where `U` and `T` differ at
    /// most by an unsizing), and stands for one strong reference, which this call
    /// takes over. For the last reference, the thread must be one that may drop
    /// the value.
    #[inline]
    pub unsafe fn from_raw(p: *const T) -> Self {
        // SAFETY: `into_raw` never gives null, and the rest is promised.
        unsafe { Self::adopt(NonNull::new_unchecked(p.cast_mut())) }
    }

    /// Counts one more strong reference: *retain* for foreign code.
    ///
    /// # Safety
    /// As [`Ref::from_raw`], except that the object is merely alive during the
    /// call, and nothing is taken over.
    pub unsafe fn increment_strong_count(p: *const T) {
        // SAFETY: by the caller's promise.
        let this = unsafe { Self::from_raw(p) };
        std::mem::forget(this.clone());
        std::mem::forget(this);
    }

    /// Gives up one strong reference: *release* for foreign code.
    ///
    /// In debug builds, and with the feature `checks`, one release too many
    /// aborts with the object's type and address as long as its memory is there.
    ///
    /// # Safety
    /// As [`Ref::from_raw`].
    pub unsafe fn decrement_strong_count(p: *const T) {
        // SAFETY: by the caller's promise.
        drop(unsafe { Self::from_raw(p) });
    }
}

/// *Retain*: one more reference to the same object. One relaxed
/// read-modify-write; aborts beyond 2³¹.
impl<T: ?Sized> Clone for Ref<T> {
    #[inline]
    fn clone(&self) -> Self {
        let thin = Self::thin(self);
        // SAFETY: alive by `self`.
        unsafe { checked(thin, header(thin).count.retain()) };
        // SAFETY: the reference just counted.
        unsafe { Self::adopt(self.ptr) }
    }
}

/// *Release*. The last one destroys the value, on this thread, at once; inside
/// another destructor at once up to a depth of 32 KiB of stack; in structures that
/// are deeper, as soon as the outermost one is done (see [`settle`](crate::settle)).
impl<T: ?Sized> Drop for Ref<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: our reference, given up here.
        unsafe { destroy::release(Self::thin(self)) }
    }
}

impl<T: ?Sized> std::ops::Deref for Ref<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: alive by `self`.
        unsafe {
            note_read(Self::thin(self));
            self.ptr.as_ref()
        }
    }
}

impl<T: ?Sized> sealed::Sealed for Ref<T> {}

impl<T: ?Sized> Coercible for Ref<T> {
    type Target = T;
    type Of<U: ?Sized + 'static> = Ref<U>;

    unsafe fn coerce<U: ?Sized + 'static>(self, coerce: impl FnOnce(*mut T) -> *mut U) -> Ref<U> {
        // SAFETY: by the caller's promise the same object; its reference moves.
        unsafe { Ref::adopt(coerced(Ref::into_payload(self), coerce)) }
    }
}
