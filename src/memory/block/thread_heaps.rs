//! The calling thread's heaps, and frees to any heap. Blocks of other threads' heaps are freed in
//! batches, with one read-modify-write for each batch.
//!
//! A thread-local pointer leads to the heap of the process-wide allocator; a search finds the
//! thread's other heaps, which are few. A thread that exits abandons its heaps. It can still free
//! and allocate afterwards, but more slowly: it sends blocks to their heaps one by one, and claims
//! a heap for each allocation.

use super::block_checks;
use super::chunk::{Block, CHUNK_BYTES, ChunkPtr, set_next};
use super::heap::Heap;
use super::remote_free_list::PushOutcome;
use super::shared::AllocatorShared;
use super::size_class::SIZES;
use crate::sync::cell::{Cell, UnsafeCell};
use crate::sync::{SMALL, boxed, described, local, reserve, unbox};
use crate::thread::current::{self, HookOf};
use crate::thread::key::ThreadKey;
use crate::thread::record::Record;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Thread-local pointers to the thread's heaps.
struct HeapPointers {
    /// The heap of the process-wide allocator; null before the first use, and after the exit.
    process: Cell<*const Heap>,
    /// The heap that was found last; null before the first use, after the exit, and when that heap
    /// has been abandoned.
    last: Cell<*const Heap>,
    /// The thread's `ThreadHeaps`; null before the first use, [`EXITED`] after the exit.
    heaps: Cell<*const ThreadHeaps>,
}

/// The heaps of a thread, and the remote frees that it gathers.
pub(super) struct ThreadHeaps {
    key: ThreadKey,
    /// The heaps of allocators other than the process-wide one. Never borrowed while a destructor,
    /// a hook or the global allocator runs.
    others: UnsafeCell<Vec<NonNull<Heap>>>,
    batches: RemoteFreeBatches,
}

local! {
    static POINTERS: HeapPointers = HeapPointers {
        process: Cell::new(ptr::null()),
        last: Cell::new(ptr::null()),
        heaps: Cell::new(ptr::null()),
    };
}

/// The pointer that stands for the heaps of a thread that has exited.
const EXITED: *const ThreadHeaps = ptr::without_provenance(usize::MAX);

#[cold]
fn enter() -> *const ThreadHeaps {
    let heaps = match current::current_that_exits() {
        Some(record) => {
            current::set_exit_hook(HookOf::Memory, exit);
            let heaps = boxed(ThreadHeaps {
                key: record.key(),
                others: UnsafeCell::new(Vec::new()),
                batches: RemoteFreeBatches::new(),
            });
            // The global allocator is foreign code: in `boxed`, it may have called `enter`, too.
            let others = POINTERS.with(|pointers| pointers.heaps.get());
            if !others.is_null() {
                // SAFETY: the `ThreadHeaps` was just made, and nothing leads to it.
                drop(unsafe { unbox(heaps) });
                return others;
            }
            record.outside.heaps.set(heaps.addr().get() as u64);
            heaps.as_ptr().cast_const()
        }
        None => EXITED,
    };
    POINTERS.with(|pointers| pointers.heaps.set(heaps));
    heaps
}

/// Abandons the heaps of a thread that exits, after its pools have been drained.
fn exit(record: &Arc<Record>) {
    record.outside.heaps.set(0);
    let process = POINTERS.with(|pointers| pointers.process.replace(ptr::null()));
    POINTERS.with(|pointers| pointers.last.set(ptr::null()));
    let heaps = POINTERS.with(|pointers| pointers.heaps.replace(EXITED));
    let heaps = NonNull::new(heaps.cast_mut()).expect("`enter` sets this hook and the heaps");
    // SAFETY: boxed by `enter`; the thread-local pointer to the `ThreadHeaps` has just been
    // replaced.
    let heaps = unsafe { unbox(heaps) };
    heaps.batches.send();
    let process = NonNull::new(process.cast_mut());
    for heap in process.into_iter().chain(heaps.others.into_inner()) {
        // SAFETY: this thread owns the heap, and has no other pointer to it any more.
        unsafe { Heap::abandon(heap) };
    }
}

