//! Chunks: aligned pieces of memory, each cut into blocks of one class.
//!
//! ```text
//! [heap, class] [free list, counts, links] [block] [block] [block] ...
//! ^ aligned to the chunk's size
//! ```
//!
//! A block finds its chunk by rounding its address down, so it has no word of its own
//! while it is in use. A free one has two: the next block of a list, and, if it stands
//! first in a batch on its way home, the next batch.

use super::checks::{self, Marks};
use super::heap::Heap;
use super::size_class::SIZES;
use crate::sync::cell::Cell;
use crate::sync::{SMALL, Witness, alloc, const_fn, dealloc};
use std::alloc::Layout;
use std::num::NonZero;
use std::ops::Deref;
use std::ptr::{self, NonNull};

/// Bytes of a chunk, and what it is aligned to.
pub(crate) const CHUNK: usize = if SMALL { 4_096 } else { 65_536 };

/// Bytes that are cut into blocks at a time, so that no page is touched before it is
/// needed.
const STRETCH: usize = 4_096;

/// Models have only so many blocks in a chunk.
const FEW: usize = 3;

const LAYOUT: Layout = match Layout::from_size_align(CHUNK, CHUNK) {
    Ok(layout) => layout,
    Err(_) => panic!("a power of two"),
};

/// A free block.
#[repr(C)]
pub(crate) struct Block {
    next: *mut Block,
    next_batch: *mut Block,
}

/// What a chunk is to its heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Blocks are handed out from it.
    Current,
    /// In the list of those of its class that have free blocks.
    Listed,
    /// Has no free block, and is in no list.
    Full,
    /// Has no block in use, and is in the heap's list of those.
    Empty,
}

/// What stands before the blocks.
#[repr(C)]
pub(crate) struct Chunk {
    seen: Seen,
    own: Own,
}

/// What other threads see: on a line of its own.
#[repr(C, align(64))]
struct Seen {
    heap: NonNull<Heap>,
    /// The chunk itself, with the provenance of all of it.
    #[cfg(feature = "allocator-api2")]
    at: ChunkPtr,
    /// Changes only while no block is in use.
    class: Cell<usize>,
    marks: Marks,
}

/// What the heap's owner alone sees.
#[repr(C, align(64))]
struct Own {
    /// Blocks that have come back.
    free: Cell<*mut Block>,
    /// Blocks that were cut and are not in `free`: in use, or in the heap's bin.
    used: Cell<usize>,
    /// Blocks that were cut.
    cut: Cell<usize>,
    state: Cell<State>,
    prev: Cell<Option<ChunkPtr>>,
    next: Cell<Option<ChunkPtr>>,
    witness: Witness,
    /// One for each block, in models.
    witnesses: [Witness; if SMALL { FEW } else { 0 }],
}

const HEAD: usize = size_of::<Chunk>();

/// How many blocks of a class a chunk has.
const fn capacity(class: usize) -> usize {
    let most = (CHUNK - HEAD) / SIZES[class];
    if SMALL && most > FEW { FEW } else { most }
}

// No refill may be larger than what one gathers.
const _: () = assert!(HEAD <= CHUNK / 8 && capacity(SIZES.len() - 1) > 1);

/// A chunk that is there, with the provenance of all its memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkPtr(NonNull<Chunk>);

impl Deref for ChunkPtr {
    type Target = Chunk;

    #[inline(always)]
    fn deref(&self) -> &Chunk {
        // SAFETY: the chunk is there, as who has one of these sees to.
        unsafe { self.0.as_ref() }
    }
}

impl ChunkPtr {
    /// A chunk of no class; none if the system has no memory.
    pub(crate) fn new(heap: NonNull<Heap>) -> Option<Self> {
        // SAFETY: the layout has a size.
        let chunk = NonNull::new(unsafe { alloc(LAYOUT) })?.cast::<Chunk>();
        let seen = Seen {
            heap,
            #[cfg(feature = "allocator-api2")]
            at: Self(chunk),
            class: Cell::new(0),
            marks: Marks::new(),
        };
        let own = Own {
            free: Cell::new(ptr::null_mut()),
            used: Cell::new(0),
            cut: Cell::new(0),
            state: Cell::new(State::Full),
            prev: Cell::new(None),
            next: Cell::new(None),
            witness: Witness::new(),
            witnesses: std::array::from_fn(|_| Witness::new()),
        };
        // SAFETY: fresh memory, large enough.
        unsafe { chunk.write(Chunk { seen, own }) };
        checks::enter(chunk.addr());
        Some(Self(chunk))
    }

    /// Gives it back to the system.
    ///
    /// # Safety
    /// Made by `new`; no block of it is in use or in a list.
    pub(crate) unsafe fn delete(self) {
        checks::leave(self.0.addr());
        self.own.witness.write();
        self.own.witnesses.iter().for_each(Witness::write);
        checks::open(self.0.cast(), CHUNK);
        // SAFETY: by the caller's promise.
        unsafe {
            ptr::drop_in_place(self.0.as_ptr());
            dealloc(self.0.cast().as_ptr(), LAYOUT);
        }
    }

