//! Objects whose value is written after they are made.

use super::boxed::Boxed;
use super::count::Count;
use super::header::{Thin, TypeInfo, header, note_write, set_type_info};
use super::object_memory::{Block, Global, ObjectType, allocate_sized, allocate_slice};
use super::payload::{One, Slice};
use super::strong::Ref;
use super::type_info::ObjectKind;
use std::mem::{MaybeUninit, needs_drop};
use std::ptr::{self, NonNull};

impl<T> Ref<T> {
    /// Makes an object without a value.
    ///
    /// ```
    /// use releasepool::Ref;
    /// let mut five = Ref::<u32>::new_uninit();
    /// Ref::get_mut(&mut five).unwrap().write(5);
    /// // SAFETY: the value has just been written.
    /// let five = unsafe { five.assume_init() };
    /// assert_eq!(*five, 5);
    /// ```
    #[inline]
    #[must_use]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_uninit() -> Ref<MaybeUninit<T>> {
        let payload = allocate_sized::<MaybeUninit<T>>(Count::unique());
        // SAFETY: a new object with one reference; a `MaybeUninit` need not be written.
        unsafe {
            note_write(payload.cast());
            Ref::adopt(payload)
        }
    }

    /// Makes an object whose memory is zero. The zeros become the value by
    /// [`assume_init`](Ref::assume_init), for types for which zeros are a valid value.
    ///
    /// ```
    /// use releasepool::Ref;
    /// // SAFETY: zeros are an array of numbers.
    /// let zeros = unsafe { Ref::<[u64; 1000]>::new_zeroed().assume_init() };
    /// assert_eq!(zeros[999], 0);
    /// ```
    #[inline]
    #[must_use]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_zeroed() -> Ref<MaybeUninit<T>> {
        let zeroed = Self::new_uninit();
        // SAFETY: the only reference to an object of this size.
        unsafe {
            note_write(Ref::thin(&zeroed));
            Ref::payload(&zeroed).write_bytes(0, 1);
        }
        zeroed
    }
}

impl<T> Ref<[T]> {
    /// Makes a slice of `len` values that have not been written.
    ///
    /// ```
    /// use releasepool::Ref;
    /// let mut squares = Ref::<[usize]>::new_uninit_slice(3);
    /// for (n, square) in Ref::get_mut(&mut squares).unwrap().iter_mut().enumerate() {
    ///     square.write(n * n);
    /// }
    /// // SAFETY: all values have just been written.
    /// let squares = unsafe { squares.assume_init() };
    /// assert_eq!(*squares, [0, 1, 4]);
    /// ```
    #[inline]
    #[must_use]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_uninit_slice(len: usize) -> Ref<[MaybeUninit<T>]> {
        let slice = allocate_slice(len);
        // SAFETY: a new object with one reference; a `MaybeUninit` need not be written.
        unsafe { Ref::adopt(slice) }
    }

    /// Makes a slice of `len` values whose memory is zero.
    #[inline]
    #[must_use]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_zeroed_slice(len: usize) -> Ref<[MaybeUninit<T>]> {
        let zeroed = Self::new_uninit_slice(len);
        // SAFETY: the only reference to an object of this size.
        unsafe {
            note_write(Ref::thin(&zeroed));
            Ref::payload(&zeroed)
                .cast::<MaybeUninit<T>>()
                .write_bytes(0, len);
        }
        zeroed
    }
}