impl ThreadHeaps {
    /// Returns the calling thread's `ThreadHeaps`, which the first use makes; `None` once the
    /// thread has exited.
    pub(super) fn current<'h>() -> Option<&'h Self> {
        let mut heaps = POINTERS.with(|pointers| pointers.heaps.get());
        if heaps.is_null() {
            heaps = enter();
        }
        // SAFETY: boxed by `enter`, and freed only by the thread's exit, which first replaces the
        // pointer.
        (heaps != EXITED).then(|| unsafe { &*heaps })
    }

    /// Returns the calling thread's `ThreadHeaps`, if it has any and has not exited.
    fn current_if_any<'h>() -> Option<&'h Self> {
        let heaps = POINTERS.with(|pointers| pointers.heaps.get());
        // SAFETY: boxed by `enter`, and freed only by the thread's exit, which first replaces the
        // pointer.
        (!heaps.is_null() && heaps != EXITED).then(|| unsafe { &*heaps })
    }

    /// Returns the heap of an allocator other than the process's, if the thread has one.
    pub(super) fn find(&self, allocator: &Arc<AllocatorShared>) -> Option<NonNull<Heap>> {
        // SAFETY: a heap that this thread owns exists (invariant 3 of `block`).
        let is = |heap: &NonNull<Heap>| Arc::ptr_eq(&unsafe { heap.as_ref() }.allocator, allocator);
        self.others.with_mut(|others| {
            // SAFETY: only this thread has access to the list, and no other borrow lives meanwhile.
            let others = unsafe { &mut *others };
            let at = others.iter().position(is)?;
            // A thread uses few heaps at a time, so a heap that is used moves to the front.
            others.swap(0, at);
            Some(others[0])
        })
    }

    /// Calls `f` for each heap. Keeps no borrow of the list during a call: `f` may call the global
    /// allocator, which is foreign code and may add heaps.
    fn each(&self, f: impl Fn(&Heap)) {
        let nth = |n| {
            // SAFETY: only this thread has access to the list, and no other borrow lives meanwhile.
            let nth = |others: *const Vec<_>| unsafe { &*others }.get(n).copied();
            self.others.with(nth)
        };
        for heap in process_heap().into_iter().chain((0..).map_while(nth)) {
            // SAFETY: this thread owns its heaps, so they exist (invariant 3 of `block`).
            f(unsafe { heap.as_ref() });
        }
    }

    /// Removes a heap from the list of the thread's heaps.
    fn remove(&self, heap: &Heap) {
        POINTERS.with(|pointers| pointers.last.set(ptr::null()));
        self.others.with_mut(|others| {
            // SAFETY: only this thread has access to the list, and no other borrow lives meanwhile.
            unsafe { &mut *others }.retain(|other| !ptr::eq(other.as_ptr(), heap));
        });
    }

    /// Abandons heaps of allocators that have closed on other threads.
    fn abandon_closed(&self) {
        // SAFETY: a heap that this thread owns exists (invariant 3 of `block`).
        let closed = |heap: &NonNull<Heap>| unsafe { heap.as_ref() }.remote_frees.is_closed();
        let take_closed = || {
            self.others.with_mut(|others| {
                // SAFETY: only this thread has access to the list, and no other borrow lives
                // meanwhile.
                let others = unsafe { &mut *others };
                let at = others.iter().position(closed)?;
                Some(others.swap_remove(at))
            })
        };
        while let Some(heap) = take_closed() {
            POINTERS.with(|pointers| pointers.last.set(ptr::null()));
            // SAFETY: this thread owns the heap, and has no other pointer to it any more.
            unsafe { Heap::abandon(heap) };
        }
    }

