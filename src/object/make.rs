//! The ways to make a `Ref` to one value.

use super::boxed::Boxed;
use super::count::Count;
use super::header::{ObjectKind, Thin, TypeInfo, header, note_write, set_type_info, write_value};
use super::object_memory::{
    Block, BlockSource, Global, ObjectType, Owned, Source, allocate_sized, allocate_slice,
};
use super::payload::{One, Slice};
use super::strong::Ref;
use super::weak::Weak;
use crate::ledger;
use crate::memory::block::block_allocator::BlockAllocator;
use crate::memory::block::shared::AllocError;
use crate::thread::current::tally_destroyed;
use std::borrow::Cow;
use std::convert::Infallible;
use std::mem::{ManuallyDrop, MaybeUninit, needs_drop};
use std::pin::Pin;
use std::ptr::{self, NonNull};

impl<T> Ref<T> {
    /// Makes a new object with one reference.
    ///
    /// Aborts when memory is exhausted (`handle_alloc_error`).
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new(value: T) -> Self {
        let Ok(made) = Self::made_in(value, Global, |_, error| error);
        made
    }

    /// Makes an object with one reference; if there is no memory, calls `refused` with the value.
    // Inlined, as otherwise each call would pass the result through memory.
    #[inline(always)]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn made_in<S: Source, E>(
        value: T,
        source: S,
        refused: impl FnOnce(T, S::Error) -> E,
    ) -> Result<Self, E> {
        // An allocation does not unwind, but the compiler cannot know that: without `ManuallyDrop`,
        // it would store the value field by field, for unwinding to drop it, and then copy it in
        // larger pieces, whose loads wait until those stores are done.
        let value = ManuallyDrop::new(value);
        let payload = match source.allocate::<One<T>>(One::<T>::OBJECT) {
            Ok(thin) => thin.cast::<T>(),
            Err(error) => return Err(refused(ManuallyDrop::into_inner(value), error)),
        };
        // SAFETY: the payload was just allocated for a `T`.
        unsafe { write_value(payload, ManuallyDrop::into_inner(value)) };
        // SAFETY: a new object with its value; the new handle owns the object's one reference.
        Ok(unsafe { Self::adopt(payload) })
    }

    /// Makes an object with one reference, in a block if it fits one.
    #[inline(always)]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(crate) fn new_from(value: T, source: BlockSource<'_>) -> Self {
        let Ok(made) = Self::made_in(value, source, fail_without);
        made
    }

    /// Makes an object with one reference, with memory from `blocks`.
    ///
    /// Its memory is a block, which returns to `blocks` on whichever thread it is freed. Objects of
    /// more than 64,768 bytes, including the header, or with an alignment of more than 64, get their
    /// memory from the global allocator, and count for the caps of `blocks`. The object is a `Ref`
    /// like all others, and may outlive the handles of the allocator.
    ///
    /// # Panics
    /// If the [hard cap](crate::memory::BlockAllocatorBuilder::hard_cap) is reached; the value is then
    /// dropped. [`try_new_in`](Self::try_new_in) returns an error instead. Aborts when memory is
    /// exhausted.
    ///
    /// ```
    /// use releasepool::memory::BlockAllocator;
    /// use releasepool::Ref;
    /// let blocks = BlockAllocator::new();
    /// let r = Ref::new_in(5, &blocks);
    /// assert_eq!(blocks.stats().live_blocks, 1);
    /// drop(r);
    /// assert_eq!(blocks.stats().live_blocks, 0);
    /// ```
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_in(value: T, blocks: &BlockAllocator) -> Self {
        Self::new_from(value, BlockSource::Own(blocks))
    }

    /// Makes an object like [`Ref::new_in`], but returns an error if there is no memory; the value
    /// is then dropped.
    ///
    /// # Errors
    /// [`AllocError::Capped`], [`AllocError::OutOfMemory`], and [`AllocError::TooLarge`] for a
    /// layout that fills the address space.
    ///
    /// ```
    /// use releasepool::memory::{AllocError, BlockAllocator};
    /// use releasepool::Ref;
    /// let none = BlockAllocator::builder().hard_cap(0).build();
    /// assert!(matches!(Ref::try_new_in(5, &none), Err(AllocError::Capped { .. })));
    /// ```
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn try_new_in(value: T, blocks: &BlockAllocator) -> Result<Self, AllocError> {
        Self::made_in(value, BlockSource::Own(blocks), error_without)
    }

    /// Makes a new object that has a reference to itself: `f` gets a weak reference to the object,
    /// which can be upgraded once `f` has returned the value.
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
        /// A guard whose destructor, if `f` panics, counts the object as destroyed.
        struct Uninitialized<T: 'static>(Weak<T>);
        impl<T> Drop for Uninitialized<T> {
            fn drop(&mut self) {
                tally_destroyed(1);
                ledger::died(self.0.payload().cast());
            }
        }
        let payload = allocate_sized::<T>(Count::uninitialized());
        // SAFETY: the handle owns the one weak reference that `Count::uninitialized` counts.
        let uninitialized = Uninitialized(unsafe { Weak::adopt(payload) });
        let value = f(&uninitialized.0);
        // SAFETY: the payload was allocated for a `T`; no thread reads it before `set_initialized`.
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
        // SAFETY: the value stays in its allocation until it is dropped there. Functions that move
        // it out (`try_unwrap`, `into_inner`, `make_mut`) need a `Ref` that is not pinned.
        unsafe { Pin::new_unchecked(Self::new(value)) }
    }
}

