//! Chunks: aligned pieces of memory, each cut into blocks of one class.
//!
//! ```text
//! [heap, class] [free list, counts, list links] [block] [block] [block] ...
//! ^ aligned to CHUNK_BYTES
//! ```
//!
//! A block finds its chunk by rounding its address down, so it needs no header while it is in
//! use. A free block holds two links: to the next block of its list, and, if it is the first of
//! a batch of remote frees, to the next batch.

use super::block_checks::{self, LINK_BYTES};
use super::size_class::{ALIGN, MOST_ALIGN, SIZES};
use crate::ledger::CHECKS;
use crate::sync::cell::Cell;
use crate::sync::{Bits, SMALL, Witness, alloc, dealloc, described};
use std::alloc::Layout;
use std::num::NonZero;
use std::ops::Deref;
use std::ptr::{self, NonNull};

/// The size and alignment of a chunk, in bytes.
pub(super) const CHUNK_BYTES: usize = 65_536;

/// How many bytes are cut into blocks at a time: so a page is not touched before it is needed.
const CUT_BYTES: usize = 4_096;

/// The greatest number of blocks in a chunk in models.
const MODEL_BLOCKS: usize = 3;

const LAYOUT: Layout = match Layout::from_size_align(CHUNK_BYTES, CHUNK_BYTES) {
    Ok(layout) => layout,
    Err(_) => panic!("CHUNK_BYTES is a power of two"),
};

/// A free block.
#[repr(C)]
pub(super) struct Block {
    next: *mut Block,
    next_batch: *mut Block,
}

/// Stands for `Heap` in pointers of chunks: only `heap.rs` knows the type of heaps.
pub(super) enum OpaqueHeap {}

/// A bit for each block of a chunk: whether it is in use. Empty unless blocks are checked.
pub(super) type InUseBits = Bits<{ if CHECKS { CHUNK_BYTES / ALIGN / 64 } else { 0 } }>;

/// Where a chunk is: with a bin, in a list of its heap, or in no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkState {
    /// The bin of the chunk's class hands out the chunk's blocks.
    Current,
    /// In the list of the chunks of its class that have free blocks.
    Listed,
    /// Has no free block, and is in no list but [`AllChunks`].
    Full,
    /// Has no block in use, and is in the heap's list of unused chunks.
    Unused,
}

/// The header of a chunk.
#[repr(C)]
pub(crate) struct Chunk {
    shared: SharedHeader,
    pub(super) owned: OwnedHeader,
}

/// The fields that all threads access, on cache lines of their own.
#[repr(C, align(64))]
struct SharedHeader {
    heap: NonNull<OpaqueHeap>,
    /// The pointer to the chunk itself, with provenance for all of it.
    #[cfg(feature = "allocator-api2")]
    original: ChunkPtr,
    /// Changes only while no block is taken, in the sense of `OwnedHeader::taken`.
    class: Cell<usize>,
    in_use: InUseBits,
}

/// The fields that only the heap's owner accesses.
#[repr(C, align(64))]
pub(super) struct OwnedHeader {
    /// The list of blocks that were freed.
    free: Cell<*mut Block>,
    /// How many blocks were cut and are not in `free`: in use, in a bin, or freed elsewhere.
    taken: Cell<usize>,
    /// The number of blocks that were cut.
    cut_blocks: Cell<usize>,
    state: Cell<ChunkState>,
    /// Links of the list that the chunk is in.
    in_list: Links,
    /// Links of the list of all chunks of the heap.
    of_all: Links,
    witness: Witness,
    /// In models, a witness for the links of each block.
    link_witnesses: [Witness; if SMALL { MODEL_BLOCKS } else { 0 }],
}

const HEADER_BYTES: usize = size_of::<Chunk>();

