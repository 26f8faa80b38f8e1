//! `PoolRef`: what a pool lends.

use crate::object::count::Misuse;
use crate::object::header::{Thin, checked, header, note_read};
use crate::object::strong::Ref;
use crate::object::weak::Weak;
use crate::unsizing::{Coercible, coerced, sealed};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

/// A reference to an object that a pool keeps alive: uncounted, free to copy,
/// valid until the pool is drained.
///
/// It borrows the pool, so the compiler sees to it that there is none left when
/// the pool is drained or dropped. To keep the object for longer, [`retain`] it.
///
/// It may go to other threads if the value is `Send` and `Sync`, as a `Ref` may:
/// within `std::thread::scope`, say. Using one object from many threads this way
/// costs nothing, where cloning a `Ref` contends.
///
/// [`retain`]: PoolRef::retain
///
/// ```
/// use releasepool::{AutoreleasePool, PoolRef};
/// let mut pool = AutoreleasePool::new();
/// let greeting = pool.create(String::from("hello"));
/// let kept = PoolRef::retain(greeting);
/// assert_eq!(greeting.len(), 5);
/// assert_eq!(pool.drain(), 1);
/// assert_eq!(*kept, "hello");
/// ```
#[repr(transparent)]
pub struct PoolRef<'pool, T: ?Sized + 'static> {
    ptr: NonNull<T>,
    /// Covariant in `'pool`, invariant in `T`: as for `Ref`.
    pool: PhantomData<(&'pool (), *mut T)>,
}

// SAFETY: it can be retained, so as for `Ref`. `T: Sync` alone would let another
// thread's `retain` become the last reference to a value that may not go there.
unsafe impl<T: ?Sized + Send + Sync> Send for PoolRef<'_, T> {}
// SAFETY: it is `Copy`, so as for Send.
unsafe impl<T: ?Sized + Send + Sync> Sync for PoolRef<'_, T> {}

impl<'pool, T: ?Sized> PoolRef<'pool, T> {
    /// # Safety
    /// Something that lives for `'pool` holds a strong reference to the object.
    #[inline]
    pub(crate) unsafe fn lend(ptr: NonNull<T>) -> Self {
        Self {
            ptr,
            pool: PhantomData,
        }
    }

    fn thin(self) -> Thin {
        self.ptr.cast()
    }

    /// The value, for as long as the pool is not drained.
    #[inline]
    pub fn get(this: Self) -> &'pool T {
        // SAFETY: alive for `'pool`.
        unsafe {
            note_read(this.thin());
            this.ptr.as_ref()
        }
    }

    /// A counted reference, which outlives the pool: *retain*. One relaxed
    /// read-modify-write; aborts beyond 2³¹.
    #[inline]
    #[must_use = "the new reference is released at once if it is not kept"]
    pub fn retain(this: Self) -> Ref<T> {
        let thin = this.thin();
        // SAFETY: alive for `'pool`.
        let counted: Result<(), Misuse> = unsafe { header(thin) }.count.retain();
        // SAFETY: as above.
        unsafe { checked(thin, counted) };
        // SAFETY: the reference just counted.
        unsafe { Ref::adopt(this.ptr) }
    }

    /// A reference that does not keep the object alive. One read-modify-write;
    /// aborts beyond 2³⁰.
    #[inline]
    #[must_use = "a weak reference does nothing unless it is kept"]
    pub fn downgrade(this: Self) -> Weak<T> {
        let thin = this.thin();
        // SAFETY: alive for `'pool`.
        unsafe { checked(thin, header(thin).count.downgrade()) };
        // SAFETY: the reference just counted.
        unsafe { Weak::adopt(this.ptr) }
    }

    /// The value's address.
    #[inline]
    pub fn as_ptr(this: Self) -> *const T {
        this.ptr.as_ptr()
    }

    /// Whether both name the same object.
    #[inline]
    pub fn ptr_eq(a: Self, b: Self) -> bool {
        std::ptr::addr_eq(a.ptr.as_ptr(), b.ptr.as_ptr())
    }
}

impl<T: ?Sized> Clone for PoolRef<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for PoolRef<'_, T> {}
impl<T: ?Sized> Unpin for PoolRef<'_, T> {}
impl<T: ?Sized + RefUnwindSafe> UnwindSafe for PoolRef<'_, T> {}
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for PoolRef<'_, T> {}

impl<T: ?Sized> Deref for PoolRef<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        Self::get(*self)
    }
}

impl<T: ?Sized> AsRef<T> for PoolRef<'_, T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for PoolRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for PoolRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for PoolRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&Self::as_ptr(*self), f)
    }
}

impl<T: ?Sized> sealed::Sealed for PoolRef<'_, T> {}

impl<'pool, T: ?Sized> Coercible for PoolRef<'pool, T> {
    type Target = T;
    type Of<U: ?Sized + 'static> = PoolRef<'pool, U>;

    unsafe fn coerce<U: ?Sized + 'static>(
        self,
        coerce: impl FnOnce(*mut T) -> *mut U,
    ) -> PoolRef<'pool, U> {
        // SAFETY: by the caller's promise the same object.
        unsafe { PoolRef::lend(coerced(self.ptr, coerce)) }
    }
}
