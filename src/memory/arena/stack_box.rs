//! `StackBox`: a value in an arena, and the ways to make one.

use super::stack_allocator::StackAllocator;
use crate::memory::block::shared::AllocError;
use crate::unsizing::{coerced, coercible};
use std::alloc::Layout;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

/// A value in a [`StackAllocator`]: owned, and dropped like a `Box`, in any order.
///
/// Its functions are called like those of `Box`, as in `StackBox::leak(value)`, so that they do not
/// hide methods of the value. [`unsize!`](crate::unsize) turns a box of a `'static` value into a
/// `StackBox<dyn Trait>`.
///
/// # When not to use it
/// As a field of something that outlives the function or frame: see [`StackAllocator`]. To pin a
/// value: an arena uses the memory of a forgotten box again after its next
/// [`reset`](StackAllocator::reset), so there is no `StackBox::pin`; if `T` is `Unpin`, `Pin::new`
/// is enough.
///
/// # Threads
/// A `StackBox` stays on the thread of its arena. Other threads may have a `&StackBox<T>` if `T` is
/// `Sync`: in a `std::thread::scope`, say.
///
/// # Cost
/// Two words; three for slices and trait objects. Dropping the newest box takes a few instructions;
/// dropping another one marks a hole, which the arena skips later. If the value's destructor
/// panics, the memory is still freed.
///
/// ```
/// use releasepool::{memory::{StackAllocator, StackBox}, unsize};
/// use std::fmt::Display;
/// let arena = StackAllocator::with_capacity(1024);
/// let list: Vec<i32> = StackBox::into_inner(arena.alloc(vec![3, 1, 2]));
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
    /// `ptr` points to a value that nothing else owns. If the value's size is not 0, `ptr` is the
    /// pointer that `reserve` of `arena` returned for a layout of this size.
    #[inline(always)]
    pub(super) unsafe fn adopt(arena: &'s StackAllocator, ptr: NonNull<T>) -> Self {
        let value = PhantomData;
        Self { ptr, arena, value }
    }

    /// Leaves the value and its memory to the caller.
    #[inline(always)]
    fn into_ptr(this: Self) -> NonNull<T> {
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
    /// use releasepool::memory::{StackAllocator, StackBox};
    /// let mut arena = StackAllocator::with_capacity(1024);
    /// let n: &mut i32 = StackBox::leak(arena.alloc(7));
    /// *n += 1;
    /// assert!(*n == 8 && arena.used() > 0);
    /// arena.reset();
    /// assert_eq!(arena.used(), 0);
    /// ```
    #[inline]
    #[must_use = "a leaked value that is not used need not have been made"]
    pub fn leak(this: Self) -> &'s mut T
    where
        T: 's,
    {
        // SAFETY: the box owned the value, and is gone. The value's memory is used again only after
        // a reset, or freed with the arena (invariant 2 of `arena`). The borrow of the arena for 's
        // forbids both until 's ends.
        unsafe { Self::into_ptr(this).as_mut() }
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
        // SAFETY: nothing uses the box any more; `_memory` is dropped after the value has moved.
        let _memory = unsafe { this.memory() };
        // SAFETY: the box owned the value, which moves to the caller.
        unsafe { this.ptr.read() }
    }
}

impl<T: ?Sized> Drop for StackBox<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the box is being dropped. `_memory` is dropped after the value, also if the
        // value's destructor panics. Until then the memory stays reserved, whatever the destructor
        // does with the arena.
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
        // SAFETY: the box owns the value, which stays in its memory as long as the box exists; the
        // box is borrowed mutably, so nobody else has a reference.
        unsafe { self.ptr.as_mut() }
    }
}

coercible!(StackBox<'s>, |this, coerce| {
    let arena = this.arena;
    // SAFETY: an unsizing coercion changes neither the address nor the size of the value, which
    // `into_ptr` has left to this function.
    unsafe { StackBox::adopt(arena, coerced(StackBox::into_ptr(this), coerce)) }
});

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