/// Returns how many blocks of a class a chunk has.
const fn capacity(class: usize) -> usize {
    let most = (CHUNK_BYTES - HEADER_BYTES) / SIZES[class];
    if SMALL && most > MODEL_BLOCKS {
        MODEL_BLOCKS
    } else {
        most
    }
}

// The header must leave room for a block of each size, and align the first one.
const _: () = assert!(capacity(SIZES.len() - 1) > 0 && HEADER_BYTES % MOST_ALIGN == 0);

/// A pointer to a chunk that exists, with provenance for all of its memory.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct ChunkPtr(NonNull<Chunk>);

impl Deref for ChunkPtr {
    type Target = Chunk;

    #[inline(always)]
    fn deref(&self) -> &Chunk {
        // SAFETY: code that has a `ChunkPtr` owns the heap, or a block of the chunk that was not
        // put back. So the chunk exists (invariant 2 of `block`).
        unsafe { self.0.as_ref() }
    }
}

impl ChunkPtr {
    /// Allocates a chunk without a size class; `None` if the system has no memory.
    pub(super) fn new(heap: NonNull<OpaqueHeap>) -> Option<Self> {
        // SAFETY: the layout's size is not 0.
        let chunk = NonNull::new(unsafe { alloc(LAYOUT) })?.cast::<Chunk>();
        let shared = SharedHeader {
            heap,
            #[cfg(feature = "allocator-api2")]
            original: Self(chunk),
            class: Cell::new(0),
            in_use: InUseBits::new(),
        };
        let owned = OwnedHeader {
            free: Cell::new(ptr::null_mut()),
            taken: Cell::new(0),
            cut_blocks: Cell::new(0),
            state: Cell::new(ChunkState::Full),
            in_list: Links::default(),
            of_all: Links::default(),
            witness: Witness::new(),
            link_witnesses: std::array::from_fn(|_| Witness::new()),
        };
        // SAFETY: fresh memory of `LAYOUT`, which has room for the header, by the assertion above.
        unsafe { chunk.write(Chunk { shared, owned }) };
        block_checks::register_chunk(chunk.addr());
        Some(Self(chunk))
    }

    /// Frees the chunk.
    ///
    /// # Safety
    /// The pointer is from `new`; the caller owns the chunk, which is in no list, and none of its
    /// blocks is in use, or in a list other than the chunk's own.
    pub(super) unsafe fn delete(self) {
        block_checks::unregister_chunk(self.0.addr());
        self.owned.witness.write();
        self.owned.link_witnesses.iter().for_each(Witness::write);
        block_checks::unpoison(self.0.cast(), CHUNK_BYTES);
        // SAFETY: `new` has allocated the chunk by this layout; by the contract nothing refers to
        // the chunk any more.
        unsafe {
            ptr::drop_in_place(self.0.as_ptr());
            dealloc(self.0.cast().as_ptr(), LAYOUT);
        }
    }

    /// Returns the chunk of a block.
    ///
    /// # Safety
    /// `block` is a block, with the provenance of its chunk.
    #[inline(always)]
    pub(super) unsafe fn of(block: NonNull<u8>) -> Self {
        let chunk = block.map_addr(|at| {
            // SAFETY: the block is within a chunk (invariant 1 of `block`), and no chunk is at
            // address 0.
            unsafe { NonZero::new_unchecked(at.get() & !(CHUNK_BYTES - 1)) }
        });
        Self(chunk.cast())
    }

    /// Returns the pointer that `new` made, also if `self` has exposed provenance.
    #[cfg(feature = "allocator-api2")]
    #[inline(always)]
    pub(super) fn original(self) -> Self {
        // SAFETY: the caller has a block of the chunk that was not put back, so the chunk exists
        // (invariant 2 of `block`). Nothing writes this field after `new`. No reference to the
        // header is made with the exposed provenance.
        unsafe { (&raw const (*self.0.as_ptr()).shared.original).read() }
    }

