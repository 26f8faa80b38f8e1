//! Handles to an allocator: allocating and trimming, which need a handle, and closing the allocator
//! with the last handle.

use super::chunk::CHUNK_BYTES;
use super::error::AllocError;
use super::heap::Heap;
use super::shared::{AllocatorSettings, AllocatorShared, SoftCapHook};
use super::thread_heaps;
use super::thread_heaps::ThreadHeaps;
use crate::sync::{catch_unwind, lazy};
use crate::unwind::report;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

lazy! {
    /// The process-wide allocator, for pools of managers without an allocator of their own.
    pub(crate) static PROCESS: Arc<AllocatorHandle> =
        Arc::new(AllocatorHandle::new(AllocatorSettings::default()));
}

/// The state that the clones of a `BlockAllocator` share. When it is dropped, the allocator closes: heaps
/// that no thread owns are freed, and other heaps as soon as their blocks are freed.
pub(crate) struct AllocatorHandle {
    pub(crate) shared: Arc<AllocatorShared>,
    /// Keeps the hook alive, which `shared` refers to weakly.
    on_soft_cap: Option<Arc<SoftCapHook>>,
}

impl AllocatorHandle {
    pub(super) fn new(settings: AllocatorSettings) -> Self {
        Self {
            shared: Arc::new(AllocatorShared::new(&settings)),
            on_soft_cap: settings.on_soft_cap,
        }
    }
}

impl fmt::Debug for AllocatorHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

impl Drop for AllocatorHandle {
    fn drop(&mut self) {
        // Blocks of this allocator that this thread has freed must not keep heaps alive.
        thread_heaps::send_batches();
        for heap in self.shared.heaps() {
            // SAFETY: nobody frees it before it is closed, below (invariant 5 of `block`).
            let was_ours = thread_heaps::disown(unsafe { heap.as_ref() });
            // SAFETY: as above.
            if unsafe { heap.as_ref() }.remote_frees.close() || was_ours {
                // SAFETY: this thread owns it: it did before, or `close` has made it the owner.
                unsafe { Heap::abandon(heap) };
            }
        }
        // Dropping the hook drops its captures, which is foreign code. A pool or a thread may be
        // ending further up the stack, and no panic may leave that.
        let hook = self.on_soft_cap.take();
        if let Err(payload) = catch_unwind(|| drop(hook)) {
            report(payload);
        }
    }
}

/// Returns the calling thread's heap of an allocator that has a handle; `None` once the thread has
/// exited.
fn heap_of(allocator: &Arc<AllocatorShared>) -> Option<NonNull<Heap>> {
    if let Some(heap) = thread_heaps::last_heap(allocator) {
        return Some(heap);
    }
    let heaps = ThreadHeaps::current()?;
    let is_process = Arc::ptr_eq(allocator, &PROCESS.shared);
    let known = if is_process {
        thread_heaps::process_heap()
    } else {
        heaps.find(allocator)
    };
    let heap = known.unwrap_or_else(|| heaps.add(allocator, is_process));
    thread_heaps::set_last_heap(heap);
    Some(heap)
}

/// Allocates a block of `class`, of which `fragmentation` bytes were not asked for: from `heap`, a
/// heap of the calling thread; if there is none or it has run out, from `allocator`, which has a
/// handle, or else from the process-wide allocator.
#[inline(always)]
pub(crate) fn alloc(
    heap: Option<NonNull<Heap>>,
    allocator: Option<&Arc<AllocatorShared>>,
    class: usize,
    fragmentation: usize,
) -> Result<NonNull<u8>, AllocError> {
    if let Some(heap) = heap {
        // SAFETY: the calling thread owns its heaps (invariant 3 of `block`).
        if let Some(block) = unsafe { heap.as_ref().alloc(class, fragmentation) } {
            return Ok(block);
        }
    }
    alloc_slowly(allocator, class, fragmentation)
}

#[cold]
#[inline(never)]
fn alloc_slowly(
    allocator: Option<&Arc<AllocatorShared>>,
    class: usize,
    fragmentation: usize,
) -> Result<NonNull<u8>, AllocError> {
    thread_heaps::answer_trim_requests();
    let allocator = allocator.unwrap_or_else(|| &PROCESS.shared);
    let from_any_heap = || {
        if let Some(heap) = heap_of(allocator) {
            // SAFETY: the calling thread owns its heaps (invariant 3 of `block`).
            return unsafe {
                let heap = heap.as_ref();
                let block = heap.alloc(class, fragmentation);
                block.map_or_else(|| heap.alloc_or_refill(class, fragmentation), Ok)
            };
        }
        let heap = allocator.claim();
        // SAFETY: `claim` has made this thread the owner, until it has the block.
        unsafe {
            let block = heap.as_ref().alloc_or_refill(class, fragmentation);
            Heap::abandon(heap);
            block
        }
    };
    from_any_heap().or_else(|_| {
        // The system had no memory for a chunk; after a trim it may have some.
        trim(allocator);
        from_any_heap()
    })
}

/// Frees the unused chunks of the calling thread's heap and of heaps that no thread owns, and asks
/// other threads to free theirs. Returns how many bytes were freed. The allocator must have a
/// handle.
pub(super) fn trim(allocator: &Arc<AllocatorShared>) -> usize {
    let own = heap_of(allocator);
    let mut chunks = 0;
    for at in allocator.heaps() {
        // SAFETY: in the list, and the allocator has a handle (invariant 5 of `block`).
        let heap = unsafe { at.as_ref() };
        if Some(at) == own {
            chunks += heap.trim();
        } else if heap.remote_frees.adopt() {
            chunks += heap.trim();
            // SAFETY: `adopt` has made this thread the owner.
            unsafe { Heap::abandon(at) };
        } else {
            heap.counters.request_trim();
            heap.owner.nudge();
        }
    }
    chunks * CHUNK_BYTES
}
