//! What the heaps of one allocator have in common.

use super::chunk::{CHUNK, ChunkPtr};
use super::error::AllocError;
use super::heap::Heap;
use super::size_class::SIZES;
use super::stats::BlockStats;
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::sync::{Counter, FreeWitness, catch_unwind};
use crate::unwind::report;
use std::alloc::Layout;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Weak};

/// Called with what the allocator has, when that is more than its soft cap.
type SoftCapHook = dyn Fn(&BlockStats) + Send + Sync;

#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) soft_cap: Option<usize>,
    pub(crate) on_soft_cap: Option<Arc<SoftCapHook>>,
    pub(crate) hard_cap: Option<usize>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("soft_cap", &self.soft_cap)
            .field("hard_cap", &self.hard_cap)
            .finish_non_exhaustive()
    }
}

/// Lives as long as one of its heaps, or a handle.
#[derive(Debug)]
pub(crate) struct Inner {
    /// A list that only grows, until the allocator has closed: linked by `Heap::next`.
    heaps: AtomicPtr<Heap>,
    soft_cap: Option<usize>,
    hard_cap: Option<usize>,
    /// Belongs to the handle: this lives on until the last block is home, and what the hook
    /// has captured must not be dropped in the middle of somebody's free.
    on_soft_cap: Option<Weak<SoftCapHook>>,
    /// Chunks that there are, or that are just being made.
    chunks: AtomicU64,
    peak_chunks: Counter,
    /// Not 0 while there is more than the soft cap, and that has been said.
    said: AtomicU64,
    /// Requests that were handed to the global allocator, and their bytes.
    pub(super) large: Counter,
    pub(super) large_bytes: Counter,
}

impl Inner {
    fn new(settings: &Settings) -> Self {
        Self {
            heaps: AtomicPtr::new(ptr::null_mut()),
            soft_cap: settings.soft_cap,
            hard_cap: settings.hard_cap,
            on_soft_cap: settings.on_soft_cap.as_ref().map(Arc::downgrade),
            chunks: AtomicU64::new(0),
            peak_chunks: Counter::new(),
            said: AtomicU64::new(0),
            large: Counter::new(),
            large_bytes: Counter::new(),
        }
    }

    /// All heaps. Only for who has a handle: they may go once the allocator has closed.
    pub(crate) fn heaps(&self) -> impl Iterator<Item = NonNull<Heap>> {
        // Acquire: pairs with the Release in `claim`, so that a heap that others made is
        // seen whole. Model: memory_adoption.
        let mut at = NonNull::new(self.heaps.load(Ordering::Acquire));
        std::iter::from_fn(move || {
            let heap = at?;
            // SAFETY: in the list, and the allocator has a handle.
            let this = unsafe { heap.as_ref() };
            this.made.read();
            // Before the caller does anything with it.
            at = NonNull::new(this.next.get().cast_mut());
            Some(heap)
        })
    }

    /// A heap that is the caller's: one that nobody owns, or a new one. Only for who has a
    /// handle.
    pub(crate) fn claim(self: &Arc<Self>) -> NonNull<Heap> {
        // SAFETY: in the list, and the allocator has a handle.
        let idle = self
            .heaps()
            .find(|heap| unsafe { heap.as_ref() }.returns.adopt());
        idle.unwrap_or_else(|| {
            let heap = Heap::make(self.clone());
            // SAFETY: just made, and nobody else has seen it.
            unsafe { self.enlist(heap) };
            heap
        })
    }

