//! A heap: the blocks of one thread, from one allocator.
//!
//! Its owner alone hands blocks out and takes them back, with no atomic read-modify-write.
//! What other threads free comes home by [`RemoteFreeList`]. When the owner ends, the heap stays
//! as it is, and waits for another thread: so a block's heap is the same for ever, and
//! nobody need ask who owns it just now.
//!
//! For each class there is a *bin*: a list of blocks to hand out next, all out of the
//! class's *current* chunk. Blocks that come back go to their chunks, and become part of
//! the bin's list when that has run out: as in mimalloc, by Leijen, Zorn and de Moura
//! (2019), whose pages are our chunks.

use super::checks;
use super::chunk::{Block, ChunkPtr, Chunks, Putting, State, next};
use super::error::AllocError;
use super::figures::Figures;
use super::remote_free_list::{Pending, RemoteFreeList};
use super::shared::Inner;
use super::size_class::SIZES;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{Counter, FreeWitness, SMALL, Witness, boxed, prefetch, unbox};
use crate::thread::key::ThreadKey;
use crossbeam_utils::CachePadded;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Blocks that an owner sorts at a time of those that have come home: more than a refill
/// hands out, so that it keeps up with them; and no more, so that no request waits long.
pub(crate) const SORTED: usize = if SMALL { 4 } else { 1_024 };

/// Calls of [`Heap::idle`] in which a chunk is not needed, until it goes.
const PATIENCE: u32 = if SMALL { 2 } else { 60 };

/// Chunks that one such call gives back, at most.
const GIVEN_BACK: usize = 16;

/// Unused chunks that a heap without an owner keeps.
const KEPT_IDLE: usize = 2;

/// See the module.
pub(crate) struct Heap {
    bins: [Bin; SIZES.len()],
    /// Chunks without a block in use.
    unused: Chunks,
    /// The least that were unused since `window` began.
    least_unused: Cell<usize>,
    window: Cell<u32>,
    /// Taken out of `returns`, and still to be sorted.
    pending: Pending,
    witness: Witness,
    /// Written when it is made and deleted, read by who finds it in the list.
    pub(super) made: Witness,
    pub(crate) figures: Figures,
    /// Itself, with the provenance of all of it.
    at: Cell<*mut Heap>,
    /// The next one of the allocator: never changes once others see the heap.
    pub(crate) next: Cell<*const Heap>,
    pub(crate) allocator: Arc<Inner>,
    /// The key of the thread that owns it, as two halves; `NOBODY` if none does.
    owner: AtomicU64,
    pub(crate) returns: CachePadded<RemoteFreeList>,
}

/// See the module.
struct Bin {
    free: Cell<*mut Block>,
    /// Handed out since the beginning.
    handed_out: Counter,
    /// Taken back.
    taken_back: Counter,
    current: Cell<Option<ChunkPtr>>,
    /// Others that have room.
    listed: Chunks,
}

impl Bin {
    /// Takes the next block out.
    #[inline(always)]
    fn pop(&self) -> Option<NonNull<Block>> {
        let block = NonNull::new(self.free.get())?;
        // SAFETY: blocks in the bin are its owner's, who is the caller.
        let next = unsafe { next(block) };
        self.free.set(next);
        prefetch(next);
        Some(block)
    }
}

/// Takes back one block after the other, all of one class. Those in a row are mostly of one
/// chunk: what that comes to is in registers, until there is another; and the heap counts
/// at the end.
#[must_use = "to be ended by `end`"]
pub(crate) struct TakingBack<'h> {
    heap: &'h Heap,
    class: usize,
    waste: usize,
    n: usize,
    putting: Option<Putting>,
}

impl<'h> TakingBack<'h> {
    /// # Safety
    /// The caller owns the heap, for as long as this lives, and does nothing else with it
    /// meanwhile; `class` is one. `waste` bytes of each block were not needed.
    #[inline(always)]
    pub(crate) unsafe fn begin(heap: &'h Heap, class: usize, waste: usize) -> Self {
        Self {
            heap,
            class,
            waste,
            n: 0,
            putting: None,
        }
    }

    /// Whether a block is of this heap: then it may be the next.
    ///
    /// # Safety
    /// A block of the class.
    #[inline(always)]
    pub(crate) unsafe fn is_ours(&mut self, block: NonNull<u8>) -> bool {
        // SAFETY: by the caller's promise.
        let chunk = unsafe { ChunkPtr::of(block) };
        if self.putting.is_none_or(|putting| putting.chunk != chunk) {
            if !ptr::eq(chunk.heap().as_ptr(), self.heap) {
                return false;
            }
            self.heap.finish(self.putting);
            self.putting = Some(Putting::begin(chunk));
        }
        true
    }