    /// Claims a heap of an allocator that has a handle, and of which the thread has no heap yet.
    #[cold]
    pub(super) fn add(&self, allocator: &Arc<AllocatorShared>, is_process: bool) -> NonNull<Heap> {
        self.abandon_closed();
        let heap = allocator.claim();
        let change = |f: &mut dyn FnMut(&mut Vec<_>)| {
            // SAFETY: only this thread has access to the list, and no other borrow lives meanwhile.
            self.others.with_mut(|others| f(unsafe { &mut *others }));
        };
        reserve(change);
        let others = if is_process {
            process_heap()
        } else {
            self.find(allocator)
        };
        if let Some(others) = others {
            // The global allocator is foreign code: called by `claim` or `reserve`, it has added a
            // heap of this allocator.
            // SAFETY: `claim` has made this thread the owner, and nothing leads to the claimed
            // heap.
            unsafe { Heap::abandon(heap) };
            return others;
        }
        // SAFETY: `claim` has made this thread the owner.
        unsafe { heap.as_ref() }.owner.set(self.key);
        if is_process {
            POINTERS.with(|pointers| pointers.process.set(heap.as_ptr()));
        } else {
            change(&mut |others| others.push(heap));
        }
        heap
    }
}

/// Returns the calling thread's heap of the process-wide allocator, if it has one.
#[inline(always)]
pub(crate) fn process_heap() -> Option<NonNull<Heap>> {
    NonNull::new(POINTERS.with(|pointers| pointers.process.get()).cast_mut())
}

/// Returns the place of the pointer that [`process_heap`] reads. The place exists until the calling
/// thread ends.
pub(crate) fn process_heap_place() -> NonNull<Cell<*const Heap>> {
    POINTERS.with(|pointers| NonNull::from(&pointers.process))
}

/// Returns the calling thread's heap of the allocator, if that is the heap that was found last.
#[inline(always)]
pub(crate) fn last_heap(allocator: &Arc<AllocatorShared>) -> Option<NonNull<Heap>> {
    let last = NonNull::new(POINTERS.with(|pointers| pointers.last.get()).cast_mut())?;
    // SAFETY: a heap that this thread owns exists (invariant 3 of `block`).
    Arc::ptr_eq(&unsafe { last.as_ref() }.allocator, allocator).then_some(last)
}

/// Makes [`last_heap`] return this heap, which is the calling thread's.
pub(super) fn set_last_heap(heap: NonNull<Heap>) {
    POINTERS.with(|pointers| pointers.last.set(heap.as_ptr()));
}

/// Frees a block of any thread's heap.
///
/// # Safety
/// `block` is a block of the class, with the provenance of its chunk, and `waste` bytes
/// larger than was asked for; the caller gives it up.
#[inline(always)]
pub(crate) unsafe fn free(block: NonNull<u8>, class: usize, waste: usize) {
    let own = || POINTERS.with(|pointers| pointers.process.get());
    // SAFETY: forwards the contract.
    unsafe { free_with(own, block, class, waste) };
}

/// Frees a block of any thread's heap. `own` returns the pointer that [`process_heap`] reads.
///
/// # Safety
/// The contract of [`free`].
#[inline(always)]
pub(crate) unsafe fn free_with(
    own: impl FnOnce() -> *const Heap,
    block: NonNull<u8>,
    class: usize,
    waste: usize,
) {
    // SAFETY: by the contract, the caller gives up the block. `own` returns the thread-local
    // pointer, and this thread owns the heap to which that pointer leads.
    unsafe {
        block_checks::freed(block, class, Heap::owner_label);
        let chunk = ChunkPtr::of(block);
        let heap = Heap::of(chunk);
        if ptr::eq(own(), heap.as_ptr()) {
            heap.as_ref().free(chunk, block.cast(), class, waste);
        } else {
            free_elsewhere(chunk, block, class, waste);
        }
    }
}