    /// Returns a pointer to the block of this chunk at the address of `block`, with the provenance
    /// of the chunk.
    #[cfg(feature = "allocator-api2")]
    #[inline(always)]
    pub(super) fn block_at(self, block: NonNull<u8>) -> NonNull<u8> {
        self.0.cast().with_addr(block.addr())
    }

    /// Returns a pointer to the block with this index, which is below the chunk's capacity.
    fn block(self, i: usize) -> NonNull<Block> {
        let offset = HEADER_BYTES + i * SIZES[self.class()];
        // SAFETY: the block is within the chunk, as `capacity` counts only blocks that fit.
        unsafe { self.0.cast::<u8>().add(offset).cast() }
    }

    /// Takes the list of freed blocks, or, if it is empty, cuts more blocks; returns null if there
    /// is no room for more. The blocks count as taken from then on. Owner only.
    pub(super) fn take_free(self) -> *mut Block {
        self.owned.witness.write();
        self.owned.taken.set(self.owned.cut_blocks.get());
        let list = self.owned.free.replace(ptr::null_mut());
        if list.is_null() {
            self.cut_more()
        } else {
            list
        }
    }

    /// Cuts more blocks, and returns them as a list; null if the chunk has no room for more.
    fn cut_more(self) -> *mut Block {
        let class = self.class();
        let size = SIZES[class];
        let from = self.owned.cut_blocks.get();
        let to = capacity(class).min(from + CUT_BYTES.div_ceil(size));
        let mut list = ptr::null_mut();
        for i in (from..to).rev() {
            let block = self.block(i);
            // SAFETY: memory of this chunk that was not yet cut into blocks belongs to the heap's
            // owner, the caller.
            unsafe {
                block_checks::fill_cut_block(block.cast(), size);
                set_next(block, list);
            }
            list = block.as_ptr();
        }
        self.owned.cut_blocks.set(to);
        self.owned.taken.set(to);
        list
    }
}

impl Chunk {
    /// Returns the heap that the chunk belongs to for as long as it exists.
    #[inline(always)]
    pub(super) fn heap(&self) -> NonNull<OpaqueHeap> {
        self.shared.heap
    }

    /// Returns the size class of the blocks.
    #[inline(always)]
    pub(super) fn class(&self) -> usize {
        self.shared.class.get()
    }

    /// Returns the bits that say which blocks are in use. Empty unless blocks are checked.
    pub(super) fn in_use(&self) -> &InUseBits {
        &self.shared.in_use
    }

    pub(super) fn state(&self) -> ChunkState {
        self.owned.state.get()
    }

    pub(super) fn set_state(&self, state: ChunkState) {
        self.owned.state.set(state);
    }

    /// Gives a chunk without a taken block another size class. Owner only.
    pub(super) fn assign(&self, class: usize) {
        self.owned.witness.write();
        debug_assert_eq!(self.owned.taken.get(), 0);
        self.shared.class.set(class);
        self.owned.free.set(ptr::null_mut());
        self.owned.cut_blocks.set(0);
    }

    /// Puts a block back. Owner only. Returns whether the free list was empty before, and whether
    /// no block is taken any more.
    ///
    /// # Safety
    /// The block is in this chunk and belongs to the caller: it is not in use, and in no list.
    #[inline(always)]
    pub(super) unsafe fn put(&self, block: NonNull<Block>) -> (bool, bool) {
        self.owned.witness.write();
        let next = self.owned.free.get();
        // SAFETY: the caller gives up the block.
        unsafe { set_next(block, next) };
        self.owned.free.set(block.as_ptr());
        let taken = self.owned.taken.get() - 1;
        self.owned.taken.set(taken);
        (next.is_null(), taken == 0)
    }

    /// Returns whether `take_free` would find a block. Owner only.
    pub(super) fn has_room(&self) -> bool {
        !self.owned.free.get().is_null() || self.owned.cut_blocks.get() < capacity(self.class())
    }