impl<'a, T: ?Sized + PartialEq> PartialEq<StackBox<'a, T>> for StackBox<'_, T> {
    fn eq(&self, other: &StackBox<'a, T>) -> bool {
        **self == **other
    }
}

// Making values in an arena.

impl StackAllocator {
    /// Moves a value into the arena.
    ///
    /// # Panics
    /// Aborts if memory is exhausted.
    // Always inlined: otherwise the value would be passed in memory, which costs more than the rest
    // of this function.
    #[inline(always)]
    pub fn alloc<T>(&self, value: T) -> StackBox<'_, T> {
        self.try_alloc(value).unwrap_or_else(|error| error.fail())
    }

    /// Moves a value into the arena, or drops it and returns an error.
    ///
    /// # Errors
    /// If the value does not fit, and the heap has no memory.
    #[inline(always)]
    pub fn try_alloc<T>(&self, value: T) -> Result<StackBox<'_, T>, AllocError> {
        let memory = self.reserve(Layout::new::<T>())?;
        let at = memory.into_value().cast::<T>();
        // SAFETY: `at` was reserved for a `T`; from here on the box owns the memory and the value.
        Ok(unsafe {
            at.write(value);
            StackBox::adopt(self, at)
        })
    }

    /// Makes a slice of the values that `f` returns for 0, 1, and so on.
    ///
    /// The slice's memory is reserved before the first call of `f`; `f` may use the arena.
    ///
    /// # Panics
    /// If `f` panics; the values that it has returned before are then dropped. If the size is more
    /// than the address space holds. Aborts if memory is exhausted.
    ///
    /// ```
    /// let arena = releasepool::memory::StackAllocator::with_capacity(1024);
    /// let mut names = arena.alloc_slice(3, |i| arena.alloc(format!("player {i}")));
    /// names.swap(0, 2);
    /// assert_eq!(**names[0], *"player 2");
    /// ```
    #[inline]
    pub fn alloc_slice<T>(&self, n: usize, f: impl FnMut(usize) -> T) -> StackBox<'_, [T]> {
        self.try_alloc_slice(n, f)
            .unwrap_or_else(|error| error.fail())
    }

    /// Makes a slice of the values that `f` returns for 0, 1, and so on, or returns an error.
    ///
    /// # Errors
    /// If the size is more than the address space holds, or the slice does not fit, and the heap
    /// has no memory. `f` is then not called.
    #[inline]
    pub fn try_alloc_slice<T>(
        &self,
        n: usize,
        mut f: impl FnMut(usize) -> T,
    ) -> Result<StackBox<'_, [T]>, AllocError> {
        let Ok(layout) = Layout::array::<T>(n) else {
            let (count, layout) = (n, Layout::new::<T>());
            return Err(AllocError::TooLarge { count, layout });
        };
        let mut slice = PartialSlice::new(self.reserve(layout)?);
        for i in 0..n {
            // SAFETY: the layout has room for `n` values, of which `i` were pushed.
            unsafe { slice.push(f(i)) };
        }
        // SAFETY: the memory was reserved for the `n` values; from here on the box owns both.
        Ok(unsafe { StackBox::adopt(self, slice.finish()) })
    }

    /// Copies a slice into the arena.
    ///
    /// # Panics
    /// Aborts if memory is exhausted.
    pub fn alloc_slice_copy<T: Copy>(&self, values: &[T]) -> StackBox<'_, [T]> {
        self.alloc_slice(values.len(), |i| values[i])
    }

    /// Copies a string into the arena.
    ///
    /// # Panics
    /// Aborts if memory is exhausted.
    ///
    /// ```
    /// let arena = releasepool::memory::StackAllocator::with_capacity(1024);
    /// assert_eq!(*arena.alloc_str("contacts"), *"contacts");
    /// ```
    pub fn alloc_str(&self, text: &str) -> StackBox<'_, str> {
        let bytes = StackBox::into_ptr(self.alloc_slice_copy(text.as_bytes()));
        let text =
            NonNull::new(bytes.as_ptr() as *mut str).expect("a cast does not change the address");
        // SAFETY: `into_ptr` has consumed the box that owned the memory and the value; the bytes
        // are UTF-8, as they are a copy of a `str`.
        unsafe { StackBox::adopt(self, text) }
    }

    /// Reserves memory of this layout; for a size of 0, returns a dangling pointer's reservation.
    #[inline(always)]
    pub(super) fn reserve(&self, layout: Layout) -> Result<Reservation<'_>, AllocError> {
        let size = layout.size();
        let value = if size == 0 {
            dangling(layout)
        } else {
            self.reserve_bytes(layout)?
        };
        // SAFETY: the memory was just reserved, for this size, and no other code has the pointer.
        Ok(unsafe { Reservation::new(self, value, size) })
    }
}

