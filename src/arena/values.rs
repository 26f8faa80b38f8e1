//! Making values in an arena.

use super::entry_label::Label;
use super::reservation::PartialSlice;
use super::stack_allocator::StackAllocator;
use super::stack_box::StackBox;
use crate::block::error::AllocError;
use std::alloc::Layout;
use std::ptr::NonNull;

impl StackAllocator {
    /// Moves a value into the arena.
    ///
    /// # Panics
    /// Aborts if memory is exhausted.
    // Always inlined: otherwise the value would be passed in memory, which costs more than
    // everything else here.
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
        let memory = self.reserve(Layout::new::<T>(), Label::of::<T>())?;
        let at = memory.into_value().cast::<T>();
        // SAFETY: just reserved for a `T`; the box owns the memory and the value from here on.
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
    /// let arena = releasepool::StackAllocator::with_capacity(1024);
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
        let mut slice = PartialSlice::new(self.reserve(layout, Label::of::<[T]>())?);
        for i in 0..n {
            // SAFETY: the layout has room for `n` values, of which `i` were pushed.
            unsafe { slice.push(f(i)) };
        }
        // SAFETY: just reserved for the `n` values; the box owns the memory and the values from
        // here on.
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
    /// let arena = releasepool::StackAllocator::with_capacity(1024);
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
}
