//! Memory for objects: of the global allocator, or in blocks.
//!
//! Objects in blocks are ordinary `Ref`s; only their type info knows how to free their memory. A
//! block returns to the heap that its chunk names. If no block fits an object, and its allocator
//! has a cap, the memory names the allocator, and counts for its caps until the memory is freed.
//!
//! Each constructor is written once, for all [`Source`]s.

use super::count::Count;
use super::header::{
    Header, MAGIC, ObjectKind, ObjectLayout, PlainBlock, Thin, TypeInfo, header, write_header,
    write_uncounted_header,
};
use super::payload::{One, Payload, Slice, write_length};
use crate::memory::block::block_allocator::{BlockAllocator, PROCESS, alloc_block};
use crate::memory::block::heap::BulkFree;
use crate::memory::block::shared::{AllocError, AllocatorShared, owned_offset};
use crate::memory::block::size_class::{SIZES, class_of_size};
use crate::memory::block::thread_heaps;
use crate::sync::{alloc, dealloc};
use std::alloc::{Layout, handle_alloc_error};
use std::any::type_name;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// A kind of memory. The type info of an object knows the kind, and so how to free the object.
pub(crate) trait Memory {
    const IS_BLOCK: bool = false;
    const IS_OWNED: bool = false;

    /// Frees memory.
    ///
    /// # Safety
    /// The memory is of this kind, was allocated for this layout, and is given up.
    unsafe fn free(memory: NonNull<u8>, layout: Layout);
}

/// Memory of the global allocator that counts for no caps; as a [`Source`], aborts if memory is
/// exhausted.
#[derive(Clone, Copy)]
pub(crate) struct Global;

/// A block.
pub(crate) struct Block;

/// Memory of the global allocator that counts for the caps of a `BlockAllocator`.
pub(super) struct Owned;

impl Memory for Global {
    #[inline]
    unsafe fn free(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: `Self::alloc` or `BlockSource::alloc_large` made the memory with this layout; the
        // rest is the contract.
        unsafe { dealloc(memory.as_ptr(), layout) };
    }
}

impl Memory for Block {
    const IS_BLOCK: bool = true;

    #[inline]
    unsafe fn free(memory: NonNull<u8>, layout: Layout) {
        let (size_class, waste) = block_of(layout).expect("the object was made in a block");
        // SAFETY: `BlockSource` took a block of the layout's size class; the rest is the contract.
        unsafe { thread_heaps::free(memory, size_class, waste) };
    }
}

impl Memory for Owned {
    const IS_OWNED: bool = true;

    #[inline]
    unsafe fn free(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: `alloc_owned` returned the memory for this layout; the rest is the contract.
        unsafe { AllocatorShared::free_owned(memory, layout) };
    }
}

impl Block {
    /// Frees a block of this size class.
    ///
    /// # Safety
    /// The block was allocated for the class, and is given up.
    #[inline(always)]
    pub(crate) unsafe fn free_class(memory: NonNull<u8>, block: PlainBlock) {
        // SAFETY: forwards the contract.
        unsafe { thread_heaps::free(memory, block.size.into(), block.waste.into()) };
    }
}

impl PlainBlock {
    /// Returns the size class of the block for this layout, and the waste; `None` if no block fits
    /// the layout.
    pub(crate) const fn of(layout: Layout) -> Option<Self> {
        match block_of(layout) {
            Some((size, waste)) => Some(Self {
                size: size as u8,
                waste: waste as u16,
            }),
            None => None,
        }
    }
}

/// Returns the size class of the block of an object with this layout, and the bytes of the block
/// that the object does not need; `None` if the object is too large for a block, or over-aligned.
#[inline(always)]
pub(crate) const fn block_of(layout: Layout) -> Option<(usize, usize)> {
    block_of_size(layout.size(), layout.align())
}

/// Returns what [`block_of`] returns for a layout of this size and alignment.
#[inline(always)]
pub(crate) const fn block_of_size(size: usize, align: usize) -> Option<(usize, usize)> {
    match class_of_size(size, align) {
        Some(size_class) => Some((size_class, SIZES[size_class] - size)),
        None => None,
    }
}

/// The objects with payloads of type `P` in memory of kind `M`, which share a type info.
pub(crate) struct ObjectType<P, M>(PhantomData<(P, M)>);

