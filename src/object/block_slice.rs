//! Slices and texts whose memory is a block.
//!
//! They have the layout of all slices: the length is stored before the header, so the block's size
//! class can be computed when it is freed.

use super::block_allocated::ObjectMemory;
use super::count::Count;
use super::header::{
    Header, ObjectLayout, ObjectType, SliceInfo, Thin, TypeInfo, allocate_slice, layout_of_slice,
    length, note_write, type_info_of, write_header, write_length,
};
use super::make::PartialSlice;
use super::strong::Ref;
use super::text_objects::STR;
use super::type_info::{ObjectKind, TypeShape};
use crate::block::block_allocator::BlockAllocator;
use crate::block::error::AllocError;
use crate::block::size_class::{SIZES, class_of};
use crate::block::thread_heaps;
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::ptr::{self, NonNull};

/// A slice whose memory is a block.
pub(super) struct BlockSliceInfo<T>(PhantomData<T>);

impl<T: 'static> BlockSliceInfo<T> {
    pub(super) const TYPE_INFO: &'static TypeInfo = &Self::named(std::any::type_name::<[T]>);

    /// Returns the type info of objects with a `[T]`, with the name replaced.
    const fn named(type_name: fn() -> &'static str) -> TypeInfo {
        type_info_of::<Self>(type_name, Self::SHAPE, None)
    }
}

/// The type info of a `Ref<str>` in a block: the type info of bytes, with the name replaced.
const BLOCK_STR: &TypeInfo = &BlockSliceInfo::<u8>::named(std::any::type_name::<str>);

/// Returns the size class of the block of an object with this layout, and the bytes of the block
/// that the object does not need; `None` if the object is too large for a block, or over-aligned.
#[inline]
fn block_of(layout: ObjectLayout) -> Option<(usize, usize)> {
    let size_class = class_of(layout.layout)?;
    Some((size_class, SIZES[size_class] - layout.layout.size()))
}

impl<T: 'static> ObjectType for BlockSliceInfo<T> {
    const HAS_DESTRUCTOR: bool = needs_drop::<T>();
    const SHAPE: TypeShape = TypeShape {
        kind: ObjectKind::BlockSlice,
        ..SliceInfo::<T>::SHAPE
    };

    #[inline]
    unsafe fn drop_value(thin: Thin) {
        // SAFETY: the object has the layout of a slice; the rest is the contract.
        unsafe { SliceInfo::<T>::drop_value(thin) };
    }

    #[inline]
    unsafe fn free(thin: Thin) {
        // SAFETY: every object of this type has the layout of a slice; the destructor leaves the
        // length.
        let len = unsafe { length(thin).read() };
        let layout = layout_of_slice::<T>(len).expect("it was allocated with this layout");
        let (size_class, waste) = block_of(layout).expect("the object was made in a block");
        // SAFETY: no reference is left, so the access is exclusive; `allocate_from` took a block of
        // this size class, at whose beginning the payload has this offset.
        unsafe {
            thin.cast::<Header>().sub(1).as_mut().freed();
            thread_heaps::free(thin.sub(layout.payload_offset), size_class, waste);
        }
    }
}

/// The type infos of one type of slice: in a block, and from the global allocator.
#[derive(Clone, Copy)]
struct SliceInfos {
    block: &'static TypeInfo,
    global: &'static TypeInfo,
}

impl SliceInfos {
    const STR: Self = Self {
        block: BLOCK_STR,
        global: STR,
    };

    const fn of<T: 'static>() -> Self {
        Self {
            block: BlockSliceInfo::<T>::TYPE_INFO,
            global: SliceInfo::<T>::TYPE_INFO,
        }
    }
}

/// Allocates an object for `len` values of type `T`, which the caller writes: in a block, if it fits
/// one. The type infos are those of slices of `T`.
#[inline]
#[cfg_attr(feature = "leak-detection", track_caller)]
fn allocate_from<T: 'static>(
    len: usize,
    infos: SliceInfos,
    source: ObjectMemory<'_>,
) -> Result<NonNull<[T]>, AllocError> {
    let layout = layout_of_slice::<T>(len).expect("a slice fits the address space");
    let Some((size_class, waste)) = block_of(layout) else {
        source.count_large(layout.layout);
        return Ok(allocate_slice(len, infos.global));
    };
    let block = source.alloc(size_class, waste)?;
    // SAFETY: an unused block, large enough for this layout, which is that of a slice.
    unsafe {
        let thin = write_header(block, layout, infos.block, Count::unique());
        Ok(write_length(thin, len))
    }
}

