//! `Ref`: a counted reference that keeps its object alive.

use super::header::{Thin, checked, header, note_read};
use super::weak::Weak;
use super::{destroy, raw_checks};
use crate::ledger::{self, RawCall};
use crate::unsizing::{Coercible, coerced, coercible, sealed};
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr::NonNull;

/// A counted reference: the object lives as long as there is one.
///
/// `Ref` is like `Arc` of the standard library: one allocation, an atomic count, `Send` and `Sync`
/// if the value is both. In addition, a `Ref` can be passed to an
/// [`AutoreleasePool`](crate::AutoreleasePool), which releases it a little later and lends out
/// uncounted references until then; structures of any depth are destroyed in constant stack space;
/// and one thin address identifies any object, even an unsized one. [Coming from
/// `Arc`](crate::guide::from_arc) compares all methods and implementations.
///
/// A `Ref<T>` becomes a `Ref<dyn Trait>`, or a `Ref<[T; N]>` a `Ref<[T]>`, by
/// [`unsize!`](crate::unsize): only the standard library's pointers coerce by themselves. Where
/// `unsize!` is missing, the compiler says E0308, *expected `Ref<dyn Trait>`, found `Ref<T>`*.
///
/// In the terms of Cocos2d-x and Objective-C, `clone` is *retain* and `drop` is *release*.
///
/// # When not to use it
/// For values with a single owner, use `Box`; for sharing within one thread without pools, `Rc`.
/// Values must be `'static`, as pools drop them later.
///
/// # Cost
/// One word for sized types, two for others. An object has 16 bytes before its value, 24 for slices
/// and `str`, 32 for a value that was moved out of a `Box`. `clone` and `drop` are one atomic
/// read-modify-write each; the drop of the only reference of any kind is a load in destructors and
/// pools, and after the drop of another last reference.
///
/// # Panics
/// No operation on counts panics. More than 2³¹ strong or 2³⁰ weak references at once abort the
/// process. A destructor that panics unwinds as with `Arc`: if another field of the same value also
/// has a destructor that panics, the process aborts, as Rust does for any value. Objects that were
/// queued, or that a pool holds, are still destroyed.
///
/// ```
/// use releasepool::Ref;
/// let a = Ref::new(vec![1, 2, 3]);
/// let b = a.clone(); // retain
/// assert_eq!(Ref::strong_count(&a), 2);
/// drop(b); // release
/// assert_eq!(Ref::into_inner(a), Some(vec![1, 2, 3]));
/// ```
#[doc(alias = "Arc")]
#[repr(transparent)]
pub struct Ref<T: ?Sized + 'static> {
    ptr: NonNull<T>,
    /// Invariant in `T`: an object keeps its type info, and a subtype, even of a `'static` type,
    /// may have another destructor.
    invariant: PhantomData<*mut T>,
}

// SAFETY: a `Ref` on another thread gives out `&T` there (so `T: Sync`), and may drop or move out
// the `T` there (so `T: Send`).
unsafe impl<T: ?Sized + Send + Sync> Send for Ref<T> {}
// SAFETY: a shared `Ref` can be cloned and the clone sent, so the requirements are those of Send.
unsafe impl<T: ?Sized + Send + Sync> Sync for Ref<T> {}

impl<T: ?Sized> Ref<T> {
    /// Takes over a strong reference.
    ///
    /// # Safety
    /// `ptr` is the payload of a live object, with the provenance of its allocation, and the caller
    /// gives up one strong reference to it.
    #[inline]
    pub(crate) unsafe fn adopt(ptr: NonNull<T>) -> Self {
        Self {
            ptr,
            invariant: PhantomData,
        }
    }

    /// Returns the address of the value.
    #[inline]
    pub(crate) fn payload(this: &Self) -> NonNull<T> {
        this.ptr
    }

    /// Returns the thin address, which identifies the object whatever its type.
    #[inline]
    pub(crate) fn thin(this: &Self) -> Thin {
        this.ptr.cast()
    }

    /// Turns the handle into a pointer that stands for the reference: the caller must release it.
    #[inline]
    pub(crate) fn into_payload(this: Self) -> NonNull<T> {
        std::mem::ManuallyDrop::new(this).ptr
    }

    /// Returns the number of strong references, including those of pools. Other threads may change
    /// it at any time.
    ///
    /// For logs and tests. It orders nothing: at a count of 1 the other threads have released their
    /// references, but their accesses to the value need not happen before the caller's next one. So
    /// `unsafe` code that then changes the value has a data race; [`get_mut`](Self::get_mut) tests
    /// the counts and orders the accesses.
    pub fn strong_count(this: &Self) -> usize {
        // SAFETY: `this` keeps the object alive.
        unsafe { header(Self::thin(this)) }.count.strong()
    }

    /// Returns the number of [`Weak`] references. Other threads may change it at any time. Like
    /// [`strong_count`](Self::strong_count), this function orders nothing.
    pub fn weak_count(this: &Self) -> usize {
        // SAFETY: `this` keeps the object alive.
        unsafe { header(Self::thin(this)) }.count.weak()
    }

    /// Returns a weak reference, which does not keep the object alive.
    ///
    /// One read-modify-write. Aborts at more than 2³⁰ weak references.
    #[inline]
    #[must_use = "a weak reference does nothing unless it is kept"]
    pub fn downgrade(this: &Self) -> Weak<T> {
        let thin = Self::thin(this);
        // SAFETY: `this` keeps the object alive.
        unsafe { checked(thin, header(thin).count.downgrade()) };
        // SAFETY: `downgrade` counted the reference.
        unsafe { Weak::adopt(this.ptr) }
    }