impl<P: Payload, M: Memory> ObjectType<P, M> {
    pub(crate) const TYPE_INFO: &'static TypeInfo = &TypeInfo {
        magic: MAGIC,
        type_name: type_name::<P::ReportedAs>,
        bytes: P::SHAPE.payload.size(),
        payload_offset: P::SHAPE.payload_offset
            + if M::IS_OWNED {
                owned_offset(P::SHAPE.payload.align())
            } else {
                0
            },
        align: P::SHAPE.payload.align() as u32,
        kind: match P::SHAPE.kind {
            ObjectKind::Sized if M::IS_BLOCK => ObjectKind::Block,
            ObjectKind::Slice if M::IS_BLOCK => ObjectKind::BlockSlice,
            kind => kind,
        },
        has_destructor: P::HAS_DESTRUCTOR,
        is_foreign: false,
        is_owned: M::IS_OWNED,
        plain_block: Self::PLAIN_BLOCK,
        destroy: Self::destroy,
        drop_value: P::drop_value,
        free: Self::free,
    };

    const PLAIN_BLOCK: Option<PlainBlock> = match P::LAYOUT {
        Some(object)
            if M::IS_BLOCK
                && !P::HAS_DESTRUCTOR
                && object.payload_offset == size_of::<Header>() =>
        {
            PlainBlock::of(object.layout)
        }
        _ => None,
    };

    /// Runs the destructor and frees the memory, even if the destructor panics.
    ///
    /// # Safety
    /// The contract of [`TypeInfo::destroy`], for an object of this type.
    unsafe fn destroy(thin: Thin) {
        struct FreeOnDrop<P: Payload, M: Memory>(Thin, ObjectType<P, M>);
        impl<P: Payload, M: Memory> Drop for FreeOnDrop<P, M> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY: only the unique owner makes this guard, below, and drops the value before
                // the guard.
                unsafe { ObjectType::<P, M>::free(self.0) };
            }
        }
        let _free = FreeOnDrop(thin, Self(PhantomData));
        if P::HAS_DESTRUCTOR {
            // SAFETY: the caller is the unique owner, so the memory has not been freed.
            unsafe { header(thin) }.count.begin_unique_destruction();
            // SAFETY: the value has not been dropped yet, and only the unique owner can reach it.
            unsafe { P::drop_value(thin) };
        }
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// The contract of [`TypeInfo::free`], for an object of this type.
    #[inline]
    unsafe fn free(thin: Thin) {
        // SAFETY: no reference is left, so the access is exclusive. A source allocated the memory
        // with the layout of `object`, and the payload is at the offset of `object`.
        unsafe {
            let object = P::layout(thin);
            thin.cast::<Header>().sub(1).as_mut().freed();
            M::free(thin.sub(object.payload_offset), object.layout);
        }
    }
}

/// A source of memory for new objects.
pub(crate) trait Source: Copy {
    /// Why there is no memory.
    type Error;

    /// Allocates an object with one reference, whose value the caller writes. `object` is the
    /// layout of an object with a payload of type `P`.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn allocate<P: Payload>(self, object: ObjectLayout) -> Result<Thin, Self::Error>;
}

impl Global {
    #[inline]
    fn alloc(layout: Layout) -> NonNull<u8> {
        // SAFETY: the layout is not zero-sized, as it contains a header.
        let memory = unsafe { alloc(layout) };
        NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
    }

    /// Allocates an object like [`Source::allocate`], with this count.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn allocate_counted<P: Payload>(object: ObjectLayout, count: Count) -> Thin {
        let type_info = ObjectType::<P, Self>::TYPE_INFO;
        // SAFETY: the memory was just allocated with this layout.
        unsafe { write_header(Self::alloc(object.layout), object, type_info, count) }
    }
}

impl Source for Global {
    type Error = Infallible;

    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn allocate<P: Payload>(self, object: ObjectLayout) -> Result<Thin, Infallible> {
        Ok(Self::allocate_counted::<P>(object, Count::unique()))
    }
}

/// An allocator of blocks. As a [`Source`], it takes memory of the global allocator for objects
/// that are too large for a block, or over-aligned.
#[derive(Clone, Copy)]
pub(crate) enum BlockSource<'a> {
    /// The block allocator of the process.
    Process,
    /// An allocator of the user.
    Own(&'a BlockAllocator),
}