    /// The chunk of a block.
    ///
    /// # Safety
    /// `block` is a block, with the provenance of its chunk.
    #[inline(always)]
    pub(crate) unsafe fn of(block: NonNull<u8>) -> Self {
        let chunk = block.map_addr(|at| {
            // SAFETY: the allocator gives no memory below the first chunk's size.
            unsafe { NonZero::new_unchecked(at.get() & !(CHUNK - 1)) }
        });
        Self(chunk.cast())
    }

    /// Returns this pointer as `new` made it. For a pointer whose own provenance is an exposed
    /// one.
    #[cfg(feature = "allocator-api2")]
    #[inline(always)]
    pub(crate) fn original(self) -> Self {
        // SAFETY: the chunk is there, as for `deref`, and nothing writes this field after `new`.
        // No reference to the header is made by the exposed provenance.
        unsafe { (&raw const (*self.0.as_ptr()).seen.at).read() }
    }

    /// Returns the pointer to a block of this chunk, with the provenance of the chunk.
    #[cfg(feature = "allocator-api2")]
    #[inline(always)]
    pub(crate) fn block_at(self, block: NonNull<u8>) -> NonNull<u8> {
        self.0.cast().with_addr(block.addr())
    }

    fn block(self, i: usize) -> NonNull<Block> {
        let offset = HEAD + i * SIZES[self.class()];
        // SAFETY: within the chunk.
        unsafe { self.0.cast::<u8>().add(offset).cast() }
    }

    /// For the owner: takes all free blocks, in a list; null if there is none. They count as
    /// used.
    pub(crate) fn take(self) -> *mut Block {
        self.own.witness.write();
        self.own.used.set(self.own.cut.get());
        let list = self.own.free.replace(ptr::null_mut());
        if list.is_null() { self.cut() } else { list }
    }

    /// Cuts more blocks.
    fn cut(self) -> *mut Block {
        let class = self.class();
        let size = SIZES[class];
        let from = self.own.cut.get();
        let to = capacity(class).min(from + STRETCH.div_ceil(size));
        let mut list = ptr::null_mut();
        for i in (from..to).rev() {
            let block = self.block(i);
            // SAFETY: within the chunk, and not in use.
            unsafe {
                checks::fresh(block.cast(), size);
                set_next(block, list);
            }
            list = block.as_ptr();
        }
        self.own.cut.set(to);
        self.own.used.set(to);
        list
    }
}

impl Chunk {
    #[inline(always)]
    pub(crate) fn heap(&self) -> NonNull<Heap> {
        self.seen.heap
    }

    #[inline(always)]
    pub(crate) fn class(&self) -> usize {
        self.seen.class.get()
    }

    pub(crate) fn marks(&self) -> &Marks {
        &self.seen.marks
    }

    pub(crate) fn state(&self) -> State {
        self.own.state.get()
    }

    pub(crate) fn set_state(&self, state: State) {
        self.own.state.set(state);
    }

    /// For the owner: blocks of another class from now on. No block is in use.
    pub(crate) fn assign(&self, class: usize) {
        self.own.witness.write();
        debug_assert_eq!(self.own.used.get(), 0);
        self.seen.class.set(class);
        self.own.free.set(ptr::null_mut());
        self.own.cut.set(0);
    }

    /// For the owner: takes a block back. What it was before: (no block was free, none is in
    /// use any more).
    ///
    /// # Safety
    /// A block of this chunk that nobody uses.
    #[inline(always)]
    pub(crate) unsafe fn put(&self, block: NonNull<Block>) -> (bool, bool) {
        self.own.witness.write();
        let next = self.own.free.get();
        // SAFETY: ours.
        unsafe { set_next(block, next) };
        self.own.free.set(block.as_ptr());
        let used = self.own.used.get() - 1;
        self.own.used.set(used);
        (next.is_null(), used == 0)
    }

    /// For the owner: whether `take` has something to give.
    pub(crate) fn has_room(&self) -> bool {
        !self.own.free.get().is_null() || self.own.cut.get() < capacity(self.class())
    }

    /// For the owner: whether no block is in use.
    pub(crate) fn is_unused(&self) -> bool {
        self.own.used.get() == 0
    }

    /// Which block this is; none if it is no beginning of one.
    pub(crate) fn index_of(&self, block: NonNull<u8>) -> Option<usize> {
        let offset = block.addr().get() % CHUNK;
        let offset = offset.checked_sub(HEAD)?;
        let size = SIZES[self.class()];
        (offset % size == 0 && offset / size < capacity(self.class())).then_some(offset / size)
    }