    /// Takes the block back.
    ///
    /// # Safety
    /// `is_ours` has just said so of it, and the caller gives it up.
    #[inline(always)]
    pub(crate) unsafe fn free(&mut self, block: NonNull<u8>) {
        // SAFETY: by the caller's promise.
        unsafe {
            checks::given_back(block, self.class);
            self.heap.witness.write();
            // `is_ours` has put it there.
            if let Some(putting) = &mut self.putting {
                putting.put(block.cast());
            }
        }
        self.n += 1;
    }

    /// To be called when the last block has been taken back. Not a destructor: nothing here
    /// panics, and what one would need has to be in memory, each time.
    #[inline(always)]
    pub(crate) fn end(self) {
        self.heap.finish(self.putting);
        // SAFETY: by the promise of who made it.
        unsafe {
            self.heap
                .count_back(self.class, self.n, self.n * self.waste)
        };
    }
}

fn word(key: ThreadKey) -> u64 {
    u64::from(key.index()) << 32 | u64::from(key.generation())
}

impl Heap {
    /// Of nobody, but its maker's to use.
    pub(crate) fn make(allocator: Arc<Inner>) -> NonNull<Self> {
        let heap = boxed(Self {
            bins: std::array::from_fn(|_| Bin {
                free: Cell::new(ptr::null_mut()),
                handed_out: Counter::new(),
                taken_back: Counter::new(),
                current: Cell::new(None),
                listed: Chunks::new(),
            }),
            unused: Chunks::new(),
            least_unused: Cell::new(0),
            window: Cell::new(0),
            pending: Pending::new(),
            witness: Witness::new(),
            made: Witness::new(),
            figures: Figures::new(),
            at: Cell::new(ptr::null_mut()),
            next: Cell::new(ptr::null()),
            allocator,
            owner: AtomicU64::new(word(ThreadKey::NOBODY)),
            returns: CachePadded::new(RemoteFreeList::new()),
        });
        // SAFETY: just made.
        let this = unsafe { heap.as_ref() };
        this.at.set(heap.as_ptr());
        this.made.write();
        heap
    }

    pub(crate) fn set_owner(&self, key: ThreadKey) {
        // Relaxed: only the owner itself ever finds its own key here, as it is the one that
        // wrote it, and takes it away before others can own the heap. A swap, as the models
        // make loads as read-modify-writes, and loom has no order of those and stores.
        self.owner.swap(word(key), Ordering::Relaxed);
    }

    pub(crate) fn is_owned_by(&self, key: ThreadKey) -> bool {
        self.owner() == word(key)
    }

    fn owner(&self) -> u64 {
        // Relaxed: as in `set_owner`.
        self.owner.load(Ordering::Relaxed)
    }

    pub(crate) fn has_owner(&self) -> bool {
        !self.is_owned_by(ThreadKey::NOBODY)
    }

    /// For messages.
    pub(crate) fn owner_label(&self) -> String {
        let owner = self.owner();
        if owner == word(ThreadKey::NOBODY) {
            return "a heap without a thread".to_owned();
        }
        let key = ThreadKey::new((owner >> 32) as u32, owner as u32);
        format!("thread {key}'s heap")
    }

    /// Blocks of the class that are handed out and have not come home.
    pub(crate) fn live(&self, class: usize) -> u64 {
        let bin = &self.bins[class];
        // In this order, or a block that comes and goes meanwhile would count as less than
        // none.
        let taken_back = bin.taken_back.get();
        bin.handed_out.get().saturating_sub(taken_back)
    }

    /// A block, uninitialised, if the bin has one; `waste` bytes of it are not needed.
    ///
    /// # Safety
    /// The caller owns the heap; `class` is one.
    #[inline(always)]
    pub(crate) unsafe fn alloc(&self, class: usize, waste: usize) -> Option<NonNull<u8>> {
        self.witness.write();
        // SAFETY: by the caller's promise.
        let bin = unsafe { self.bins.get_unchecked(class) };
        let block = bin.pop()?;
        Some(self.hand_out(bin, block, class, waste))
    }

    /// The same, where the bin may have to be filled.
    ///
    /// # Safety
    /// As [`Heap::alloc`].
    pub(crate) unsafe fn alloc_slowly(
        &self,
        class: usize,
        waste: usize,
    ) -> Result<NonNull<u8>, AllocError> {
        self.witness.write();
        let block = self.refill(class)?;
        Ok(self.hand_out(&self.bins[class], block, class, waste))
    }