/// Aborts, as there is no memory for a slice.
#[cold]
fn no_memory<T>(len: usize) -> ! {
    let layout = layout_of_slice::<T>(len).expect("memory for it was asked for");
    std::alloc::handle_alloc_error(layout.layout)
}

impl Ref<str> {
    /// Makes a text with one reference, in a block if it fits one.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(crate) fn try_str_from(text: &str, source: ObjectMemory<'_>) -> Result<Self, AllocError> {
        let bytes = allocate_from::<u8>(text.len(), SliceInfos::STR, source)?;
        // SAFETY: just allocated, with room for these bytes; the pointer is not null.
        let text = unsafe {
            note_write(bytes.cast());
            ptr::copy_nonoverlapping(text.as_ptr(), bytes.cast().as_ptr(), text.len());
            NonNull::new_unchecked(bytes.as_ptr() as *mut str)
        };
        // SAFETY: a new object with its value, which is UTF-8, and one reference.
        Ok(unsafe { Self::adopt(text) })
    }

    /// Makes a text like [`Ref::try_str_from`], and aborts if there is no memory.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(crate) fn str_from(text: &str, source: ObjectMemory<'_>) -> Self {
        Self::try_str_from(text, source).unwrap_or_else(|_| no_memory::<u8>(text.len()))
    }

    /// Makes a copy of a text, with memory from `blocks`: [`Ref::new_in`] for texts.
    ///
    /// The object has 24 bytes before the text, so texts of up to 616 bytes fit into blocks. Aborts
    /// when memory is exhausted, or the allocator's hard cap is reached (`handle_alloc_error`).
    ///
    /// ```
    /// use releasepool::{BlockAllocator, Ref};
    /// let blocks = BlockAllocator::new();
    /// let word = Ref::new_str_in("word", &blocks);
    /// assert_eq!((&*word, blocks.stats().live_blocks), ("word", 1));
    /// ```
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_str_in(text: &str, blocks: &BlockAllocator) -> Self {
        Self::str_from(text, ObjectMemory::Own(blocks))
    }

    /// Makes a copy of a text like [`Ref::new_str_in`], but returns an error if there is no memory.
    ///
    /// # Errors
    /// Those of [`Ref::try_new_in`].
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn try_new_str_in(text: &str, blocks: &BlockAllocator) -> Result<Self, AllocError> {
        Self::try_str_from(text, ObjectMemory::Own(blocks))
    }
}

impl<T: Clone> Ref<[T]> {
    /// Makes a slice with one reference, in a block if it fits one.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(crate) fn try_slice_from(
        values: &[T],
        source: ObjectMemory<'_>,
    ) -> Result<Self, AllocError> {
        let slice = allocate_from::<T>(values.len(), SliceInfos::of::<T>(), source)?;
        // SAFETY: a new slice without its values.
        Ok(unsafe { PartialSlice::new(slice) }.fill(values))
    }

    /// Makes a slice like [`Ref::try_slice_from`], and aborts if there is no memory.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(crate) fn slice_from(values: &[T], source: ObjectMemory<'_>) -> Self {
        Self::try_slice_from(values, source).unwrap_or_else(|_| no_memory::<T>(values.len()))
    }

    /// Makes a slice with clones of the values, with memory from `blocks`: [`Ref::new_in`] for
    /// slices.
    ///
    /// An object for a slice has 24 bytes before the values (32 if their alignment is 16); if it is
    /// larger than 640 bytes, or aligned to more than 16, its memory is from the global allocator.
    /// Aborts when memory is exhausted, or the allocator's hard cap is reached
    /// (`handle_alloc_error`).
    ///
    /// # Panics
    /// If cloning panics; the memory is then freed.
    ///
    /// ```
    /// use releasepool::{BlockAllocator, Ref};
    /// let blocks = BlockAllocator::new();
    /// let words = Ref::new_slice_in(&["a", "b"], &blocks);
    /// assert_eq!((&*words, blocks.stats().live_blocks), (&["a", "b"][..], 1));
    /// ```
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_slice_in(values: &[T], blocks: &BlockAllocator) -> Self {
        Self::slice_from(values, ObjectMemory::Own(blocks))
    }

    /// Makes a slice like [`Ref::new_slice_in`], but returns an error if there is no memory.
    ///
    /// # Errors
    /// Those of [`Ref::try_new_in`].
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn try_new_slice_in(values: &[T], blocks: &BlockAllocator) -> Result<Self, AllocError> {
        Self::try_slice_from(values, ObjectMemory::Own(blocks))
    }
}
