//! `StackBox`: a value in an arena.

use super::entry_label::Label;
use super::reservation::Reservation;
use super::stack_allocator::StackAllocator;
use crate::unsizing::{Coercible, coerced, sealed};
use std::borrow::{Borrow, BorrowMut};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

/// A value in a [`StackAllocator`]: owned, and dropped like a `Box`, in any order.
///
/// Its functions are called like those of `Box`, `StackBox::leak(value)`, so that they do not hide
/// methods of the value. [`unsize!`](crate::unsize) turns a box of a `'static` value into a
/// `StackBox<dyn Trait>`.
///
/// # When not to use it
/// As a field of something that outlives the function or frame: see [`StackAllocator`].
///
/// # Threads
/// A `StackBox` stays on the thread of its arena. Other threads may have a `&StackBox<T>` if `T` is
/// `Sync`: in a `std::thread::scope`, say.
///
/// # Pinning
/// A `StackBox` has no counterpart of `Box::pin`. The memory of a pinned value must not be used
/// again before the value's destructor has run, but the arena uses the memory of a forgotten box
/// again after its next [`reset`](StackAllocator::reset). If `T` is `Unpin`, `Pin::new` is enough.
///
/// # Cost
/// Two words; three for slices and trait objects. Dropping the newest box of an arena takes a few
/// instructions, beside the value's own destructor. Dropping another box marks its entry as a hole,
/// which the arena skips later.
///
/// # Panics
/// If the value's destructor panics; the memory is still freed.
///
/// ```
/// use releasepool::{StackAllocator, StackBox, unsize};
/// use std::fmt::Display;
/// let arena = StackAllocator::with_capacity(1024);
/// let mut list = arena.alloc(vec![3, 1, 2]);
/// list.sort();
/// assert_eq!(*list, [1, 2, 3]);
/// let list: Vec<i32> = StackBox::into_inner(list);
/// let shown: StackBox<dyn Display> = unsize!(arena.alloc(list.len()) => dyn Display);
/// assert_eq!(shown.to_string(), "3");
/// ```
pub struct StackBox<'s, T: ?Sized> {
    ptr: NonNull<T>,
    arena: &'s StackAllocator,
    /// The box owns a `T`, so it is covariant in `T`, as `Box` is.
    value: PhantomData<T>,
}

// SAFETY: a `&StackBox<T>` gives access to a `&T` only; functions that use the arena take the box
// by value.
unsafe impl<T: ?Sized + Sync> Sync for StackBox<'_, T> {}
impl<T: ?Sized> Unpin for StackBox<'_, T> {}
impl<T: ?Sized + UnwindSafe> UnwindSafe for StackBox<'_, T> {}
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for StackBox<'_, T> {}

impl<'s, T: ?Sized> StackBox<'s, T> {
    /// Creates a box that owns a value.
    ///
    /// # Safety
    /// `ptr` points to a value that nothing else owns. If the value's size is not 0, it is the
    /// pointer that `reserve` of `arena` returned for a layout of this size.
    #[inline(always)]
    pub(super) unsafe fn adopt(arena: &'s StackAllocator, ptr: NonNull<T>) -> Self {
        let value = PhantomData;
        Self { ptr, arena, value }
    }

    /// Leaves the value and its memory to the caller.
    #[inline(always)]
    pub(super) fn into_ptr(this: Self) -> NonNull<T> {
        ManuallyDrop::new(this).ptr
    }