    /// Returns whether no block is taken. Owner only.
    pub(super) fn is_unused(&self) -> bool {
        self.owned.taken.get() == 0
    }

    /// Returns the index of a block; `None` if no block begins at that address.
    pub(super) fn index_of(&self, block: NonNull<u8>) -> Option<usize> {
        let offset = block.addr().get() % CHUNK_BYTES;
        let offset = offset.checked_sub(HEADER_BYTES)?;
        let size = SIZES[self.class()];
        let index = offset / size;
        (offset % size == 0 && index < capacity(self.class())).then_some(index)
    }
}

/// Puts a series of blocks back in one chunk, with the chunk's `free` and `taken` in registers.
#[derive(Clone, Copy)]
pub(super) struct BulkPut {
    pub(super) chunk: ChunkPtr,
    free: *mut Block,
    taken: usize,
}

impl BulkPut {
    /// Begins to put blocks back in `chunk`. Owner only; no other code may access `chunk.owned`
    /// until [`end`](Self::end).
    #[inline(always)]
    pub(super) fn begin(chunk: ChunkPtr) -> Self {
        let (free, taken) = (chunk.owned.free.get(), chunk.owned.taken.get());
        Self { chunk, free, taken }
    }

    /// Puts a block back.
    ///
    /// # Safety
    /// The block is in this chunk and belongs to the caller: it is not in use, and in no list.
    #[inline(always)]
    pub(super) unsafe fn put(&mut self, block: NonNull<Block>) {
        // SAFETY: the caller gives up the block.
        unsafe { set_next(block, self.free) };
        self.free = block.as_ptr();
        self.taken -= 1;
    }

    /// Writes `free` and `taken` to the chunk. Returns whether the chunk may belong in another
    /// list, because its free list was empty before, or it has no taken block any more.
    #[inline(always)]
    pub(super) fn end(self) -> bool {
        let owned = &self.chunk.owned;
        owned.witness.write();
        let was_full = owned.free.replace(self.free).is_null();
        owned.taken.set(self.taken);
        was_full || self.taken == 0
    }
}

/// Returns the next block of a list.
///
/// # Safety
/// The caller owns `block`, which is in a list.
#[inline(always)]
pub(super) unsafe fn next(block: NonNull<Block>) -> *mut Block {
    // SAFETY: the links of a block that is not in use belong to the owner of its list, the caller
    // (invariant 4 of `block`); the pointer to a block has the provenance of its chunk.
    unsafe { witnessed(block, Witness::read, |links| (*links).next) }
}

/// Sets the next block of a list.
///
/// # Safety
/// The caller owns `block`, which is not in use.
#[inline(always)]
pub(super) unsafe fn set_next(block: NonNull<Block>, next: *mut Block) {
    // SAFETY: the links of a block that is not in use belong to the owner of its list, the caller
    // (invariant 4 of `block`); the pointer to a block has the provenance of its chunk.
    unsafe { witnessed(block, Witness::write, |links| (*links).next = next) }
}

/// Returns the batch after the one that begins with `block`.
///
/// # Safety
/// The caller owns `block`, which is the first of a batch.
pub(super) unsafe fn next_batch(block: NonNull<Block>) -> *mut Block {
    // SAFETY: the links of a block that is not in use belong to the owner of its list, the caller
    // (invariant 4 of `block`); the pointer to a block has the provenance of its chunk.
    unsafe { witnessed(block, Witness::read, |links| (*links).next_batch) }
}

/// Sets the batch after the one that begins with `block`.
///
/// # Safety
/// The caller owns `block`, which is not in use.
pub(super) unsafe fn set_next_batch(block: NonNull<Block>, batch: *mut Block) {
    // SAFETY: the links of a block that is not in use belong to the owner of its list, the caller
    // (invariant 4 of `block`); the pointer to a block has the provenance of its chunk.
    unsafe { witnessed(block, Witness::write, |links| (*links).next_batch = batch) }
}

