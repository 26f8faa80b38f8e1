//! The ways to make a `Ref` to a slice.

use super::header::{free, note_write};
use super::object_memory::{
    BlockSource, Global, Source, allocate_slice, allocate_slice_in, replace_slice,
};
use super::payload::Slice;
use super::strong::Ref;
use crate::memory::block::block_allocator::BlockAllocator;
use crate::memory::block::shared::AllocError;
use crate::thread::current::tally_destroyed;
use std::array;
use std::ops::ControlFlow;
use std::ptr::{self, NonNull};

impl<T: Clone> Ref<[T]> {
    /// Makes a slice with clones of the values.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn clones_in<S: Source>(values: &[T], source: S) -> Result<Self, S::Error> {
        let slice = allocate_slice_in::<T, [T], S>(values.len(), source)?;
        // SAFETY: a new slice without its values.
        Ok(unsafe { PartialSlice::new(slice) }.fill(values))
    }

    /// Makes a slice with clones of the values, in a block if it fits one.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(crate) fn slice_from(values: &[T], source: BlockSource<'_>) -> Self {
        Self::clones_in(values, source).unwrap_or_else(|error| error.fail())
    }

    /// Makes a slice with clones of the values, with memory from `blocks`: [`Ref::new_in`] for
    /// slices.
    ///
    /// An object for a slice has 24 bytes before the values, or more if they are aligned to more
    /// than 8; if the object is larger than 64,768 bytes, or aligned to more than 64, its memory is
    /// from the global allocator.
    ///
    /// # Panics
    /// If the hard cap is reached; no value is then cloned. If cloning panics; the memory is then
    /// freed. Aborts when memory is exhausted.
    ///
    /// ```
    /// use releasepool::memory::BlockAllocator;
    /// use releasepool::Ref;
    /// let blocks = BlockAllocator::new();
    /// let words = Ref::new_slice_in(&["a", "b"], &blocks);
    /// assert_eq!((&*words, blocks.stats().live_blocks), (&["a", "b"][..], 1));
    /// ```
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_slice_in(values: &[T], blocks: &BlockAllocator) -> Self {
        Self::slice_from(values, BlockSource::Own(blocks))
    }

    /// Makes a slice like [`Ref::new_slice_in`], but returns an error if there is no memory.
    ///
    /// # Errors
    /// Those of [`Ref::try_new_in`].
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn try_new_slice_in(values: &[T], blocks: &BlockAllocator) -> Result<Self, AllocError> {
        Self::clones_in(values, BlockSource::Own(blocks))
    }
}

/// A slice that is being filled. Dropping it drops the values written so far, and frees the memory.
struct PartialSlice<T: 'static> {
    slice: NonNull<[T]>,
    filled: usize,
}

impl<T> PartialSlice<T> {
    /// The number of values before the first address that is a multiple of 16, in memory from the
    /// global allocator; 0 if no value begins at this address, or more than 2 come before it.
    const UNALIGNED: usize = {
        let offset = Slice::<T>::OFFSET;
        let bytes = offset.next_multiple_of(16) - offset;
        match size_of::<T>() {
            size @ (4 | 8) => bytes / size,
            _ => 0,
        }
    };

    /// Begins to fill a slice.
    ///
    /// # Safety
    /// `slice` is a new object without its values, which the caller gives up.
    unsafe fn new(slice: NonNull<[T]>) -> Self {
        Self { slice, filled: 0 }
    }

    /// Writes the next value.
    ///
    /// # Safety
    /// The slice is not full.
    #[inline(always)]
    unsafe fn push(&mut self, value: T) {
        // SAFETY: by the contract, the place is within the slice, which no other thread has seen.
        unsafe {
            note_write(self.slice.cast());
            self.slice.cast::<T>().add(self.filled).write(value);
        }
        self.filled += 1;
    }