    /// Returns the value's memory, which the caller frees by dropping the result.
    ///
    /// # Safety
    /// The caller gives up the box, and does not use the value once the result has been dropped.
    #[inline(always)]
    unsafe fn memory(&self) -> Reservation<'s> {
        // SAFETY: by the contract of `adopt`, the memory was reserved for this size; the caller
        // gives up the box, so nothing else frees the memory.
        unsafe { Reservation::new(self.arena, self.ptr.cast(), size_of_val(&**self)) }
    }

    /// Turns the box into a reference. The value is never dropped, and its memory is held until
    /// [`reset`](StackAllocator::reset).
    ///
    /// ```
    /// use releasepool::{StackAllocator, StackBox};
    /// let mut arena = StackAllocator::with_capacity(1024);
    /// let n: &mut i32 = StackBox::leak(arena.alloc(7));
    /// *n += 1;
    /// assert_eq!((*n, arena.is_empty()), (8, false));
    /// arena.reset();
    /// assert!(arena.is_empty());
    /// ```
    #[inline]
    #[must_use = "a leaked value that is not used need not have been made"]
    pub fn leak(this: Self) -> &'s mut T
    where
        T: 's,
    {
        // SAFETY: the box owned the value, and is gone. Its memory stays valid for 's at least: the
        // arena is borrowed for 's, and its memory is used again only by `reset`, which borrows it
        // mutably (invariant 3 of `arena`).
        unsafe { Self::into_ptr(this).as_mut() }
    }

    /// Gives the value a name in the arena's [dump](StackAllocator::dump), instead of its type.
    /// Only builds with debug assertions or the feature `checks` keep the name.
    #[inline]
    pub fn named(this: Self, name: &'static str) -> Self {
        if size_of_val(&*this) != 0 {
            // SAFETY: the size is not 0, so the value's memory was reserved (the contract of
            // `adopt`), and the box has not freed it.
            unsafe { this.arena.set_label(this.ptr.cast(), Label::new(name)) };
        }
        this
    }

    /// Returns the value's address.
    #[inline]
    pub fn as_ptr(this: &Self) -> *const T {
        this.ptr.as_ptr()
    }
}

impl<T> StackBox<'_, T> {
    /// Moves the value out, and frees its memory.
    #[inline]
    pub fn into_inner(this: Self) -> T {
        let this = ManuallyDrop::new(this);
        // SAFETY: nothing uses the box any more; the memory is dropped after the value has moved.
        let _memory = unsafe { this.memory() };
        // SAFETY: the box owned the value, which moves to the caller.
        unsafe { this.ptr.read() }
    }
}

impl<T: ?Sized> Drop for StackBox<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the box is being dropped. The memory is dropped after the value, also if the
        // destructor panics; until then it stays reserved, whatever the destructor does with the
        // arena.
        let _memory = unsafe { self.memory() };
        // SAFETY: the box owns the value, and nothing uses the box any more.
        unsafe { self.ptr.drop_in_place() };
    }
}

impl<T: ?Sized> Deref for StackBox<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the box owns the value, which stays in its memory as long as the box exists.
        unsafe { self.ptr.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for StackBox<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; the box is borrowed mutably, so nobody else has a reference.
        unsafe { self.ptr.as_mut() }
    }
}

impl<T: ?Sized> sealed::Sealed for StackBox<'_, T> {}

impl<'s, T: ?Sized + 'static> Coercible for StackBox<'s, T> {
    type Target = T;
    type Of<U: ?Sized + 'static> = StackBox<'s, U>;

    unsafe fn coerce<U: ?Sized + 'static>(
        self,
        coerce: impl FnOnce(*mut T) -> *mut U,
    ) -> StackBox<'s, U> {
        let arena = self.arena;
        // SAFETY: an unsizing coercion changes neither the address nor the size of the value, which
        // `into_ptr` has left to this function.
        unsafe { StackBox::adopt(arena, coerced(Self::into_ptr(self), coerce)) }
    }
}

impl<T: ?Sized> AsRef<T> for StackBox<'_, T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> AsMut<T> for StackBox<'_, T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for StackBox<'_, T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized> BorrowMut<T> for StackBox<'_, T> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for StackBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for StackBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for StackBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&Self::as_ptr(self), f)
    }
}

impl<'a, T: ?Sized + PartialEq> PartialEq<StackBox<'a, T>> for StackBox<'_, T> {
    fn eq(&self, other: &StackBox<'a, T>) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for StackBox<'_, T> {}

impl<'a, T: ?Sized + PartialOrd> PartialOrd<StackBox<'a, T>> for StackBox<'_, T> {
    fn partial_cmp(&self, other: &StackBox<'a, T>) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for StackBox<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for StackBox<'_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized + std::error::Error> std::error::Error for StackBox<'_, T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        (**self).source()
    }
}

impl<I: ?Sized + Iterator> Iterator for StackBox<'_, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        (**self).next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (**self).size_hint()
    }
}