    /// Puts a heap in the list.
    ///
    /// # Safety
    /// It is in no list, and the caller has exclusive access to it.
    unsafe fn enlist(&self, heap: NonNull<Heap>) {
        let mut head = self.heaps.load(Ordering::Relaxed);
        loop {
            // SAFETY: exclusive access, see above.
            unsafe { heap.as_ref() }.next.set(head);
            // Release: pairs with the Acquire in `heaps`. Model: memory_adoption.
            match self.heaps.compare_exchange_weak(
                head,
                heap.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Makes a chunk, if there may be one more.
    pub(crate) fn admit(
        &self,
        class: usize,
        make: impl FnOnce() -> Option<ChunkPtr>,
    ) -> Result<ChunkPtr, AllocError> {
        // Relaxed: counted before it is made, and until after it has gone, so there are never more
        // than this says. It orders nothing.
        let held = (self.chunks.fetch_add(1, Ordering::Relaxed) as usize + 1) * CHUNK;
        let chunk = match self.hard_cap {
            Some(cap) if held > cap => Err(AllocError::Capped {
                cap,
                held: held - CHUNK,
            }),
            _ => make().ok_or_else(|| {
                let layout = Layout::from_size_align(SIZES[class], super::size_class::ALIGN);
                let layout = layout.expect("as all blocks are");
                AllocError::OutOfMemory { layout }
            }),
        };
        match chunk {
            Ok(_) => self.peak_chunks.raise_shared((held / CHUNK) as u64),
            Err(_) => self.count_one_less(),
        }
        chunk
    }

    fn count_one_less(&self) {
        // Relaxed: as in `admit`.
        self.chunks.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn peak_chunk_bytes(&self) -> u64 {
        self.peak_chunks.get() * CHUNK as u64
    }

    /// Gives back what is not needed: of the calling thread's heap and of those that nobody
    /// owns; other threads are asked to. How many bytes. Only for who has a handle.
    pub(crate) fn trim(self: &Arc<Self>) -> usize {
        let own = super::thread_heaps::heap_of(self);
        let mut chunks = 0;
        for at in self.heaps() {
            // SAFETY: in the list, and the allocator has a handle.
            let heap = unsafe { at.as_ref() };
            if Some(at) == own {
                chunks += heap.trim();
            } else if heap.returns.adopt() {
                chunks += heap.trim();
                // SAFETY: adopted.
                unsafe { Heap::give_up(at) };
            } else {
                heap.figures.ask_to_trim();
            }
        }
        chunks * CHUNK
    }

    /// A request of this layout is handed to the global allocator.
    pub(crate) fn count_large(&self, layout: Layout) {
        self.large.add_shared(1);
        self.large_bytes.add_shared(layout.size() as u64);
    }

    /// A chunk went back to the system.
    pub(crate) fn gave_back(&self) {
        // Relaxed: as in `admit`.
        let left = self.chunks.fetch_sub(1, Ordering::Relaxed) as usize - 1;
        if self.soft_cap.is_some_and(|cap| left * CHUNK <= cap) {
            // Relaxed: the hook is called once more or less, by how the threads come.
            self.said.store(0, Ordering::Relaxed);
        }
    }

    /// Says so if there is more than the soft cap: once, until there is less again. Foreign
    /// code, which may use all heaps. Only for who has a handle.
    pub(crate) fn watch(&self) {
        // Relaxed: as in `admit` and `gave_back`.
        let held = || self.chunks.load(Ordering::Relaxed) as usize * CHUNK;
        let is_exceeded = self.soft_cap.is_some_and(|cap| held() > cap);
        if !is_exceeded || self.said.swap(1, Ordering::Relaxed) != 0 {
            return;
        }
        if let Some(hook) = self.on_soft_cap.as_ref().and_then(Weak::upgrade) {
            let stats = self.stats();
            if let Err(payload) = catch_unwind(|| hook(&stats)) {
                report(payload);
            }
        }
    }
}

/// A handle: when the last one goes, so do the heaps that nobody owns, and the others as
/// soon as their blocks have come home.
pub(crate) struct Handle(pub(crate) Arc<Inner>, Option<Arc<SoftCapHook>>);

impl Handle {
    pub(crate) fn new(settings: Settings) -> Self {
        Self(Arc::new(Inner::new(&settings)), settings.on_soft_cap)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // What this thread has freed of it is not in use.
        super::thread_heaps::send_outgoing();
        for heap in self.0.heaps() {
            // SAFETY: it may go only once it has been closed.
            let mine = super::thread_heaps::disown(unsafe { heap.as_ref() });
            // SAFETY: as above.
            if unsafe { heap.as_ref() }.returns.close() || mine {
                // SAFETY: it was nobody's and is ours now, or was this thread's.
                unsafe { Heap::give_up(heap) };
            }
        }
        // Foreign code, as it drops what the hook has captured. This may be within the end of a
        // pool or a thread, which no panic may get out of.
        let hook = self.1.take();
        if let Err(payload) = catch_unwind(|| drop(hook)) {
            report(payload);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.heaps.freed();
        self.chunks.freed();
        self.said.freed();
    }
}