    /// Fills the slice with clones of `values`.
    fn fill(mut self, values: &[T]) -> Ref<[T]>
    where
        T: Clone,
    {
        assert_eq!(values.len(), self.slice.len());
        for value in values {
            // Clones the value as an array of one: std copies the bytes of an array if its values
            // are `Copy`, whereas the clone of a struct or enum is written field by field. So this
            // loop compiles to `memcpy` for all types that `Arc::from` copies.
            let value = array::from_ref(value).clone();
            // SAFETY: the place is within the slice, which has as many values as `values`, and
            // which no other thread has seen; an array of one has the layout of its value.
            unsafe {
                note_write(self.slice.cast());
                self.slice.cast::<[T; 1]>().add(self.filled).write(value);
            }
            self.filled += 1;
        }
        self.finish()
    }

    /// Writes the values of `iter` until the slice is full. If `iter` then has another value,
    /// returns that value in a vector; otherwise the vector is empty.
    fn fill_from(&mut self, iter: &mut impl Iterator<Item = T>) -> Vec<T> {
        // Not an `Option`: compilers would vectorize the loop less often.
        let mut surplus = Vec::new();
        // Writes the first values one by one, so that a vectorized loop stores at aligned
        // addresses, which saves up to a third of its time.
        if self.slice.len() > 16 {
            for _ in 0..Self::UNALIGNED {
                let Some(value) = iter.next() else {
                    return surplus;
                };
                // SAFETY: `UNALIGNED` is at most 2, and there is room for more than 16 values.
                unsafe { self.push(value) };
            }
        }
        let _ = iter.try_for_each(|value| {
            // Only this test keeps the writes in bounds: the iterator is safe code, which may claim
            // a wrong length.
            if self.filled == self.slice.len() {
                keep(&mut surplus, value);
                return ControlFlow::Break(());
            }
            // SAFETY: the slice is not full, by the condition above.
            unsafe { self.push(value) };
            ControlFlow::Continue(())
        });
        surplus
    }

    /// Moves the values of this slice, and then those of `more`, to a new slice, which replaces
    /// this one.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn followed_by(self, mut more: Vec<T>) -> Ref<[T]> {
        let slice = replace_slice::<T>(self.filled + more.len());
        let old = std::mem::ManuallyDrop::new(self);
        // SAFETY: the new slice has room for all these values, which move: the old slice is freed
        // without its values, and the vector forgets the values that it had. No handle to the old
        // slice was made.
        unsafe {
            note_write(slice.cast());
            let to = slice.cast::<T>().as_ptr();
            ptr::copy_nonoverlapping(old.slice.cast().as_ptr(), to, old.filled);
            ptr::copy_nonoverlapping(more.as_ptr(), to.add(old.filled), more.len());
            more.set_len(0);
            free(old.slice.cast());
        }
        // SAFETY: a new object with its values; the new handle owns the object's one reference.
        unsafe { Ref::adopt(slice) }
    }

    fn finish(self) -> Ref<[T]> {
        assert_eq!(self.filled, self.slice.len());
        let slice = std::mem::ManuallyDrop::new(self).slice;
        // SAFETY: a new object with all its values, as asserted, and one reference.
        unsafe { Ref::adopt(slice) }
    }
}

impl<T> Drop for PartialSlice<T> {
    fn drop(&mut self) {
        let filled = ptr::slice_from_raw_parts_mut(self.slice.cast::<T>().as_ptr(), self.filled);
        // Only a panic drops a `PartialSlice`. If a destructor panics, too, the process aborts.
        // SAFETY: the first `filled` values have been written, and no handle was made.
        unsafe {
            note_write(self.slice.cast());
            ptr::drop_in_place(filled);
            free(self.slice.cast());
        }
        tally_destroyed(1);
    }
}

