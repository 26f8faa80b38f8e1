//! The ways to make a `Ref`.

use super::count::Count;
use super::header::{
    SliceInfo, Thin, TypeInfo, allocate_sized, allocate_slice, free, header, note_write,
    write_value,
};
use super::strong::Ref;
use super::weak::Weak;
use crate::ledger;
use crate::thread::current::tally_destroyed;
use std::borrow::Cow;
use std::pin::Pin;
use std::ptr::{self, NonNull};

impl<T> Ref<T> {
    /// Makes a new object with one reference.
    ///
    /// Aborts when memory is exhausted (`handle_alloc_error`).
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new(value: T) -> Self {
        let payload = allocate_sized::<T>(Count::unique());
        // SAFETY: just allocated for a `T`.
        unsafe { write_value(payload, value) };
        // SAFETY: a new object with its value, and the reference that its count says.
        unsafe { Self::adopt(payload) }
    }

    /// Makes a new object that has a reference to itself: `f` gets a weak reference to it, which
    /// can be upgraded once `f` has returned the value.
    ///
    /// # Panics
    /// If `f` does. The memory is then freed with the last weak reference.
    ///
    /// ```
    /// use releasepool::{Ref, Weak};
    /// struct Node { me: Weak<Node> }
    /// let node = Ref::new_cyclic(|me| Node { me: me.clone() });
    /// assert!(Ref::ptr_eq(&node, &node.me.upgrade().unwrap()));
    /// ```
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_cyclic<F: FnOnce(&Weak<T>) -> T>(f: F) -> Self {
        /// Takes the object out of the statistics again if `f` panics.
        struct Uninitialized<T: 'static>(Weak<T>);
        impl<T> Drop for Uninitialized<T> {
            fn drop(&mut self) {
                tally_destroyed(1);
                ledger::died(self.0.payload().cast());
            }
        }
        let payload = allocate_sized::<T>(Count::uninitialized());
        // SAFETY: the one weak reference that `Count::uninitialized` counts.
        let uninitialized = Uninitialized(unsafe { Weak::adopt(payload) });
        let value = f(&uninitialized.0);
        // SAFETY: allocated for a `T`; no thread reads it before `set_initialized`.
        unsafe { write_value(payload, value) };
        // The weak reference becomes the strong one.
        std::mem::forget(uninitialized);
        // SAFETY: the reference keeps the memory.
        unsafe { header(payload.cast::<u8>()) }
            .count
            .set_initialized();
        // SAFETY: `set_initialized` counted the strong reference, and the value is there.
        unsafe { Self::adopt(payload) }
    }

    /// Makes a new object, pinned: no object ever moves.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn pin(value: T) -> Pin<Self> {
        // SAFETY: the value stays in its allocation until it is dropped there. What moves it out
        // (`try_unwrap`, `into_inner`, `make_mut`) needs a `Ref` that is not pinned.
        unsafe { Pin::new_unchecked(Self::new(value)) }
    }
}

/// A slice that is being filled. Dropping it drops the values that are there, and frees the memory.
pub(super) struct PartialSlice<T: 'static> {
    slice: NonNull<[T]>,
    filled: usize,
}

impl<T> PartialSlice<T> {
    /// Begins to fill a slice.
    ///
    /// # Safety
    /// `slice` is a new object without its values, which the caller gives up.
    pub(super) unsafe fn new(slice: NonNull<[T]>) -> Self {
        Self { slice, filled: 0 }
    }

    /// Writes clones of `values`, with which the slice is full.
    pub(super) fn fill(mut self, values: &[T]) -> Ref<[T]>
    where
        T: Clone,
    {
        assert_eq!(values.len(), self.slice.len());
        for value in values {
            let value = value.clone();
            // SAFETY: within the slice, which has as many values as `values`, and which no other
            // thread has seen.
            unsafe { self.slice.cast::<T>().add(self.filled).write(value) };
            self.filled += 1;
        }
        // SAFETY: an object of which this is the only handle.
        unsafe { note_write(self.slice.cast()) };
        self.finish()
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
        struct Memory(Thin);
        impl Drop for Memory {
            fn drop(&mut self) {
                tally_destroyed(1);
                // SAFETY: no handle was made, and the values have been dropped.
                unsafe { free(self.0) };
            }
        }
        let _memory = Memory(self.slice.cast());
        let filled = ptr::slice_from_raw_parts_mut(self.slice.cast::<T>().as_ptr(), self.filled);
        // SAFETY: `fill` wrote these values, and no handle was made.
        unsafe {
            note_write(self.slice.cast());
            ptr::drop_in_place(filled);
        }
    }
}

/// Makes an object with this type info and a bitwise copy of `values`.
///
/// # Safety
/// The caller forgets the values, or they are `Copy`.
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(super) unsafe fn copied<T>(values: &[T], type_info: &'static TypeInfo) -> NonNull<[T]> {
    let slice = allocate_slice::<T>(values.len(), type_info);
    // SAFETY: just allocated, with room for that many values.
    unsafe {
        note_write(slice.cast());
        ptr::copy_nonoverlapping(values.as_ptr(), slice.cast().as_ptr(), values.len());
    }
    slice
}

impl<T> From<T> for Ref<T> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> From<Vec<T>> for Ref<[T]> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(mut values: Vec<T>) -> Self {
        // SAFETY: the vector forgets the values in the next statement.
        let slice = unsafe { copied(&values, SliceInfo::<T>::TYPE_INFO) };
        // SAFETY: the values have moved; the vector only frees its memory.
        unsafe { values.set_len(0) };
        // SAFETY: a new object with its values, and the reference that its count says.
        unsafe { Self::adopt(slice) }
    }
}

impl<T, const N: usize> From<[T; N]> for Ref<[T]> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(values: [T; N]) -> Self {
        let values = std::mem::ManuallyDrop::new(values);
        // SAFETY: `ManuallyDrop` forgets the values.
        let slice = unsafe { copied(&values[..], SliceInfo::<T>::TYPE_INFO) };
        // SAFETY: a new object with its values, and the reference that its count says.
        unsafe { Self::adopt(slice) }
    }
}

impl<T: Clone> From<&[T]> for Ref<[T]> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(values: &[T]) -> Self {
        let slice = allocate_slice::<T>(values.len(), SliceInfo::<T>::TYPE_INFO);
        // SAFETY: a new slice without its values.
        unsafe { PartialSlice::new(slice) }.fill(values)
    }
}

impl<T: Clone> From<&mut [T]> for Ref<[T]> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(values: &mut [T]) -> Self {
        (&*values).into()
    }
}

/// Copies what is borrowed, and moves what is owned.
impl<'a, B> From<Cow<'a, B>> for Ref<B>
where
    B: ToOwned + ?Sized,
    Self: From<&'a B> + From<B::Owned>,
{
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(value: Cow<'a, B>) -> Self {
        match value {
            Cow::Borrowed(value) => value.into(),
            Cow::Owned(value) => value.into(),
        }
    }
}

/// Collects into a vector, and moves the values to a slice.
impl<T> FromIterator<T> for Ref<[T]> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        iter.into_iter().collect::<Vec<T>>().into()
    }
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
