//! Sized objects whose memory is a block.
//!
//! They are ordinary `Ref<T>`s. Only their type info knows that their memory returns to a heap,
//! which the block's chunk names.

use super::count::Count;
use super::header::{
    Header, ObjectLayout, ObjectType, PlainBlock, SizedInfo, Thin, TypeInfo, header, layout_of,
    type_info_of, write_header, write_value,
};
use super::strong::Ref;
use super::type_info::{ObjectKind, TypeShape};
use crate::block::allocator_handle::PROCESS;
use crate::block::block_allocator::BlockAllocator;
use crate::block::bulk_free::BulkFree;
use crate::block::error::AllocError;
use crate::block::size_class::{SIZES, class_of};
use crate::block::{allocator_handle, thread_heaps};
use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// A sized object whose memory is a block.
pub(super) struct BlockInfo<T>(PhantomData<T>);

impl<T: 'static> BlockInfo<T> {
    const LAYOUT: ObjectLayout = layout_of::<T>();
    /// The size class of the block; `None` if the object is too large for one, or over-aligned.
    const SIZE_CLASS: Option<usize> = class_of(Self::LAYOUT.layout);
    /// Bytes of the block that the object does not need.
    const WASTE: usize = match Self::SIZE_CLASS {
        Some(size) => SIZES[size] - Self::LAYOUT.layout.size(),
        None => 0,
    };
    const PLAIN: Option<PlainBlock> = match Self::SIZE_CLASS {
        Some(size)
            if !Self::HAS_DESTRUCTOR && Self::LAYOUT.payload_offset == size_of::<Header>() =>
        {
            Some(PlainBlock {
                size: size as u8,
                waste: Self::WASTE as u8,
            })
        }
        _ => None,
    };
    pub(super) const TYPE_INFO: &'static TypeInfo =
        &type_info_of::<Self>(std::any::type_name::<T>, Self::SHAPE, Self::PLAIN);
}

impl<T: 'static> ObjectType for BlockInfo<T> {
    const HAS_DESTRUCTOR: bool = SizedInfo::<T>::HAS_DESTRUCTOR;
    const SHAPE: TypeShape = TypeShape {
        kind: ObjectKind::Block,
        ..SizedInfo::<T>::SHAPE
    };

    #[inline(always)]
    unsafe fn drop_value(thin: Thin) {
        // SAFETY: the payload is that of a sized object; the rest is the contract.
        unsafe { SizedInfo::<T>::drop_value(thin) };
    }

    #[inline]
    unsafe fn free(thin: Thin) {
        let size_class = Self::SIZE_CLASS.expect("the object was made in a block");
        // SAFETY: no reference is left, so the access is exclusive; `try_new_from` took a block of
        // this size class, at whose beginning the payload has this offset.
        unsafe {
            thin.cast::<Header>().sub(1).as_mut().freed();
            thread_heaps::free(
                thin.sub(Self::LAYOUT.payload_offset),
                size_class,
                Self::WASTE,
            );
        }
    }
}

/// Destroys objects of one type in blocks, without a destructor, one after the other.
pub(crate) struct PlainDestroyer<'h> {
    type_info: &'static TypeInfo,
    blocks: BulkFree<'h>,
}

impl PlainDestroyer<'_> {
    /// Returns a destroyer for objects of this type; `None` if the thread has no heap for the
    /// memory, or in builds with the ledger, which calls the global allocator when an object ends.
    #[inline(always)]
    pub(crate) fn begin(type_info: &'static TypeInfo, block: PlainBlock) -> Option<Self> {
        if cfg!(feature = "leak-detection") {
            return None;
        }
        let heap = thread_heaps::process_heap()?;
        // SAFETY: the heap is the calling thread's own, until its exit; the type's size class is
        // valid.
        let blocks =
            unsafe { BulkFree::begin(heap.as_ref(), block.size as usize, block.waste as usize) };
        Some(Self { type_info, blocks })
    }

    /// Destroys the object if it has the type, the reference is the only one of any kind, and the
    /// memory is this thread's. Returns whether it did.
    ///
    /// # Safety
    /// The caller has a strong reference to `thin`, and gives it up if this returns true.
    #[inline(always)]
    pub(crate) unsafe fn destroy(&mut self, thin: Thin) -> bool {
        // SAFETY: alive by the caller's reference; once `is_all` has returned true, the access is
        // exclusive (invariant 6 of `object`), and there is no value to drop.
        unsafe {
            let object = header(thin);
            if !ptr::eq(object.type_info, self.type_info) || !object.count.is_all(1) {
                return false;
            }
            let mut header = thin.cast::<Header>().sub(1);
            if !self.blocks.is_ours(header.cast()) {
                return false;
            }
            header.as_mut().freed();
            self.blocks.free(header.cast());
        }
        true
    }

    /// Counts the destroyed objects; must be called at the end.
    #[inline(always)]
    pub(crate) fn end(self) {
        self.blocks.end();
    }
}

/// Where the memory of an object comes from.
#[derive(Clone, Copy)]
pub(crate) enum ObjectMemory<'a> {
    /// The block allocator of the process.
    Process,
    /// An allocator of the user.
    Own(&'a BlockAllocator),
}

impl ObjectMemory<'_> {
    #[inline(always)]
    pub(super) fn alloc(self, size_class: usize, waste: usize) -> Result<NonNull<u8>, AllocError> {
        match self {
            Self::Process => {
                allocator_handle::alloc(thread_heaps::process_heap(), None, size_class, waste)
            }
            Self::Own(blocks) => {
                let allocator = blocks.shared();
                allocator_handle::alloc(
                    thread_heaps::last_heap(allocator),
                    Some(allocator),
                    size_class,
                    waste,
                )
            }
        }
    }

    #[cold]
    pub(super) fn count_large(self, layout: Layout) {
        match self {
            Self::Process => PROCESS.shared.count_large(layout),
            Self::Own(blocks) => blocks.shared().count_large(layout),
        }
    }
}

impl<T> Ref<T> {
    /// Makes an object with one reference, in a block if it fits one.
    // Inlined, as otherwise the result is passed through memory each time.
    #[inline(always)]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(crate) fn try_new_from(value: T, source: ObjectMemory<'_>) -> Result<Self, AllocError> {
        let Some(size_class) = BlockInfo::<T>::SIZE_CLASS else {
            source.count_large(BlockInfo::<T>::LAYOUT.layout);
            return Ok(Self::new(value));
        };
        let block = source.alloc(size_class, BlockInfo::<T>::WASTE)?;
        // SAFETY: an unused block, large enough for this layout; the object then has its value and
        // one reference.
        unsafe {
            let type_info = BlockInfo::<T>::TYPE_INFO;
            let thin = write_header(block, BlockInfo::<T>::LAYOUT, type_info, Count::unique());
            let payload = thin.cast::<T>();
            write_value(payload, value);
            Ok(Self::adopt(payload))
        }
    }

    /// Makes an object like [`Ref::try_new_from`], and aborts if there is no memory.
    #[inline(always)]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(crate) fn new_from(value: T, source: ObjectMemory<'_>) -> Self {
        match Self::try_new_from(value, source) {
            Ok(made) => made,
            Err(_) => std::alloc::handle_alloc_error(BlockInfo::<T>::LAYOUT.layout),
        }
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
        Self::new_from(value, ObjectMemory::Own(blocks))
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
        Self::try_new_from(value, ObjectMemory::Own(blocks))
    }
}