/// Runs `f` on the links of a block. In models, `note` records the access in the witness of these
/// links. While `f` runs, AddressSanitizer allows the access.
///
/// # Safety
/// `block` is a block, with the provenance of its chunk.
#[inline(always)]
unsafe fn witnessed<R>(
    block: NonNull<Block>,
    note: fn(&Witness),
    f: impl FnOnce(*mut Block) -> R,
) -> R {
    if SMALL {
        // SAFETY: the contract is that of `ChunkPtr::of`.
        let chunk = unsafe { ChunkPtr::of(block.cast()) };
        let index = chunk.index_of(block.cast());
        if let Some(witness) = index.and_then(|i| chunk.owned.link_witnesses.get(i)) {
            note(witness);
        }
    }
    block_checks::unpoison(block.cast(), LINK_BYTES);
    let result = f(block.as_ptr());
    block_checks::poison(block.cast(), LINK_BYTES);
    result
}

/// The neighbors of a chunk in a list.
#[derive(Default)]
struct Links {
    prev: Cell<Option<ChunkPtr>>,
    next: Cell<Option<ChunkPtr>>,
}

/// A list of chunks, linked by `of_all` in their headers if `OF_ALL`, or by `in_list`. Owner only.
#[derive(Default)]
pub(super) struct ChunkList<const OF_ALL: bool = false> {
    first: Cell<Option<ChunkPtr>>,
    len: Cell<usize>,
}

/// All chunks of a heap, for readers outside of the process: a current or full chunk is in no other
/// [`ChunkList`].
pub(super) type AllChunks = ChunkList<true>;

impl<const OF_ALL: bool> ChunkList<OF_ALL> {
    pub(super) fn len(&self) -> usize {
        self.len.get()
    }

    /// Returns the links for lists of this kind.
    fn links(chunk: &Chunk) -> &Links {
        if OF_ALL {
            &chunk.owned.of_all
        } else {
            &chunk.owned.in_list
        }
    }

    /// Adds a chunk that is in no list of this kind at the front.
    pub(super) fn push(&self, chunk: ChunkPtr) {
        let next = self.first.replace(Some(chunk));
        if let Some(next) = &next {
            Self::links(next).prev.set(Some(chunk));
        }
        let links = Self::links(&chunk);
        links.prev.set(None);
        links.next.set(next);
        self.len.set(self.len.get() + 1);
    }

    /// Removes a chunk that is in this list.
    pub(super) fn remove(&self, chunk: ChunkPtr) {
        let links = Self::links(&chunk);
        let (prev, next) = (links.prev.get(), links.next.get());
        match &prev {
            Some(prev) => Self::links(prev).next.set(next),
            None => self.first.set(next),
        }
        if let Some(next) = &next {
            Self::links(next).prev.set(prev);
        }
        self.len.set(self.len.get() - 1);
    }

    /// Removes the first chunk.
    pub(super) fn pop(&self) -> Option<ChunkPtr> {
        let first = self.first.get()?;
        self.remove(first);
        Some(first)
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    const OWNED: usize = offset_of!(Chunk, owned);

    pub(crate) const NOTE: &[Entry] = entries! {
        chunk {
            size = CHUNK_BYTES,
            header = HEADER_BYTES,
            heap = offset_of!(Chunk, shared.heap),
            class = offset_of!(Chunk, shared.class),
            free = OWNED + offset_of!(OwnedHeader, free),
            cut = OWNED + offset_of!(OwnedHeader, cut_blocks),
            used = OWNED + offset_of!(OwnedHeader, taken),
            next = OWNED + offset_of!(OwnedHeader, of_all.next),
        }
        block {
            next = offset_of!(Block, next),
            next_batch = offset_of!(Block, next_batch),
        }
    };

    impl AllChunks {
        pub(super) const FIRST: usize = offset_of!(Self, first);
    }
}
