//! The calling thread's heaps.
//!
//! The one of the process's own allocator is found by a thread-local pointer; the others,
//! which are few, by a search. When the thread exits it gives them up. What it frees or
//! allocates after that goes a slower way, but works: blocks are sent home one by one, and
//! come out of a heap that is claimed for that one.

use super::checks;
use super::chunk::ChunkPtr;
use super::error::AllocError;
use super::heap::Heap;
use super::remote_free_batch::{RemoteFreeBatches, send_one};
use super::shared::{Handle, Inner};
use crate::sync::cell::{Cell, UnsafeCell};
use crate::sync::{boxed, lazy, local, unbox};
use crate::thread::current;
use crate::thread::key::ThreadKey;
use crate::thread::record::Record;
use std::ptr::{self, NonNull};
use std::sync::Arc;

lazy! {
    /// The process's own allocator: the one of all pools whose manager has no other.
    pub(crate) static PROCESS: Arc<Handle> =
        Arc::new(Handle::new(super::shared::Settings::default()));
}

struct Mine {
    /// Of the process's own allocator; null before the first use, and after the exit.
    process: Cell<*const Heap>,
    /// The one that was looked for last; null as above, and when it has been given up.
    last: Cell<*const Heap>,
    /// Null before the first use, [`gone`] after the exit.
    heaps: Cell<*const Heaps>,
}

struct Heaps {
    key: ThreadKey,
    /// Of other allocators. Never borrowed while other code runs.
    others: UnsafeCell<Vec<NonNull<Heap>>>,
    outgoing: RemoteFreeBatches,
}

local! {
    static MINE: Mine = Mine {
        process: Cell::new(ptr::null()),
        last: Cell::new(ptr::null()),
        heaps: Cell::new(ptr::null()),
    };
}

fn gone() -> *const Heaps {
    ptr::without_provenance(usize::MAX)
}

/// What the thread has, made by the first use; `None` once it has exited.
fn heaps<'h>() -> Option<&'h Heaps> {
    let mut heaps = MINE.with(|mine| mine.heaps.get());
    if heaps.is_null() {
        heaps = enter();
    }
    // SAFETY: there until the thread's exit.
    (heaps != gone()).then(|| unsafe { &*heaps })
}

/// The same, if the thread has used them.
fn heaps_if_any<'h>() -> Option<&'h Heaps> {
    let heaps = MINE.with(|mine| mine.heaps.get());
    // SAFETY: there until the thread's exit.
    (!heaps.is_null() && heaps != gone()).then(|| unsafe { &*heaps })
}

#[cold]
fn enter() -> *const Heaps {
    let heaps = match current::current_that_exits() {
        Some(record) => {
            current::set_last_exit_hook(exit);
            boxed(Heaps {
                key: record.key(),
                others: UnsafeCell::new(Vec::new()),
                outgoing: RemoteFreeBatches::new(),
            })
            .as_ptr()
            .cast_const()
        }
        None => gone(),
    };
    MINE.with(|mine| mine.heaps.set(heaps));
    heaps
}

/// What a thread's exit does with its heaps, after its pools have gone.
fn exit(_record: &Arc<Record>) {
    let process = MINE.with(|mine| mine.process.replace(ptr::null()));
    MINE.with(|mine| mine.last.set(ptr::null()));
    let heaps = MINE.with(|mine| mine.heaps.replace(gone()));
    let heaps = NonNull::new(heaps.cast_mut()).expect("whoever has the hook has heaps");
    // SAFETY: boxed by `enter`; nobody finds it any more.
    let heaps = unsafe { unbox(heaps) };
    heaps.outgoing.send();
    let process = NonNull::new(process.cast_mut());
    for heap in process.into_iter().chain(heaps.others.into_inner()) {
        // SAFETY: it was this thread's.
        unsafe { Heap::give_up(heap) };
    }
}