/// Makes a slice with a bitwise copy of `values`, or the text of the type `ReportedAs` with these
/// bytes.
///
/// # Safety
/// The caller forgets the values, or they are `Copy`. The caller makes a handle of the right type.
#[inline]
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(super) unsafe fn copied<T, ReportedAs: ?Sized, S: Source>(
    values: &[T],
    source: S,
) -> Result<NonNull<[T]>, S::Error> {
    let slice = allocate_slice_in::<T, ReportedAs, S>(values.len(), source)?;
    // SAFETY: the slice was just allocated, with room for that many values.
    unsafe {
        note_write(slice.cast());
        ptr::copy_nonoverlapping(values.as_ptr(), slice.cast().as_ptr(), values.len());
    }
    Ok(slice)
}

impl<T> From<Vec<T>> for Ref<[T]> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(mut values: Vec<T>) -> Self {
        // SAFETY: the vector forgets the values in the next statement.
        let Ok(slice) = unsafe { copied::<T, [T], _>(&values, Global) };
        // SAFETY: the values have moved; the vector only frees its memory.
        unsafe { values.set_len(0) };
        // SAFETY: a new object with its values; the new handle owns the object's one reference.
        unsafe { Self::adopt(slice) }
    }
}

impl<T, const N: usize> From<[T; N]> for Ref<[T]> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(values: [T; N]) -> Self {
        let values = std::mem::ManuallyDrop::new(values);
        // SAFETY: `ManuallyDrop` forgets the values.
        let Ok(slice) = unsafe { copied::<T, [T], _>(&values[..], Global) };
        // SAFETY: a new object with its values; the new handle owns the object's one reference.
        unsafe { Self::adopt(slice) }
    }
}

impl<T: Clone> From<&[T]> for Ref<[T]> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(values: &[T]) -> Self {
        let Ok(slice) = Self::clones_in(values, Global);
        slice
    }
}

impl<T: Clone> From<&mut [T]> for Ref<[T]> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(values: &mut [T]) -> Self {
        (&*values).into()
    }
}

/// Collects the values into a new slice. If the iterator's [`size_hint`](Iterator::size_hint) is
/// exact, they are written directly into the object; otherwise they are collected into a vector,
/// and moved.
impl<T> FromIterator<T> for Ref<[T]> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        let iter = iter.into_iter();
        match iter.size_hint() {
            (len, Some(most)) if len == most => collected(iter, len),
            _ => iter.collect::<Vec<T>>().into(),
        }
    }
}

/// Collects the values of an iterator that claims to have `len` values.
#[cfg_attr(feature = "leak-detection", track_caller)]
fn collected<T>(mut iter: impl Iterator<Item = T>, len: usize) -> Ref<[T]> {
    let slice = allocate_slice::<T>(len);
    // SAFETY: a new slice without its values.
    let mut slice = unsafe { PartialSlice::new(slice) };
    let surplus = slice.fill_from(&mut iter);
    if surplus.is_empty() && slice.filled == len {
        return slice.finish();
    }
    miscounted(slice, surplus, iter)
}

/// Collects the values of an iterator that has fewer values than it has claimed, or more; `surplus`
/// has the first value too many, if there is one.
#[cold]
#[inline(never)]
#[cfg_attr(feature = "leak-detection", track_caller)]
fn miscounted<T>(
    slice: PartialSlice<T>,
    mut surplus: Vec<T>,
    rest: impl Iterator<Item = T>,
) -> Ref<[T]> {
    if !surplus.is_empty() {
        surplus.extend(rest);
    }
    slice.followed_by(surplus)
}

/// Adds a value to a vector. Out of line, to keep this out of the caller's loop.
#[cold]
#[inline(never)]
fn keep<T>(values: &mut Vec<T>, value: T) {
    values.push(value);
}

/// Views a slice as an array, if the length fits; the object stays the same.
impl<T, const N: usize> TryFrom<Ref<[T]>> for Ref<[T; N]> {
    type Error = Ref<[T]>;

    fn try_from(value: Ref<[T]>) -> Result<Self, Ref<[T]>> {
        if value.len() != N {
            return Err(value);
        }
        // SAFETY: the same object and reference; a slice of `N` values has the layout of an array
        // of `N`.
        Ok(unsafe { Self::adopt(Ref::into_payload(value).cast()) })
    }
}