    /// Returns whether both refer to the same object. Compares addresses only: two handles to one
    /// object through different traits are equal.
    #[inline]
    pub fn ptr_eq(a: &Self, b: &Self) -> bool {
        std::ptr::addr_eq(a.ptr.as_ptr(), b.ptr.as_ptr())
    }

    /// Returns the address of the value, which is valid as long as the object lives.
    #[inline]
    pub fn as_ptr(this: &Self) -> *const T {
        this.ptr.as_ptr()
    }

    /// Turns the reference into a pointer, for foreign code. The pointer stands for the reference:
    /// pass it to [`Ref::from_raw`] or [`Ref::decrement_strong_count`].
    #[inline]
    #[must_use = "the reference leaks unless the pointer is given back"]
    pub fn into_raw(this: Self) -> *const T {
        Self::into_payload(this).as_ptr()
    }

    /// Turns a pointer back into a reference.
    ///
    /// This is narrower than `Arc::from_raw`, which takes a pointer to another type of the same
    /// size and alignment: an object knows its destructor from its creation.
    ///
    /// ```
    /// use releasepool::Ref;
    /// let name = Ref::new(String::from("callback"));
    /// let user_data: *const String = Ref::into_raw(name); // to foreign code
    /// // SAFETY: `user_data` came from `into_raw`, and its reference is taken back once.
    /// let name = unsafe { Ref::from_raw(user_data) };
    /// assert_eq!(*name, "callback");
    /// ```
    ///
    /// # Safety
    /// `p` came from [`Ref::into_raw`] (of a `Ref<U>` where `U` and `T` differ at most by an
    /// unsizing), and stands for one strong reference, which this call takes over. If it is the
    /// last reference, the calling thread must be allowed to drop the value.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub unsafe fn from_raw(p: *const T) -> Self {
        raw_checks::raw_call(p.cast(), RawCall::FromRaw);
        // SAFETY: `into_raw` never returns null; the rest is the contract.
        unsafe { Self::adopt(NonNull::new_unchecked(p.cast_mut())) }
    }

    /// Adds a strong reference: *retain* for foreign code.
    ///
    /// # Safety
    /// `p` came from [`Ref::into_raw`], as for [`Ref::from_raw`], and the object is alive during
    /// the call. The pointer keeps the reference that it stands for.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub unsafe fn increment_strong_count(p: *const T) {
        raw_checks::raw_call(p.cast(), RawCall::Increment);
        // SAFETY: by the contract, the object is alive during the call. The handle made here is
        // forgotten, so the pointer keeps its reference.
        let this = unsafe { Self::adopt(NonNull::new_unchecked(p.cast_mut())) };
        std::mem::forget(this.clone());
        std::mem::forget(this);
    }

    /// Gives up one strong reference: *release* for foreign code.
    ///
    /// In debug builds, and with the feature `checks`, one release too many aborts with the
    /// object's type and address, as long as its memory has not been freed.
    ///
    /// # Safety
    /// The contract of [`Ref::from_raw`].
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub unsafe fn decrement_strong_count(p: *const T) {
        raw_checks::raw_call(p.cast(), RawCall::Decrement);
        // SAFETY: the contract of this function is that of `from_raw`.
        drop(unsafe { Self::adopt(NonNull::new_unchecked(p.cast_mut())) });
    }
}

/// *Retain*: returns another reference to the same object. One relaxed read-modify-write; aborts at
/// more than 2³¹ references.
impl<T: ?Sized> Clone for Ref<T> {
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn clone(&self) -> Self {
        let thin = Self::thin(self);
        ledger::retained(thin);
        // SAFETY: `self` keeps the object alive.
        unsafe { checked(thin, header(thin).count.retain()) };
        // SAFETY: `retain` counted the reference.
        unsafe { Self::adopt(self.ptr) }
    }
}

/// *Release*. The last release destroys the value on this thread, at once; but inside destructors,
/// it may queue the object, which the outermost release or a drain then destroys later (see
/// [`settle`](crate::object::settle)).
impl<T: ?Sized> Drop for Ref<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `self` owns a strong reference, which ends here.
        unsafe { destroy::release(Self::thin(self)) }
    }
}

impl<T: ?Sized> std::ops::Deref for Ref<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `self` keeps the object alive.
        unsafe {
            note_read(Self::thin(self));
            self.ptr.as_ref()
        }
    }
}

coercible!(Ref, |this, coerce| {
    // SAFETY: by the contract, `coerce` keeps the address; the reference to the object moves.
    unsafe { Ref::adopt(coerced(Ref::into_payload(this), coerce)) }
});

impl<T: ?Sized> sealed::Sealed for Pin<Ref<T>> {}

impl<T: ?Sized> Coercible for Pin<Ref<T>> {
    type Target = T;
    type Of<U: ?Sized + 'static> = Pin<Ref<U>>;

    unsafe fn coerce<U: ?Sized + 'static>(
        self,
        coerce: impl FnOnce(*mut T) -> *mut U,
    ) -> Pin<Ref<U>> {
        // SAFETY: the reference does not leave this function unpinned; the rest is the contract.
        // The object stays the same, so the pinned value does not move.
        unsafe { Pin::new_unchecked(Pin::into_inner_unchecked(self).coerce(coerce)) }
    }
}