impl Heaps {
    fn find(&self, allocator: &Arc<Inner>) -> Option<NonNull<Heap>> {
        // SAFETY: this thread's heaps are there.
        let is = |heap: &NonNull<Heap>| Arc::ptr_eq(&unsafe { heap.as_ref() }.allocator, allocator);
        self.others.with_mut(|others| {
            // SAFETY: the thread's own; nothing else runs meanwhile.
            let others = unsafe { &mut *others };
            let at = others.iter().position(is)?;
            // Few are used at a time: those move to the front.
            others.swap(0, at);
            Some(others[0])
        })
    }

    fn remove(&self, heap: &Heap) {
        MINE.with(|mine| mine.last.set(ptr::null()));
        self.others.with_mut(|others| {
            // SAFETY: as in `find`.
            unsafe { &mut *others }.retain(|other| !ptr::eq(other.as_ptr(), heap));
        });
    }

    /// Gives up the heaps whose allocators have closed on other threads.
    fn prune(&self) {
        // SAFETY: this thread's heaps are there.
        let closed = |heap: &NonNull<Heap>| unsafe { heap.as_ref() }.returns.is_closed();
        let take_closed = || {
            self.others.with_mut(|others| {
                // SAFETY: as in `find`.
                let others = unsafe { &mut *others };
                let at = others.iter().position(closed)?;
                Some(others.swap_remove(at))
            })
        };
        while let Some(heap) = take_closed() {
            MINE.with(|mine| mine.last.set(ptr::null()));
            // SAFETY: it was this thread's.
            unsafe { Heap::give_up(heap) };
        }
    }

    #[cold]
    fn add(&self, allocator: &Arc<Inner>) -> NonNull<Heap> {
        self.prune();
        let heap = allocator.claim();
        // SAFETY: just claimed.
        unsafe { heap.as_ref() }.set_owner(self.key);
        if Arc::ptr_eq(allocator, &PROCESS.0) {
            MINE.with(|mine| mine.process.set(heap.as_ptr()));
        } else {
            // SAFETY: as in `find`.
            self.others
                .with_mut(|others| unsafe { (*others).push(heap) });
        }
        heap
    }
}

/// The calling thread's heap of the process's own allocator, if it has used it.
#[inline(always)]
pub(crate) fn process_heap() -> Option<NonNull<Heap>> {
    NonNull::new(MINE.with(|mine| mine.process.get()).cast_mut())
}

/// The calling thread's heap of the allocator, if that is the one that was looked for last.
#[inline(always)]
pub(crate) fn last_heap(allocator: &Arc<Inner>) -> Option<NonNull<Heap>> {
    let last = NonNull::new(MINE.with(|mine| mine.last.get()).cast_mut())?;
    // SAFETY: this thread's heaps are there.
    Arc::ptr_eq(&unsafe { last.as_ref() }.allocator, allocator).then_some(last)
}

/// The calling thread's heap of an allocator that has a handle; `None` once it has exited.
pub(crate) fn heap_of(allocator: &Arc<Inner>) -> Option<NonNull<Heap>> {
    if let Some(heap) = last_heap(allocator) {
        return Some(heap);
    }
    let heaps = heaps()?;
    let known = if Arc::ptr_eq(allocator, &PROCESS.0) {
        process_heap()
    } else {
        heaps.find(allocator)
    };
    let heap = known.unwrap_or_else(|| heaps.add(allocator));
    MINE.with(|mine| mine.last.set(heap.as_ptr()));
    Some(heap)
}

/// A block of `class` out of a heap of the calling thread, or, if it has none yet, out of the
/// allocator, which has a handle; `None` is the process's.
#[inline(always)]
pub(crate) fn alloc(
    heap: Option<NonNull<Heap>>,
    allocator: Option<&Arc<Inner>>,
    class: usize,
    waste: usize,
) -> Result<NonNull<u8>, AllocError> {
    if let Some(heap) = heap {
        // SAFETY: the calling thread's own.
        if let Some(block) = unsafe { heap.as_ref().alloc(class, waste) } {
            return Ok(block);
        }
    }
    alloc_slowly(allocator, class, waste)
}