/// Frees a block that is not from the thread's heap of the process-wide allocator.
///
/// # Safety
/// The contract of [`free`]; the block is of `chunk`.
#[inline(never)]
unsafe fn free_elsewhere(chunk: ChunkPtr, block: NonNull<u8>, class: usize, waste: usize) {
    let at = Heap::of(chunk);
    let block = block.cast();
    // SAFETY: a heap exists as long as one of its blocks was not put back (invariant 2 of `block`).
    let heap = unsafe { at.as_ref() };
    let closed = heap.remote_frees.is_closed();
    let Some(heaps) = ThreadHeaps::current() else {
        // SAFETY: a block of this heap that the caller gives up; it becomes a batch of one.
        return unsafe {
            set_next(block, ptr::null_mut());
            send(at, block, 1, waste);
        };
    };
    // SAFETY: a block of this heap that the caller gives up. If the heap's `owner` is this thread's
    // key, this thread owns the heap (invariant 3 of `block`); it does not use the heap after
    // `abandon`, which removes the key.
    unsafe {
        if heap.owner.is(heaps.key) {
            heap.free(chunk, block, class, waste);
            if closed {
                heaps.remove(heap);
                Heap::abandon(at);
            }
        } else {
            heaps.batches.add(at, block, waste);
            if closed || SIZES[class] > GATHERED_BYTES {
                // Sends the block at once, with the rest of its batch: after a close, the batch may
                // have the heap's last block, and only its arrival frees the heap.
                heaps.batches.send_to(at);
            }
        }
    }
}

/// Forgets the heap if it is the calling thread's. Returns whether it was; if so, the caller has to
/// abandon the heap.
pub(super) fn disown(heap: &Heap) -> bool {
    let Some(heaps) = ThreadHeaps::current_if_any() else {
        return false;
    };
    let is_ours = heap.owner.is(heaps.key);
    if is_ours {
        heaps.remove(heap);
        POINTERS.with(|pointers| {
            if ptr::eq(pointers.process.get(), heap) {
                pointers.process.set(ptr::null());
            }
        });
    }
    is_ours
}

/// Sends the remote frees that the calling thread has gathered to their heaps.
pub(crate) fn send_batches() {
    if let Some(heaps) = ThreadHeaps::current_if_any() {
        heaps.batches.send();
    }
}

/// Sends the gathered remote frees, and frees unused memory of the calling thread's heaps. Loops
/// call this when the thread has time: at the end of a frame, say.
pub(crate) fn idle() {
    let Some(heaps) = ThreadHeaps::current_if_any() else {
        return;
    };
    heaps.batches.send();
    heaps.abandon_closed();
    heaps.each(Heap::idle);
}

/// Trims the heaps of the calling thread that other threads have asked it to trim. A thread calls
/// this when a bin has run out, and in outermost drains. If there is no request, and the thread has
/// only the heap of the process-wide allocator, the call takes a few loads.
pub(crate) fn answer_trim_requests() {
    if let Some(heaps) = ThreadHeaps::current_if_any() {
        heaps.each(Heap::answer_trim_request);
    }
}

/// The greatest number of blocks in a batch.
const BATCH: usize = if SMALL { 2 } else { 64 };

/// A larger block is sent at once, with its batch: so no thread keeps a batch larger than a chunk.
const GATHERED_BYTES: usize = CHUNK_BYTES / 64;

/// The number of heaps for which a thread gathers batches at a time: a power of two.
const BATCHES: usize = if SMALL { 2 } else { 8 };

/// The batches that a thread gathers; the address of a heap gives the index of its batch.
#[repr(transparent)]
struct RemoteFreeBatches([RemoteFreeBatch; BATCHES]);

/// A list of blocks of one heap. It belongs to the thread until it is sent.
struct RemoteFreeBatch {
    /// The heap of the blocks, which exists as long as the batch has a block (invariant 2 of
    /// `block`); null if the batch is empty.
    heap: Cell<*const Heap>,
    first: Cell<*mut Block>,
    len: Cell<usize>,
    /// The length at which the batch is sent.
    most: Cell<usize>,
    waste: Cell<usize>,
}