// The next two functions drop the value of an object for which there is no memory. They are out of
// line and take both arguments by value, so that `Ref::made_in` usually keeps neither in memory.

#[cold]
#[inline(never)]
fn error_without<T>(value: T, error: AllocError) -> AllocError {
    drop(value);
    error
}

#[cold]
#[inline(never)]
fn fail_without<T>(value: T, error: AllocError) -> Infallible {
    drop(value);
    error.fail()
}

impl<T> From<T> for Ref<T> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// Copies a borrowed value, and moves an owned one.
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

// Objects whose value is written after they are made.

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
        // SAFETY: `zeroed` is the only reference to the object, whose payload has this size.
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
        // SAFETY: `zeroed` is the only reference to the object, which has `len` values.
        unsafe {
            note_write(Ref::thin(&zeroed));
            Ref::payload(&zeroed)
                .cast::<MaybeUninit<T>>()
                .write_bytes(0, len);
        }
        zeroed
    }
}

/// Gives the object the type info that `of_type` returns, so that the destructor of `T` runs when
/// the object ends. Changes nothing if there are other references or `of_type` returns `None`.
/// Returns false if `of_type` returns `None` and `T` has a destructor.
///
/// # Safety
/// `this` was made as a `MaybeUninit<T>` or a slice of them; `of_type` returns the type info of
/// initialized objects in memory of the same kind.
unsafe fn set_initialized<T, U: ?Sized>(
    this: &mut Ref<U>,
    of_type: impl FnOnce(&TypeInfo) -> Option<&'static TypeInfo>,
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
    match of_type(header.type_info) {
        Some(type_info) => {
            // SAFETY: `this` is the only reference; the rest is the contract, as a `MaybeUninit<T>`
            // has the layout of a `T`.
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
        let of_type = |made: &TypeInfo| match made.kind {
            ObjectKind::Block => Some(ObjectType::<One<T>, Block>::TYPE_INFO),
            ObjectKind::Boxed => Some(ObjectType::<Boxed<T>, Global>::TYPE_INFO),
            ObjectKind::Sized if made.is_owned => Some(ObjectType::<One<T>, Owned>::TYPE_INFO),
            ObjectKind::Sized => Some(ObjectType::<One<T>, Global>::TYPE_INFO),
            ObjectKind::Slice | ObjectKind::BlockSlice | ObjectKind::ThreadBound => None,
        };
        // SAFETY: an object with a `Ref<MaybeUninit<T>>` was made as a `MaybeUninit<T>`; its value
        // is written, by the contract. The type infos are those of a `T` in such memory.
        let is_set = unsafe { set_initialized::<T, _>(&mut self, of_type) };
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
    /// The object stays the same, unless `T` has a destructor and the object was made as an array
    /// or moved out of a box: the values then move to a new object.
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
        let of_type = |made: &TypeInfo| match made.kind {
            ObjectKind::Slice if made.is_owned => Some(ObjectType::<Slice<T>, Owned>::TYPE_INFO),
            ObjectKind::Slice => Some(ObjectType::<Slice<T>, Global>::TYPE_INFO),
            ObjectKind::BlockSlice => Some(ObjectType::<Slice<T>, Block>::TYPE_INFO),
            // The object was made as an array or moved out of a box: its type is not a slice's.
            _ => None,
        };
        let len = self.len();
        // SAFETY: if an object with a `Ref<[MaybeUninit<T>]>` is of one of the kinds of slices, it
        // was made as a slice of `MaybeUninit<T>`. The type infos are those of slices of `T` in
        // memory of the object's kind.
        let payload = if unsafe { set_initialized::<T, _>(&mut self, of_type) } {
            Ref::into_payload(self).cast::<T>()
        } else {
            let new = allocate_slice::<T>(len).cast::<T>();
            // SAFETY: the new object has room for all values. They move: the old object drops none,
            // as its values are `MaybeUninit`.
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