    fn witness_of(&self, block: NonNull<Block>) -> Option<&Witness> {
        if SMALL {
            self.index_of(block.cast())
                .and_then(|i| self.own.witnesses.get(i))
        } else {
            None
        }
    }
}

/// Puts blocks back in a chunk, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Putting {
    pub(crate) chunk: ChunkPtr,
    free: *mut Block,
    used: usize,
}

impl Putting {
    /// For the owner, who does nothing else with the chunk until the end.
    #[inline(always)]
    pub(crate) fn begin(chunk: ChunkPtr) -> Self {
        let (free, used) = (chunk.own.free.get(), chunk.own.used.get());
        Self { chunk, free, used }
    }

    /// # Safety
    /// A block of this chunk that nobody uses.
    #[inline(always)]
    pub(crate) unsafe fn put(&mut self, block: NonNull<Block>) {
        // SAFETY: ours.
        unsafe { set_next(block, self.free) };
        self.free = block.as_ptr();
        self.used -= 1;
    }

    /// Whether no block was free before, or none is in use any more.
    #[inline(always)]
    pub(crate) fn end(self) -> bool {
        let own = &self.chunk.own;
        own.witness.write();
        let was_full = own.free.replace(self.free).is_null();
        own.used.set(self.used);
        was_full || self.used == 0
    }
}

/// The next block of a list.
///
/// # Safety
/// The caller owns `block`, which is in a list.
#[inline(always)]
pub(crate) unsafe fn next(block: NonNull<Block>) -> *mut Block {
    // SAFETY: by the caller's promise.
    unsafe {
        witness_read(block);
        checks::open_links(block.cast());
        let next = (*block.as_ptr()).next;
        checks::close_links(block.cast());
        next
    }
}

/// # Safety
/// The caller owns `block`, which nobody uses.
#[inline(always)]
pub(crate) unsafe fn set_next(block: NonNull<Block>, next: *mut Block) {
    // SAFETY: by the caller's promise.
    unsafe {
        witness_write(block);
        checks::open_links(block.cast());
        (&raw mut (*block.as_ptr()).next).write(next);
        checks::close_links(block.cast());
    }
}

/// The next batch, of a batch's first block.
///
/// # Safety
/// The caller owns `block`, which stands first in a batch.
pub(crate) unsafe fn next_batch(block: NonNull<Block>) -> *mut Block {
    // SAFETY: by the caller's promise.
    unsafe {
        witness_read(block);
        checks::open_links(block.cast());
        let next = (*block.as_ptr()).next_batch;
        checks::close_links(block.cast());
        next
    }
}

/// # Safety
/// The caller owns `block`, which nobody uses.
pub(crate) unsafe fn set_next_batch(block: NonNull<Block>, batch: *mut Block) {
    // SAFETY: by the caller's promise.
    unsafe {
        witness_write(block);
        checks::open_links(block.cast());
        (&raw mut (*block.as_ptr()).next_batch).write(batch);
        checks::close_links(block.cast());
    }
}

/// # Safety
/// `block` is a block.
#[inline(always)]
unsafe fn witness_read(block: NonNull<Block>) {
    if SMALL {
        // SAFETY: by the caller's promise.
        let chunk = unsafe { ChunkPtr::of(block.cast()) };
        chunk.witness_of(block).into_iter().for_each(Witness::read);
    }
}

/// # Safety
/// `block` is a block.
#[inline(always)]
unsafe fn witness_write(block: NonNull<Block>) {
    if SMALL {
        // SAFETY: by the caller's promise.
        let chunk = unsafe { ChunkPtr::of(block.cast()) };
        chunk.witness_of(block).into_iter().for_each(Witness::write);
    }
}

/// A list of chunks, linked both ways.
pub(crate) struct Chunks {
    first: Cell<Option<ChunkPtr>>,
    len: Cell<usize>,
}

impl Chunks {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self {
                first: Cell::new(None),
                len: Cell::new(0),
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    pub(crate) fn push(&self, chunk: ChunkPtr, state: State) {
        let next = self.first.replace(Some(chunk));
        if let Some(next) = next {
            next.own.prev.set(Some(chunk));
        }
        chunk.own.prev.set(None);
        chunk.own.next.set(next);
        chunk.set_state(state);
        self.len.set(self.len.get() + 1);
    }

    /// Takes a chunk out that is in this list.
    pub(crate) fn remove(&self, chunk: ChunkPtr) {
        let (prev, next) = (chunk.own.prev.get(), chunk.own.next.get());
        match prev {
            Some(prev) => prev.own.next.set(next),
            None => self.first.set(next),
        }
        if let Some(next) = next {
            next.own.prev.set(prev);
        }
        self.len.set(self.len.get() - 1);
    }

    pub(crate) fn pop(&self) -> Option<ChunkPtr> {
        let first = self.first.get()?;
        self.remove(first);
        Some(first)
    }
}
