//! `PoolRef`: a reference that a pool has lent.

use crate::ledger;
use crate::object::count::Misuse;
use crate::object::header::{Thin, checked, header, note_read};
use crate::object::strong::Ref;
use crate::object::traits::traits_of_value;
use crate::object::weak::Weak;
use crate::unsizing::{coerced, coercible};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

/// A reference to an object that a pool keeps alive: uncounted, free to copy, valid until the pool
/// is drained.
///
/// A `PoolRef` borrows the pool, so the compiler ensures that none is left when the pool is drained
/// or dropped. To keep the object for longer, [`retain`] it.
///
/// Like a `Ref`, a `PoolRef` may be sent to other threads if the value is `Send` and `Sync`: within
/// `std::thread::scope`, for example. Using one object from many threads in this way costs nothing,
/// whereas clones of a `Ref` contend for the count.
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
    /// Covariant in `'pool`; invariant in `T`, as `Ref` is.
    pool: PhantomData<(&'pool (), *mut T)>,
}

// SAFETY: a `PoolRef` can be retained, so `Ref`'s bounds apply. With `T: Sync` alone, another
// thread could retain a `Ref`, drop it last, and so destroy a value that may not be sent to that
// thread.
unsafe impl<T: ?Sized + Send + Sync> Send for PoolRef<'_, T> {}
// SAFETY: a `PoolRef` is `Copy`, so sharing one allows no more than sending a copy.
unsafe impl<T: ?Sized + Send + Sync> Sync for PoolRef<'_, T> {}

impl<'pool, T: ?Sized> PoolRef<'pool, T> {
    /// Makes a lent reference.
    ///
    /// # Safety
    /// A strong reference to the object exists for all of `'pool`.
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

    /// Returns the value, borrowed until the pool is drained.
    #[inline]
    pub fn get(this: Self) -> &'pool T {
        // SAFETY: the object is alive for `'pool`, by the contract of `lend`.
        unsafe {
            note_read(this.thin());
            this.ptr.as_ref()
        }
    }

    /// Returns a counted reference, which may outlive the pool: *retain*. One relaxed
    /// read-modify-write; aborts beyond 2³¹ references.
    #[inline]
    #[must_use = "the new reference is released at once if it is not kept"]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn retain(this: Self) -> Ref<T> {
        let thin = this.thin();
        ledger::retained(thin);
        // SAFETY: the object is alive for `'pool`, by the contract of `lend`.
        let counted: Result<(), Misuse> = unsafe { header(thin) }.count.retain();
        // SAFETY: the object is alive for `'pool`, by the contract of `lend`.
        unsafe { checked(thin, counted) };
        // SAFETY: adopts the reference that was counted above.
        unsafe { Ref::adopt(this.ptr) }
    }

    /// Returns a weak reference, which does not keep the object alive. One read-modify-write;
    /// aborts beyond 2³⁰ weak references.
    #[inline]
    #[must_use = "a weak reference does nothing unless it is kept"]
    pub fn downgrade(this: Self) -> Weak<T> {
        let thin = this.thin();
        // SAFETY: the object is alive for `'pool`, by the contract of `lend`.
        unsafe { checked(thin, header(thin).count.downgrade()) };
        // SAFETY: adopts the weak reference that was counted above.
        unsafe { Weak::adopt(this.ptr) }
    }

    /// Returns the address of the value.
    #[inline]
    pub fn as_ptr(this: Self) -> *const T {
        this.ptr.as_ptr()
    }

    /// Returns whether both refer to the same object.
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
traits_of_value!(PoolRef<'_, T>);

impl<T: ?Sized> Deref for PoolRef<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        Self::get(*self)
    }
}

coercible!(PoolRef<'pool>, |this, coerce| {
    // SAFETY: `coerce` returns the same object by the caller's promise, and it is alive for
    // `'pool` by the contract of `lend`.
    unsafe { PoolRef::lend(coerced(this.ptr, coerce)) }
});