    #[inline(always)]
    fn hand_out(
        &self,
        bin: &Bin,
        block: NonNull<Block>,
        class: usize,
        waste: usize,
    ) -> NonNull<u8> {
        bin.handed_out.add(1);
        if waste != 0 {
            self.figures.waste.add(waste as u64);
        }
        // SAFETY: ours, and now the caller's.
        unsafe { checks::handed_out(block.cast(), class) };
        block.cast()
    }

    /// Takes a block of the class back.
    ///
    /// # Safety
    /// The caller owns the heap; the block is of `chunk`, which is of this heap, and nobody
    /// uses it.
    #[inline(always)]
    pub(crate) unsafe fn free(
        &self,
        chunk: ChunkPtr,
        block: NonNull<Block>,
        class: usize,
        waste: usize,
    ) {
        // SAFETY: by the caller's promise.
        unsafe {
            self.count_back(class, 1, waste);
            self.put(chunk, block);
        }
    }

    /// The same, to be counted by [`Heap::count_back`].
    ///
    /// # Safety
    /// As [`Heap::free`].
    #[inline(always)]
    unsafe fn put(&self, chunk: ChunkPtr, block: NonNull<Block>) {
        self.witness.write();
        // SAFETY: by the caller's promise.
        let (was_full, unused) = unsafe { chunk.put(block) };
        if was_full || unused {
            self.changed(chunk);
        }
    }

    /// Counts `n` blocks of the class that were taken back.
    ///
    /// # Safety
    /// The caller owns the heap; `class` is one.
    #[inline(always)]
    unsafe fn count_back(&self, class: usize, n: usize, waste: usize) {
        if waste != 0 {
            self.figures.waste_back.add(waste as u64);
        }
        // SAFETY: by the caller's promise.
        let bin = unsafe { self.bins.get_unchecked(class) };
        bin.taken_back.add(n as u64);
    }

    /// Counts a block that was resized where it is, by any thread: `before` bytes of it were
    /// not needed, and now `after` are not.
    #[cfg(feature = "allocator-api2")]
    #[inline]
    pub(crate) fn count_resize(&self, before: usize, after: usize) {
        if before != after {
            let less = (before as u64).wrapping_sub(after as u64);
            self.figures.waste_sent.add_shared(less);
        }
    }

    /// Writes down what was put in a chunk. By value, so that it is in registers until then.
    #[inline(never)]
    fn finish(&self, putting: Option<Putting>) {
        if let Some(putting) = putting {
            let chunk = putting.chunk;
            if putting.end() {
                self.changed(chunk);
            }
        }
    }

    /// A chunk has its first free block, or all of its blocks are free.
    #[cold]
    #[inline(never)]
    fn changed(&self, chunk: ChunkPtr) {
        let listed = &self.bins[chunk.class()].listed;
        if chunk.state() == State::Full {
            listed.push(chunk, State::Listed);
        }
        if chunk.is_unused() && chunk.state() == State::Listed {
            listed.remove(chunk);
            self.unused.push(chunk, State::Empty);
            self.figures.unused.set(self.unused.len() as u64);
        }
    }

    /// Gets blocks for a bin that has none; gives the first.
    fn refill(&self, class: usize) -> Result<NonNull<Block>, AllocError> {
        if self.has_messages() {
            self.sort(SORTED);
        }
        if self.figures.is_asked_to_trim() {
            self.trim();
        }
        let bin = &self.bins[class];
        let mut grown = false;
        loop {
            if let Some(first) = bin.pop() {
                if grown {
                    // Foreign code, which may use this heap. The block is out of the bin, so
                    // that a hook that trims does not take the chunk away that it is told of.
                    self.allocator.watch();
                }
                return Ok(first);
            }
            if let Some(chunk) = bin.current.get() {
                bin.free.set(chunk.take());
                if !bin.free.get().is_null() {
                    continue;
                }
                chunk.set_state(State::Full);
                bin.current.set(None);
            }
            let listed = bin.listed.pop();
            grown = listed.is_none() && self.unused.len() == 0;
            let chunk = match listed {
                Some(chunk) => chunk,
                None => self.empty_chunk(class)?,
            };
            chunk.set_state(State::Current);
            bin.current.set(Some(chunk));
        }
    }

