//! Objects whose memory is a block.
//!
//! They are the same `Ref<T>`s as others. Their class alone knows where the memory goes: to
//! the block's heap, which the block finds by itself.

use super::count::Count;
use super::header::{
    Header, PlainBlock, Plan, SizedInfo, Thin, TypeInfo, header, plan_of, put, set_up,
};
use super::strong::Ref;
use crate::block::block_allocator::BlockAllocator;
use crate::block::bulk_free::BulkFree;
use crate::block::error::AllocError;
use crate::block::handle::{self, PROCESS};
use crate::block::size_class::{SIZES, class_of};
use crate::block::thread_heaps;
use std::alloc::Layout;
use std::mem::needs_drop;
use std::ptr::{self, NonNull};

struct BlockInfo<T>(std::marker::PhantomData<T>);

impl<T: 'static> BlockInfo<T> {
    const PLAN: Plan = plan_of::<T>();
    /// That of its blocks; none if the object is too large for one, or over-aligned.
    const SIZE: Option<usize> = class_of(Self::PLAN.layout);
    const WASTE: usize = match Self::SIZE {
        Some(size) => SIZES[size] - Self::PLAN.layout.size(),
        None => 0,
    };
    const PLAIN: Option<PlainBlock> = match Self::SIZE {
        Some(size) if !needs_drop::<T>() && Self::PLAN.payload == size_of::<Header>() => {
            Some(PlainBlock {
                size: size as u8,
                waste: Self::WASTE as u8,
            })
        }
        _ => None,
    };
    const CLASS: &'static TypeInfo = &TypeInfo {
        plain_block: Self::PLAIN,
        destroy: Self::destroy,
        free: Self::free,
        ..SizedInfo::<T>::named(std::any::type_name::<T>)
    };

    /// # Safety
    /// As [`TypeInfo::destroy`].
    unsafe fn destroy(thin: Thin) {
        /// Frees the block when dropped: also if the destructor panics.
        struct Freeing<T: 'static>(Thin, std::marker::PhantomData<T>);
        impl<T> Drop for Freeing<T> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY: made only below.
                unsafe { BlockInfo::<T>::free(self.0) };
            }
        }
        let _freeing = Freeing::<T>(thin, std::marker::PhantomData);
        if needs_drop::<T>() {
            // SAFETY: the object is there.
            unsafe { header(thin) }.count.begin_unique_destruction();
            // SAFETY: by the caller's promise.
            unsafe { SizedInfo::<T>::drop_value(thin) };
        }
    }

    /// # Safety
    /// As [`TypeInfo::free`].
    #[inline]
    unsafe fn free(thin: Thin) {
        let size = Self::SIZE.expect("made from a block");
        // SAFETY: ours alone by the caller's promise.
        unsafe {
            thin.cast::<Header>().sub(1).as_mut().freed();
            thread_heaps::free(thin.sub(Self::PLAN.payload), size, Self::WASTE);
        }
    }
}

/// Destroys objects of one class, without a destructor, one after the other.
pub(crate) struct Alike<'h> {
    class: &'static TypeInfo,
    blocks: BulkFree<'h>,
}

impl Alike<'_> {
    /// If the thread has a heap that the memory may go back to.
    #[inline(always)]
    pub(crate) fn begin(class: &'static TypeInfo, block: PlainBlock) -> Option<Self> {
        let heap = thread_heaps::process_heap()?;
        // SAFETY: the calling thread's own, until its exit; the size is one.
        let blocks =
            unsafe { BulkFree::begin(heap.as_ref(), block.size as usize, block.waste as usize) };
        Some(Self { class, blocks })
    }

    /// Destroys the object if it is of the class, the reference is the only one, and its
    /// memory is this thread's: whether it was so.
    ///
    /// # Safety
    /// The caller has a strong reference to `thin`, and gives it up if this says so.
    #[inline(always)]
    pub(crate) unsafe fn destroy(&mut self, thin: Thin) -> bool {
        // SAFETY: alive by the caller's reference; then ours alone.
        unsafe {
            let object = header(thin);
            if !ptr::eq(object.class, self.class) || !object.count.is_all(1) {
                return false;
            }
            let mut head = thin.cast::<Header>().sub(1);
            if !self.blocks.is_ours(head.cast()) {
                return false;
            }
            head.as_mut().freed();
            self.blocks.free(head.cast());
        }
        true
    }

    /// To be called at the end.
    #[inline(always)]
    pub(crate) fn end(self) {
        self.blocks.end();
    }
}

/// Where the memory of an object is to come from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// The process's own allocator.
    Process,
    Own(&'a BlockAllocator),
}

impl Source<'_> {
    #[inline(always)]
    fn alloc(self, class: usize, waste: usize) -> Result<NonNull<u8>, AllocError> {
        match self {
            Self::Process => handle::alloc(thread_heaps::process_heap(), None, class, waste),
            Self::Own(blocks) => {
                let allocator = blocks.shared();
                handle::alloc(
                    thread_heaps::last_heap(allocator),
                    Some(allocator),
                    class,
                    waste,
                )
            }
        }
    }

    #[cold]
    fn count_large(self, layout: Layout) {
        match self {
            Self::Process => PROCESS.shared.count_large(layout),
            Self::Own(blocks) => blocks.shared().count_large(layout),
        }
    }
}

impl<T> Ref<T> {
    /// A new object with one reference, out of a block.
    // Inlined, or the error would go through memory, each time.
    #[inline(always)]
    pub(crate) fn try_new_from(value: T, source: Source<'_>) -> Result<Self, AllocError> {
        let Some(size) = BlockInfo::<T>::SIZE else {
            source.count_large(BlockInfo::<T>::PLAN.layout);
            return Ok(Self::new(value));
        };
        let block = source.alloc(size, BlockInfo::<T>::WASTE)?;
        // SAFETY: fresh memory for the header and a `T`, with its value and one reference.
        unsafe {
            let class = BlockInfo::<T>::CLASS;
            let thin = set_up(block, BlockInfo::<T>::PLAN, class, Count::unique());
            let payload = thin.cast::<T>();
            put(payload, value);
            Ok(Self::adopt(payload))
        }
    }

    /// The same, where memory has to be there.
    #[inline(always)]
    pub(crate) fn new_from(value: T, source: Source<'_>) -> Self {
        match Self::try_new_from(value, source) {
            Ok(made) => made,
            Err(_) => std::alloc::handle_alloc_error(BlockInfo::<T>::PLAN.layout),
        }
    }

    /// A new object with one reference, its memory out of `blocks`: a block, to which it goes
    /// back on whichever thread it is freed. Objects of more than 640 bytes, header included,
    /// or aligned to more than 16, get theirs from the global allocator, and are counted.
    ///
    /// It is a `Ref` like all others, and outlives the allocator's handles, if need be.
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
    pub fn new_in(value: T, blocks: &BlockAllocator) -> Self {
        Self::new_from(value, Source::Own(blocks))
    }

    /// The same, where memory may be short. The value is dropped if it is.
    ///
    /// # Errors
    /// [`AllocError::Capped`], and [`AllocError::OutOfMemory`] for objects that fit a block;
    /// larger ones abort.
    ///
    /// ```
    /// use releasepool::{AllocError, BlockAllocator, Ref};
    /// let none = BlockAllocator::builder().hard_cap(0).build();
    /// assert!(matches!(Ref::try_new_in(5, &none), Err(AllocError::Capped { .. })));
    /// ```
    #[inline]
    pub fn try_new_in(value: T, blocks: &BlockAllocator) -> Result<Self, AllocError> {
        Self::try_new_from(value, Source::Own(blocks))
    }
}
