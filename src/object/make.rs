//! The ways to make a `Ref`.

use super::count::Count;
use super::header::{
    SliceInfo, Thin, TypeInfo, allocate_sized, allocate_slice, free, header, note_write,
    write_value,
};
use super::strong::Ref;
use super::weak::Weak;
use crate::thread::current::tally_destroyed;
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::pin::Pin;
use std::ptr::{self, NonNull};

/// The class of `Ref<str>`: bytes under another name.
pub(super) const STR: &TypeInfo = &SliceInfo::<u8>::named(std::any::type_name::<str>);
const C_STR: &TypeInfo = &SliceInfo::<u8>::named(std::any::type_name::<CStr>);

impl<T> Ref<T> {
    /// A new object with one reference.
    ///
    /// Aborts when memory is exhausted (`handle_alloc_error`).
    #[inline]
    pub fn new(value: T) -> Self {
        let payload = allocate_sized::<T>(Count::unique());
        // SAFETY: fresh memory for a `T`.
        unsafe { write_value(payload, value) };
        // SAFETY: a new object, with its value and one reference.
        unsafe { Self::adopt(payload) }
    }

    /// A new object that knows itself: `f` is given a weak reference to it, which
    /// upgrades as soon as `f` has returned the value.
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
    pub fn new_cyclic<F: FnOnce(&Weak<T>) -> T>(f: F) -> Self {
        /// Takes back the tally if no value is made.
        struct Uninitialized<T: 'static>(Weak<T>);
        impl<T> Drop for Uninitialized<T> {
            fn drop(&mut self) {
                tally_destroyed(1);
            }
        }
        let payload = allocate_sized::<T>(Count::uninitialized());
        // SAFETY: the one weak reference that `uninitialized` counts.
        let uninitialized = Uninitialized(unsafe { Weak::adopt(payload) });
        let value = f(&uninitialized.0);
        // SAFETY: memory for a `T`; nobody reads it before `set_initialized`.
        unsafe { write_value(payload, value) };
        // It becomes the strong reference.
        std::mem::forget(uninitialized);
        // SAFETY: the memory is there.
        unsafe { header(payload.cast::<u8>()) }
            .count
            .set_initialized();
        // SAFETY: made, and counted.
        unsafe { Self::adopt(payload) }
    }

    /// A new object that never moves again, as all do; for `!Unpin` values.
    pub fn pin(value: T) -> Pin<Self> {
        // SAFETY: the value stays in its allocation until it is dropped there:
        // whatever moves it out (`try_unwrap`, `into_inner`, `make_mut`) needs a
        // `Ref` that is not pinned.
        unsafe { Pin::new_unchecked(Self::new(value)) }
    }
}

/// A slice that is being filled; dropped in the middle, it drops what is there.
struct PartialSlice<T: 'static> {
    slice: NonNull<[T]>,
    filled: usize,
}

impl<T> PartialSlice<T> {
    fn new(len: usize) -> Self {
        let slice = allocate_slice::<T>(len, SliceInfo::<T>::TYPE_INFO);
        Self { slice, filled: 0 }
    }

    fn push(&mut self, value: T) {
        assert!(self.filled < self.slice.len());
        // SAFETY: within the slice.
        unsafe {
            note_write(self.slice.cast());
            self.slice.cast::<T>().add(self.filled).write(value);
        }
        self.filled += 1;
    }

    fn finish(self) -> Ref<[T]> {
        assert_eq!(self.filled, self.slice.len());
        let slice = std::mem::ManuallyDrop::new(self).slice;
        // SAFETY: a new object with all its values and one reference.
        unsafe { Ref::adopt(slice) }
    }
}

impl<T> Drop for PartialSlice<T> {
    fn drop(&mut self) {
        struct Memory(Thin);
        impl Drop for Memory {
            fn drop(&mut self) {
                tally_destroyed(1);
                // SAFETY: nobody else has seen the object.
                unsafe { free(self.0) };
            }
        }
        let _memory = Memory(self.slice.cast());
        let filled = ptr::slice_from_raw_parts_mut(self.slice.cast::<T>().as_ptr(), self.filled);
        // SAFETY: these have been written, and nobody else has them.
        unsafe {
            note_write(self.slice.cast());
            ptr::drop_in_place(filled);
        }
    }
}