/// Gives the object the type info of a `T`, so that the destructor of `T` runs when the object
/// ends. Returns false if `T` has a destructor and the object is not of a kind that `of_kind`
/// allows.
///
/// # Safety
/// `this` was made as a `MaybeUninit<T>` or a slice of them; `of_kind` returns the type info of
/// initialized objects of this kind.
unsafe fn set_initialized<T, U: ?Sized>(
    this: &mut Ref<U>,
    of_kind: impl FnOnce(ObjectKind) -> Option<&'static TypeInfo>,
) -> bool {
    let thin: Thin = Ref::thin(this);
    // SAFETY: `this` keeps the object alive.
    let header = unsafe { header(thin) };
    if !header.count.is_unique() {
        assert!(
            !needs_drop::<T>(),
            "`assume_init` of a `Ref<MaybeUninit<{}>>` to which there are other references, strong \
             or weak: from now on the object has a destructor, which they must not know of",
            std::any::type_name::<T>()
        );
        return true;
    }
    match of_kind(header.type_info.kind) {
        Some(type_info) => {
            // SAFETY: `this` is the only reference; the rest is the contract, as a `MaybeUninit` of
            // `T` has the layout of a `T`.
            unsafe { set_type_info(thin, type_info) };
            true
        }
        None => !needs_drop::<T>(),
    }
}

impl<T> Ref<MaybeUninit<T>> {
    /// Turns the reference into a reference to the value that has been written. The object stays
    /// the same.
    ///
    /// # Safety
    /// As for [`MaybeUninit::assume_init`]: the value has been written.
    ///
    /// # Panics
    /// If `T` has a destructor and there are other references, strong or weak. With `Arc`, the type
    /// of the last reference says whether the destructor runs; here the object's type info says so,
    /// and only a thread that has the only reference can change it.
    #[inline]
    #[must_use]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub unsafe fn assume_init(mut self) -> Ref<T> {
        let of_kind = |kind| match kind {
            ObjectKind::Block => Some(ObjectType::<One<T>, Block>::TYPE_INFO),
            ObjectKind::Boxed => Some(ObjectType::<Boxed<T>, Global>::TYPE_INFO),
            ObjectKind::Sized => Some(ObjectType::<One<T>, Global>::TYPE_INFO),
            ObjectKind::Slice | ObjectKind::BlockSlice | ObjectKind::ThreadBound => None,
        };
        // SAFETY: a reference to a sized type was made for that type, and the value has been
        // written. The type infos are those of a `T` in such memory.
        let is_set = unsafe { set_initialized::<T, _>(&mut self, of_kind) };
        assert!(
            is_set,
            "an uninitialized value is neither a slice nor a `HomeRef`'s"
        );
        // SAFETY: the same object and reference, whose value is a `T`.
        unsafe { Ref::adopt(Ref::into_payload(self).cast()) }
    }
}

impl<T> Ref<[MaybeUninit<T>]> {
    /// Turns the reference into a reference to the values that have been written.
    ///
    /// The object stays the same, unless it was made as an array or moved out of a box: its values
    /// then move to a new object.
    ///
    /// # Safety
    /// As for [`MaybeUninit::assume_init`]: all values have been written.
    ///
    /// # Panics
    /// If `T` has a destructor and there are other references, strong or weak.
    #[inline]
    #[must_use]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub unsafe fn assume_init(mut self) -> Ref<[T]> {
        let of_kind = |kind| match kind {
            ObjectKind::Slice => Some(ObjectType::<Slice<T>, Global>::TYPE_INFO),
            ObjectKind::BlockSlice => Some(ObjectType::<Slice<T>, Block>::TYPE_INFO),
            // The object is one array, whose type info is not that of a slice.
            _ => None,
        };
        let len = self.len();
        // SAFETY: an object of one of these kinds was made as a slice of this type, as no other
        // object of these kinds has a handle to such a slice. The type infos are those of slices of
        // `T` in such memory.
        let payload = if unsafe { set_initialized::<T, _>(&mut self, of_kind) } {
            Ref::into_payload(self).cast::<T>()
        } else {
            let new = allocate_slice::<T>(len).cast::<T>();
            // SAFETY: the new object has room for all values, which move: the old object, which
            // ends here, does not drop them.
            unsafe {
                note_write(new.cast());
                ptr::copy_nonoverlapping(Ref::payload(&self).cast().as_ptr(), new.as_ptr(), len);
            }
            new
        };
        // SAFETY: an object with `len` values of type `T`, and one reference that is ours.
        unsafe { Ref::adopt(NonNull::slice_from_raw_parts(payload, len)) }
    }
}