// Memory that is reserved in an arena for a value.

/// Memory for a value in an arena. Dropping the reservation, also during a panic, frees the memory.
pub(super) struct Reservation<'s> {
    arena: &'s StackAllocator,
    value: NonNull<u8>,
    size: usize,
}

impl<'s> Reservation<'s> {
    /// Takes responsibility for memory that was reserved.
    ///
    /// # Safety
    /// If `size` is not 0, `value` is the pointer that `reserve_bytes` of this arena returned for a
    /// layout of this size, and no other code frees the memory.
    #[inline(always)]
    pub(super) unsafe fn new(arena: &'s StackAllocator, value: NonNull<u8>, size: usize) -> Self {
        Self { arena, value, size }
    }

    #[inline(always)]
    fn value(&self) -> NonNull<u8> {
        self.value
    }

    /// Leaves the memory to the caller.
    #[inline(always)]
    pub(super) fn into_value(self) -> NonNull<u8> {
        ManuallyDrop::new(self).value
    }
}

impl Drop for Reservation<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.size != 0 {
            // SAFETY: by the contract of `new` no other code frees the memory; its size is not 0,
            // so it is from `reserve_bytes`.
            unsafe { self.arena.free(self.value) };
        }
    }
}

/// Returns the pointer to a value of a layout of size 0.
#[inline(always)]
fn dangling(layout: Layout) -> NonNull<u8> {
    NonNull::new(std::ptr::without_provenance_mut(layout.align())).expect("alignments are not 0")
}

/// A slice that is being filled. Dropping it, before `finish`, drops the values written so far.
pub(super) struct PartialSlice<'s, T> {
    /// Freed after the values: fields are dropped after `drop`, even if a destructor panics.
    memory: Reservation<'s>,
    len: usize,
    values: PhantomData<T>,
}

impl<'s, T> PartialSlice<'s, T> {
    #[inline(always)]
    fn new(memory: Reservation<'s>) -> Self {
        Self {
            memory,
            len: 0,
            values: PhantomData,
        }
    }

    fn values(&self) -> NonNull<[T]> {
        NonNull::slice_from_raw_parts(self.memory.value().cast(), self.len)
    }

    /// Adds a value.
    ///
    /// # Safety
    /// The memory has room for one more `T`.
    #[inline(always)]
    unsafe fn push(&mut self, value: T) {
        // SAFETY: the place after the last value is within the memory, by the caller's promise.
        unsafe { self.memory.value().cast::<T>().add(self.len).write(value) };
        self.len += 1;
    }

    /// Leaves the memory, and the values in it, to the caller.
    #[inline(always)]
    fn finish(self) -> NonNull<[T]> {
        ManuallyDrop::new(self).values()
    }
}

impl<T> Drop for PartialSlice<'_, T> {
    fn drop(&mut self) {
        // SAFETY: `len` values were pushed, and `finish` has not handed them out.
        unsafe { self.values().drop_in_place() };
    }
}