    /// A chunk of the class with no block in use.
    fn empty_chunk(&self, class: usize) -> Result<ChunkPtr, AllocError> {
        let chunk = match self.unused.pop() {
            Some(chunk) => {
                let unused = self.unused.len();
                self.figures.unused.set(unused as u64);
                self.least_unused.set(self.least_unused.get().min(unused));
                chunk
            }
            None => {
                let at = NonNull::new(self.at.get()).expect("set by `make`");
                let new = || ChunkPtr::new(at);
                let chunk = self.allocator.admit(class, new)?;
                self.figures.set_chunks(self.figures.chunks() + 1);
                chunk
            }
        };
        chunk.assign(class);
        Ok(chunk)
    }

    pub(crate) fn has_messages(&self) -> bool {
        self.returns.has_messages() || !self.pending.is_empty()
    }

    /// For the owner: puts up to `most` of the blocks that have come home in their chunks.
    pub(crate) fn sort(&self, most: usize) {
        let mut sorted = 0;
        while sorted < most {
            let Some(block) = self.pending.next(&self.returns) else {
                break;
            };
            // SAFETY: a block is of a chunk.
            let chunk = unsafe { ChunkPtr::of(block.cast()) };
            // SAFETY: the block is of this heap, and has come home.
            unsafe { self.free(chunk, block, chunk.class(), 0) };
            sorted += 1;
        }
        self.figures.remote.add(sorted as u64);
        self.figures.inbox.subtract_shared(sorted as u64);
    }

    /// For the owner: puts what bins have not handed out back in the chunks.
    fn empty_bins(&self) {
        for bin in &self.bins {
            let Some(chunk) = bin.current.take() else {
                continue;
            };
            while let Some(block) = NonNull::new(bin.free.get()) {
                // SAFETY: blocks in the bin are ours, and out of the current chunk.
                unsafe {
                    bin.free.set(next(block));
                    chunk.put(block);
                }
            }
            chunk.set_state(State::Full);
            if chunk.has_room() {
                self.changed(chunk);
            }
        }
    }

    /// For the owner: gives unused chunks back to the system, but for `kept`. How many.
    fn give_back(&self, most: usize, kept: usize) -> usize {
        let n = most.min(self.unused.len().saturating_sub(kept));
        for chunk in (0..n).map_while(|_| self.unused.pop()) {
            // SAFETY: no block is in use, and it is in no list.
            unsafe { chunk.delete() };
            self.allocator.gave_back();
        }
        self.figures.set_chunks(self.figures.chunks() - n as u64);
        self.figures.unused.set(self.unused.len() as u64);
        self.least_unused
            .set(self.least_unused.get().min(self.unused.len()));
        n
    }

    /// For the owner: gives back all that is not needed just now. How many chunks.
    pub(crate) fn trim(&self) -> usize {
        self.figures.trims();
        self.sort(usize::MAX);
        self.empty_bins();
        self.give_back(usize::MAX, 0)
    }

    /// For the owner, when it has time: sorts some of what has come home, and gives back what
    /// was not needed for a while.
    pub(crate) fn idle(&self) {
        if self.has_messages() {
            self.sort(SORTED);
        }
        if self.figures.is_asked_to_trim() {
            self.trim();
        }
        let window = self.window.get() + 1;
        self.window.set(window);
        if window >= PATIENCE {
            // Half of it, so that a need that comes once in a while costs ever less. Over
            // several calls, as giving back costs microseconds.
            let spare = self.least_unused.get().div_ceil(2);
            let n = self.give_back(GIVEN_BACK.min(spare), 0);
            if n == spare {
                self.window.set(0);
                self.least_unused.set(self.unused.len());
            } else {
                self.least_unused.set(2 * (spare - n));
            }
        }
    }

    /// For the owner, who gives the heap up, once nothing in it is being used. Who owns it
    /// next finds it by the allocator; if that has closed, by what comes home. The last one
    /// deletes it.
    ///
    /// # Safety
    /// The heap is the caller's, and it does not use it any more.
    pub(crate) unsafe fn give_up(heap: NonNull<Self>) {
        {
            // SAFETY: the caller's.
            let this = unsafe { heap.as_ref() };
            this.witness.write();
            this.set_owner(ThreadKey::NOBODY);
            if !this.returns.is_closed() {
                this.empty_bins();
                this.give_back(usize::MAX, KEPT_IDLE);
            }
            loop {
                let closed = this.returns.is_closed();
                if closed {
                    this.trim();
                    if this.figures.chunks() == 0 {
                        break;
                    }
                }
                if this.returns.leave(closed) {
                    return;
                }
            }
        }
        // SAFETY: no block is left that would come home, and nobody looks for heaps of an
        // allocator without handles.
        drop(unsafe { unbox(heap) });
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        self.owner.freed();
        self.figures.freed();
        self.witness.write();
        self.made.write();
    }
}
