//! `StackBox`: a value in an arena.

use super::dump::Label;
use super::entry::Entry;
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
/// Its functions are called as `Box`'s are, `StackBox::leak(value)`, so that they do not
/// hide the value's own. [`unsize!`](crate::unsize) makes a `StackBox<dyn Trait>` of one
/// whose value is `'static`.
///
/// # When not to use it
/// As the field of something that lives on: see [`StackAllocator`].
///
/// # Threads
/// It stays on the thread of its arena. Others may have a `&StackBox<T>`, in a
/// `std::thread::scope`, say, if `T` is `Sync`.
///
/// # Pinning
/// There is no `Box::pin` for it. What is pinned may not have its memory used again before
/// its destructor has run, and a box that is forgotten would: by the arena's next
/// [`reset`](StackAllocator::reset). If `T` is `Unpin`, `Pin::new` does it.
///
/// # Cost
/// Two words; three for slices and trait objects. Dropping the newest one of its arena: a few
/// instructions, beside the value's own destructor. Another one: a write, and the arena goes
/// over it later.
///
/// # Panics
/// If the value's destructor panics, the memory is given back, and nothing else has changed.
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
    /// It owns one, so it is covariant in `T`, as `Box` is.
    value: PhantomData<T>,
}

// SAFETY: a shared box gives a `&T` and nothing else; what touches the arena takes the box
// itself.
unsafe impl<T: ?Sized + Sync> Sync for StackBox<'_, T> {}
impl<T: ?Sized> Unpin for StackBox<'_, T> {}
impl<T: ?Sized + UnwindSafe> UnwindSafe for StackBox<'_, T> {}
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for StackBox<'_, T> {}

impl<'s, T: ?Sized> StackBox<'s, T> {
    /// # Safety
    /// `ptr` is where `arena` has reserved memory for this value, if it has a size, as
    /// the pointer that it gave. The value is there, and nobody else has it.
    #[inline(always)]
    pub(super) unsafe fn adopt(arena: &'s StackAllocator, ptr: NonNull<T>) -> Self {
        let value = PhantomData;
        Self { ptr, arena, value }
    }

    /// The value is the caller's.
    #[inline(always)]
    pub(super) fn into_ptr(this: Self) -> NonNull<T> {
        ManuallyDrop::new(this).ptr
    }

    /// # Safety
    /// The value is not used any more, and the box goes with this.
    #[inline(always)]
    unsafe fn entry(&self) -> Entry<'s> {
        // SAFETY: reserved for this value, of this size; the caller's promise.
        unsafe { Entry::new(self.arena, self.ptr.cast(), size_of_val(&**self)) }
    }

    /// Gives up the box for a reference. The value is never dropped, and its memory is held
    /// until [`reset`](StackAllocator::reset).
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
    #[must_use = "what is leaked without being used might not have been made"]
    pub fn leak(this: Self) -> &'s mut T
    where
        T: 's,
    {
        // SAFETY: the value is the box's, which is gone; its memory stays for 's at least,
        // as `reset` wants a mutable borrow.
        unsafe { Self::into_ptr(this).as_mut() }
    }

    /// Gives the value a name in the arena's [dump](StackAllocator::dump), instead of its
    /// type. In builds with debug assertions and with the feature `checks`; in others nothing
    /// keeps it.
    #[inline]
    pub fn named(this: Self, name: &'static str) -> Self {
        if size_of_val(&*this) != 0 {
            // SAFETY: reserved for this value.
            unsafe { this.arena.set_label(this.ptr.cast(), Label::new(name)) };
        }
        this
    }

    /// The value's address.
    #[inline]
    pub fn as_ptr(this: &Self) -> *const T {
        this.ptr.as_ptr()
    }
}

impl<T> StackBox<'_, T> {
    /// Moves the value out, and gives its memory back.
    #[inline]
    pub fn into_inner(this: Self) -> T {
        let this = ManuallyDrop::new(this);
        // SAFETY: the box is gone.
        let _entry = unsafe { this.entry() };
        // SAFETY: the value is the box's, and moves.
        unsafe { this.ptr.read() }
    }
}

impl<T: ?Sized> Drop for StackBox<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the box is gone. Dropped last, also if the destructor panics; until then the
        // memory is in use, whatever the destructor does with the arena.
        let _entry = unsafe { self.entry() };
        // SAFETY: the value is the box's.
        unsafe { self.ptr.drop_in_place() };
    }
}

impl<T: ?Sized> Deref for StackBox<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value is there as long as the box is.
        unsafe { self.ptr.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for StackBox<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and nobody else has it.
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
        // SAFETY: by the caller's promise the same value, which has the same size.
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