/// An object of class `class` with a copy of `values`.
///
/// # Safety
/// The caller gives the values up, or they are `Copy`.
unsafe fn copied<T>(values: &[T], class: &'static TypeInfo) -> NonNull<[T]> {
    let slice = allocate_slice::<T>(values.len(), class);
    // SAFETY: fresh memory of that length.
    unsafe {
        note_write(slice.cast());
        ptr::copy_nonoverlapping(values.as_ptr(), slice.cast().as_ptr(), values.len());
    }
    slice
}

impl<T> From<T> for Ref<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> From<Box<T>> for Ref<T> {
    fn from(value: Box<T>) -> Self {
        Self::new(*value)
    }
}

impl<T> From<Vec<T>> for Ref<[T]> {
    fn from(mut values: Vec<T>) -> Self {
        // SAFETY: given up by the next line.
        let slice = unsafe { copied(&values, SliceInfo::<T>::TYPE_INFO) };
        // SAFETY: they have moved; the vector only frees its memory.
        unsafe { values.set_len(0) };
        // SAFETY: a new object with its values and one reference.
        unsafe { Self::adopt(slice) }
    }
}

impl<T> From<Box<[T]>> for Ref<[T]> {
    fn from(values: Box<[T]>) -> Self {
        values.into_vec().into()
    }
}

impl<T, const N: usize> From<[T; N]> for Ref<[T]> {
    fn from(values: [T; N]) -> Self {
        let values = std::mem::ManuallyDrop::new(values);
        // SAFETY: given up.
        let slice = unsafe { copied(&values[..], SliceInfo::<T>::TYPE_INFO) };
        // SAFETY: a new object with its values and one reference.
        unsafe { Self::adopt(slice) }
    }
}

impl<T: Clone> From<&[T]> for Ref<[T]> {
    fn from(values: &[T]) -> Self {
        let mut partial = PartialSlice::new(values.len());
        for value in values {
            partial.push(value.clone());
        }
        partial.finish()
    }
}

/// Collects into a slice, by way of a vector.
impl<T> FromIterator<T> for Ref<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        iter.into_iter().collect::<Vec<T>>().into()
    }
}

impl From<&str> for Ref<str> {
    fn from(value: &str) -> Self {
        // SAFETY: bytes are `Copy`.
        let bytes = unsafe { copied(value.as_bytes(), STR) };
        // SAFETY: not null.
        let text = unsafe { NonNull::new_unchecked(bytes.as_ptr() as *mut str) };
        // SAFETY: a new object with its value, which is UTF-8, and one reference.
        unsafe { Self::adopt(text) }
    }
}

impl From<String> for Ref<str> {
    fn from(value: String) -> Self {
        value.as_str().into()
    }
}

impl From<Box<str>> for Ref<str> {
    fn from(value: Box<str>) -> Self {
        (&*value).into()
    }
}

impl From<Cow<'_, str>> for Ref<str> {
    fn from(value: Cow<'_, str>) -> Self {
        (&*value).into()
    }
}

impl From<&CStr> for Ref<CStr> {
    fn from(value: &CStr) -> Self {
        // SAFETY: bytes are `Copy`.
        let bytes = unsafe { copied(value.to_bytes_with_nul(), C_STR) };
        // SAFETY: not null. As in std, a `CStr` is its bytes with the nul.
        let text = unsafe { NonNull::new_unchecked(bytes.as_ptr() as *mut CStr) };
        // SAFETY: a new object with its value and one reference.
        unsafe { Self::adopt(text) }
    }
}

impl From<CString> for Ref<CStr> {
    fn from(value: CString) -> Self {
        value.as_c_str().into()
    }
}

/// The bytes of a text, as the same object.
impl From<Ref<str>> for Ref<[u8]> {
    fn from(value: Ref<str>) -> Self {
        let text = Ref::into_payload(value);
        // SAFETY: not null.
        let bytes = unsafe { NonNull::new_unchecked(text.as_ptr() as *mut [u8]) };
        // SAFETY: the same object and reference; a text is bytes.
        unsafe { Self::adopt(bytes) }
    }
}

/// The same object, if the length is right.
impl<T, const N: usize> TryFrom<Ref<[T]>> for Ref<[T; N]> {
    type Error = Ref<[T]>;

    fn try_from(value: Ref<[T]>) -> Result<Self, Ref<[T]>> {
        if value.len() != N {
            return Err(value);
        }
        // SAFETY: the same object and reference; a slice of N is laid out as an
        // array of N.
        Ok(unsafe { Self::adopt(Ref::into_payload(value).cast()) })
    }
}