impl RemoteFreeBatches {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| RemoteFreeBatch {
            heap: Cell::new(ptr::null()),
            first: Cell::new(ptr::null_mut()),
            len: Cell::new(0),
            most: Cell::new(BATCH),
            waste: Cell::new(0),
        }))
    }

    /// Adds a block to its heap's batch, and sends the batch if it is full.
    ///
    /// # Safety
    /// The block is of this heap, and the caller gives it up.
    #[inline]
    pub(super) unsafe fn add(&self, heap: NonNull<Heap>, block: NonNull<Block>, waste: usize) {
        let batch = self.of(heap);
        if !ptr::eq(batch.heap.get(), heap.as_ptr()) {
            batch.send();
            batch.heap.set(heap.as_ptr());
            // SAFETY: a heap exists as long as one of its blocks was not put back (invariant 2 of
            // `block`).
            let is_capped = unsafe { heap.as_ref() }.allocator.hard_cap().is_some();
            // With a hard cap, another thread may lack the memory of this block, and could not see
            // that this thread keeps it in a batch.
            batch.most.set(if is_capped { 1 } else { BATCH });
        }
        // SAFETY: the caller gives up the block, so it belongs to this thread until it is sent.
        unsafe { set_next(block, batch.first.get()) };
        batch.first.set(block.as_ptr());
        batch.waste.set(batch.waste.get() + waste);
        batch.len.set(batch.len.get() + 1);
        if batch.len.get() == batch.most.get() {
            batch.send();
        }
    }

    /// Returns the batch for `heap`; the batch may still hold blocks of another heap.
    #[inline(always)]
    fn of(&self, heap: NonNull<Heap>) -> &RemoteFreeBatch {
        // A heap takes about 2 KiB, so neighboring heaps get different batches.
        &self.0[(heap.addr().get() / 2_048) % BATCHES]
    }

    /// Sends the gathered blocks of `heap`; if there are none, `heap` may be freed already.
    #[cold]
    fn send_to(&self, heap: NonNull<Heap>) {
        let batch = self.of(heap);
        if ptr::eq(batch.heap.get(), heap.as_ptr()) {
            batch.send();
        }
    }

    /// Sends all batches.
    pub(super) fn send(&self) {
        self.0.iter().for_each(RemoteFreeBatch::send);
    }
}

impl RemoteFreeBatch {
    /// Sends the batch, if there is a block in it.
    #[cold]
    fn send(&self) {
        if let Some(first) = NonNull::new(self.first.replace(ptr::null_mut())) {
            // Forgets the heap: once `send` has run, another heap may have its address.
            let heap = self.heap.replace(ptr::null()).cast_mut();
            let heap = NonNull::new(heap).expect("`add` has set it");
            // SAFETY: blocks of this heap, linked by `add`; this thread owns them, and gives them
            // up here.
            unsafe { send(heap, first, self.len.take(), self.waste.take()) };
        }
    }
}

/// Sends a batch to its heap.
///
/// # Safety
/// The caller owns the batch of `len` blocks of `heap` that begins with `first`, and gives it up.
unsafe fn send(heap: NonNull<Heap>, first: NonNull<Block>, len: usize, waste: usize) {
    let outcome = {
        // SAFETY: a heap exists as long as one of its blocks was not put back (invariant 2 of
        // `block`).
        let heap = unsafe { heap.as_ref() };
        let counters = &heap.counters;
        // In models, this read stands for the changes of the counters. The changes must come before
        // the push, after which the heap may be freed.
        heap.made.read();
        counters.inbox.add_shared(len as u64);
        counters.waste_lowered.add_shared(waste as u64);
        // SAFETY: the batch is the caller's, and of this heap.
        unsafe { heap.remote_frees.push(first) }
    };
    if outcome == PushOutcome::HeapIsYours {
        // SAFETY: `push` has made this thread the owner.
        unsafe { Heap::abandon(heap) };
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        batches {
            first = offset_of!(ThreadHeaps, batches),
            count = BATCHES,
            size = size_of::<RemoteFreeBatch>(),
            block = offset_of!(RemoteFreeBatch, first),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_neighboring_heaps_are_in_different_batches() {
        let batches = RemoteFreeBatches::new();
        let place = |n: usize| {
            let heap = NonNull::new(ptr::without_provenance_mut(n * 2_048));
            ptr::from_ref(batches.of(heap.expect("not at 0")))
        };
        assert_ne!(place(1), place(2));
    }
}