impl BlockSource<'_> {
    #[inline(always)]
    pub(crate) fn alloc(self, size_class: usize, waste: usize) -> Result<NonNull<u8>, AllocError> {
        match self {
            Self::Process => alloc_block(thread_heaps::process_heap(), None, size_class, waste),
            Self::Own(blocks) => {
                let allocator = blocks.shared();
                alloc_block(
                    thread_heaps::last_heap(allocator),
                    Some(allocator),
                    size_class,
                    waste,
                )
            }
        }
    }

    /// Allocates memory for a layout that no block fits, from an allocator without a cap.
    #[inline]
    pub(crate) fn alloc_large(self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let allocator = match self {
            Self::Process => &PROCESS.shared,
            Self::Own(blocks) => blocks.shared(),
        };
        allocator.alloc_large(layout, None)
    }

    /// Allocates an object that no block fits.
    #[cold]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn allocate_large<P: Payload>(self, object: ObjectLayout) -> Result<Thin, AllocError> {
        let (memory, type_info) = match self {
            Self::Own(blocks) if blocks.shared().is_limited() => {
                let memory = blocks.alloc_owned(object.layout)?;
                (memory, ObjectType::<P, Owned>::TYPE_INFO)
            }
            _ => {
                let memory = self.alloc_large(object.layout)?;
                (memory, ObjectType::<P, Global>::TYPE_INFO)
            }
        };
        // SAFETY: unused memory for this layout, of the kind that the type info frees.
        Ok(unsafe { write_header(memory, object, type_info, Count::unique()) })
    }
}

impl Source for BlockSource<'_> {
    type Error = AllocError;

    // Not inlined in debug builds: there, it would enlarge the stack frames of callers, which may
    // be deep destructors.
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn allocate<P: Payload>(self, object: ObjectLayout) -> Result<Thin, AllocError> {
        let Some((size_class, waste)) = block_of(object.layout) else {
            return self.allocate_large::<P>(object);
        };
        let block = self.alloc(size_class, waste)?;
        let type_info = ObjectType::<P, Block>::TYPE_INFO;
        // SAFETY: an unused block, large enough for this layout.
        Ok(unsafe { write_header(block, object, type_info, Count::unique()) })
    }
}

/// Allocates an object for a `T`, which the caller writes.
#[inline]
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(super) fn allocate_sized<T>(count: Count) -> NonNull<T> {
    Global::allocate_counted::<One<T>>(One::<T>::OBJECT, count).cast()
}

/// Allocates an object for `len` values of type `T`, which the caller writes.
#[inline]
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(super) fn allocate_slice_in<T, ReportedAs: ?Sized, S: Source>(
    len: usize,
    source: S,
) -> Result<NonNull<[T]>, S::Error> {
    let thin = source.allocate::<Slice<T, ReportedAs>>(Slice::<T>::layout_of(len))?;
    // SAFETY: the object was just allocated with the layout of a slice.
    Ok(unsafe { write_length(thin, len) })
}

/// Allocates a slice like [`allocate_slice_in`], with memory of the global allocator.
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(super) fn allocate_slice<T>(len: usize) -> NonNull<[T]> {
    let Ok(slice) = allocate_slice_in::<T, [T], _>(len, Global);
    slice
}

/// Allocates a slice like [`allocate_slice`]. The new slice replaces another one, so the figures do
/// not count it.
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(super) fn replace_slice<T>(len: usize) -> NonNull<[T]> {
    let object = Slice::<T>::layout_of(len);
    let (memory, count) = (Global::alloc(object.layout), Count::unique());
    let type_info = ObjectType::<Slice<T>, Global>::TYPE_INFO;
    // SAFETY: the object was just allocated with the layout of a slice.
    unsafe {
        write_length(
            write_uncounted_header(memory, object, type_info, count),
            len,
        )
    }
}

/// Destroys objects of one type, one after the other. They are in blocks and have no destructor.
pub(crate) struct PlainDestroyer<'h> {
    type_info: &'static TypeInfo,
    blocks: BulkFree<'h>,
}

impl PlainDestroyer<'_> {
    /// Returns a destroyer for objects of this type; `None` if `process_heap` finds no heap, or in
    /// builds with the ledger, which calls the global allocator when an object ends.
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

    /// Destroys the object if it has the destroyer's type, the caller's reference is the only one
    /// of any kind, and the block is of the thread's heap. Returns whether it destroyed the object.
    ///
    /// # Safety
    /// The caller has a strong reference to `thin`, and gives it up if this returns true.
    #[inline(always)]
    pub(crate) unsafe fn destroy(&mut self, thin: Thin) -> bool {
        // SAFETY: the caller's reference keeps the object alive; once `is_all` has returned true,
        // the access is exclusive (invariant 6 of `object`). The value needs no drop.
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

    /// Counts the freed blocks, and completes the last chunk; must be called at the end.
    #[inline(always)]
    pub(crate) fn end(self) {
        self.blocks.end();
    }
}