#[cold]
#[inline(never)]
fn alloc_slowly(
    allocator: Option<&Arc<Inner>>,
    class: usize,
    waste: usize,
) -> Result<NonNull<u8>, AllocError> {
    let allocator = allocator.unwrap_or_else(|| &PROCESS.0);
    let from_any = || {
        if let Some(heap) = heap_of(allocator) {
            // SAFETY: the calling thread's own.
            return unsafe {
                let heap = heap.as_ref();
                let block = heap.alloc(class, waste);
                block.map_or_else(|| heap.alloc_slowly(class, waste), Ok)
            };
        }
        let heap = allocator.claim();
        // SAFETY: claimed, and given up when the block is out of it.
        unsafe {
            let block = heap.as_ref().alloc_slowly(class, waste);
            Heap::give_up(heap);
            block
        }
    };
    from_any().or_else(|_| {
        // There was no memory for a chunk; now there may be.
        allocator.trim();
        from_any()
    })
}

/// Frees a block, whosever it is.
///
/// # Safety
/// A block of the class that the caller gives up, of which `waste` bytes were not needed,
/// with the provenance of its chunk.
#[inline(always)]
pub(crate) unsafe fn free(block: NonNull<u8>, class: usize, waste: usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        checks::given_back(block, class);
        let chunk = ChunkPtr::of(block);
        let heap = chunk.heap();
        if ptr::eq(MINE.with(|mine| mine.process.get()), heap.as_ptr()) {
            heap.as_ref().free(chunk, block.cast(), class, waste);
        } else {
            free_elsewhere(chunk, block, class, waste);
        }
    }
}

/// # Safety
/// As [`free`].
#[inline(never)]
unsafe fn free_elsewhere(chunk: ChunkPtr, block: NonNull<u8>, class: usize, waste: usize) {
    let at = chunk.heap();
    let block = block.cast();
    // SAFETY: a heap is there as long as one of its blocks is not home.
    let heap = unsafe { at.as_ref() };
    let closed = heap.returns.is_closed();
    let Some(heaps) = heaps() else {
        // SAFETY: by the caller's promise.
        return unsafe { send_one(at, block, waste) };
    };
    // SAFETY: by the caller's promise; the heap is this thread's where it says so.
    unsafe {
        if heap.is_owned_by(heaps.key) {
            heap.free(chunk, block, class, waste);
            if closed {
                heaps.remove(heap);
                Heap::give_up(at);
            }
        } else if closed {
            // Somebody may wait for it to be the last one.
            send_one(at, block, waste);
        } else {
            heaps.outgoing.add(at, block, waste);
        }
    }
}

/// If the heap is the calling thread's, it is not any more: whether it was. The caller has
/// to give it up.
pub(crate) fn disown(heap: &Heap) -> bool {
    let Some(heaps) = heaps_if_any() else {
        return false;
    };
    let mine = heap.is_owned_by(heaps.key);
    if mine {
        heaps.remove(heap);
        MINE.with(|mine| {
            if ptr::eq(mine.process.get(), heap) {
                mine.process.set(ptr::null());
            }
        });
    }
    mine
}

/// Sends home what the thread has freed of others' blocks.
pub(crate) fn send_outgoing() {
    if let Some(heaps) = heaps_if_any() {
        heaps.outgoing.send();
    }
}

/// What a thread does about its memory when it has time: at the end of a frame, say.
pub(crate) fn idle() {
    let Some(heaps) = heaps_if_any() else {
        return;
    };
    heaps.outgoing.send();
    heaps.prune();
    let process = NonNull::new(MINE.with(|mine| mine.process.get()).cast_mut());
    // SAFETY: the thread's own; nothing else runs meanwhile.
    let others = heaps.others.with(|others| unsafe { &*others });
    for heap in process.iter().chain(others) {
        // SAFETY: the calling thread's own.
        unsafe { heap.as_ref() }.idle();
    }
}
