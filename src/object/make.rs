//! The ways to make a `Ref` to one value.

use super::count::Count;
use super::header::{header, write_value};
use super::object_memory::{BlockSource, Global, OrAbort, Source, allocate_sized};
use super::payload::One;
use super::strong::Ref;
use super::weak::Weak;
use crate::block::block_allocator::BlockAllocator;
use crate::block::error::AllocError;
use crate::ledger;
use crate::thread::current::tally_destroyed;
use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::pin::Pin;

impl<T> Ref<T> {
    /// Makes a new object with one reference.
    ///
    /// Aborts when memory is exhausted (`handle_alloc_error`).
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new(value: T) -> Self {
        let Ok(made) = Self::made_in(value, Global);
        made
    }

    /// Makes an object with one reference.
    // Inlined, as otherwise each call would pass the result through memory.
    #[inline(always)]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn made_in<S: Source>(value: T, source: S) -> Result<Self, S::Error> {
        // An allocation does not unwind, but the compiler cannot know that. A value that unwinding would
        // drop is kept in memory: stored field by field, then copied in larger pieces, which the
        // processor delays until the stores are done.
        let value = ManuallyDrop::new(value);
        let payload = match source.allocate::<One<T>>(One::<T>::OBJECT) {
            Ok(thin) => thin.cast::<T>(),
            Err(error) => {
                drop(ManuallyDrop::into_inner(value));
                return Err(error);
            }
        };
        // SAFETY: the payload was just allocated for a `T`.
        unsafe { write_value(payload, ManuallyDrop::into_inner(value)) };
        // SAFETY: a new object with its value; the new handle owns the one reference that its count
        // has.
        Ok(unsafe { Self::adopt(payload) })
    }

    /// Makes an object with one reference, in a block if it fits one; aborts if there is no memory.
    #[inline(always)]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(crate) fn new_from(value: T, source: BlockSource<'_>) -> Self {
        let Ok(made) = Self::made_in(value, OrAbort(source));
        made
    }

    /// Makes an object with one reference, with memory from `blocks`.
    ///
    /// Its memory is a block, which returns to `blocks` on whichever thread it is freed. Objects of
    /// more than 640 bytes, including the header, or with an alignment of more than 16, get their
    /// memory from the global allocator, and are counted. The object is a `Ref` like all others,
    /// and may outlive the handles of the allocator.
    ///
    /// Aborts when memory is exhausted, or the allocator's [hard
    /// cap](crate::BlockAllocatorBuilder::hard_cap) is reached (`handle_alloc_error`).
    ///
    /// ```
    /// use releasepool::{BlockAllocator, Ref};
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
    /// [`AllocError::Capped`], and [`AllocError::OutOfMemory`] for objects that fit a block; for
    /// larger objects, exhausted memory aborts.
    ///
    /// ```
    /// use releasepool::{AllocError, BlockAllocator, Ref};
    /// let none = BlockAllocator::builder().hard_cap(0).build();
    /// assert!(matches!(Ref::try_new_in(5, &none), Err(AllocError::Capped { .. })));
    /// ```
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn try_new_in(value: T, blocks: &BlockAllocator) -> Result<Self, AllocError> {
        Self::made_in(value, BlockSource::Own(blocks))
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
        /// A guard. If `f` panics, it takes the object out of the statistics again.
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
