//! The allocators that are compared, behind one trait.

use bumpalo::Bump;
use mimalloc::MiMalloc;
use releasepool::memory::BlockAllocator;
use std::alloc::{GlobalAlloc, Layout, System};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::LazyLock;

/// A thread's access to an allocator.
///
/// # Safety
/// Memory from `alloc` is valid for reads and writes of its layout, and not handed out again before
/// it is passed to `dealloc`, or `reset` is called.
pub unsafe trait Memory: 'static {
    const NAME: &str;

    /// Returns the calling thread's access.
    fn here() -> Self;

    /// Allocates memory for a layout of non-zero size.
    fn alloc(&mut self, layout: Layout) -> NonNull<u8>;

    /// Frees memory.
    ///
    /// # Safety
    /// `p` came from `alloc` with this layout and is no longer used. Unless the allocator is
    /// [`Shared`], it came from this value.
    unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout);

    /// Called when everything that was allocated here has been freed.
    fn reset(&mut self) {}
}

/// An allocator for all threads.
///
/// # Safety
/// A thread may free what another one has allocated.
pub unsafe trait Shared: Memory {}

// --- releasepool ---------------------------------------------------------------

/// releasepool's allocator for the process, which pools use, or a separate one.
pub struct Ours<const PROCESS: bool>(BlockAllocator);

static SEPARATE: LazyLock<BlockAllocator> = LazyLock::new(BlockAllocator::new);

// SAFETY: `BlockAllocator` has this contract, too.
unsafe impl<const PROCESS: bool> Memory for Ours<PROCESS> {
    const NAME: &str = if PROCESS {
        "BlockAllocator::process()"
    } else {
        "BlockAllocator::new()"
    };

    fn here() -> Self {
        Self(if PROCESS {
            BlockAllocator::process()
        } else {
            SEPARATE.clone()
        })
    }

    #[inline]
    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        self.0.alloc(layout).expect("the system has memory")
    }

    #[inline]
    unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: by the caller's contract, `p` is from `alloc`, which uses the same allocator.
        unsafe { self.0.dealloc(p, layout) }
    }
}

// SAFETY: any thread may free a block of a `BlockAllocator`.
unsafe impl<const PROCESS: bool> Shared for Ours<PROCESS> {}

// --- global allocators ---------------------------------------------------------

/// An allocator that could be a program's global one. Here none of them is.
pub trait Global: GlobalAlloc + 'static {
    const NAME: &str;
    const ALLOCATOR: Self;
}

impl Global for System {
    const NAME: &str = if cfg!(all(target_os = "linux", target_env = "gnu")) {
        "glibc"
    } else {
        "the system's"
    };
    const ALLOCATOR: Self = System;
}

impl Global for MiMalloc {
    const NAME: &str = "mimalloc";
    const ALLOCATOR: Self = MiMalloc;
}

#[cfg(feature = "snmalloc")]
impl Global for snmalloc_rs::SnMalloc {
    const NAME: &str = "snmalloc";
    const ALLOCATOR: Self = snmalloc_rs::SnMalloc;
}

/// A global allocator as [`Memory`].
pub struct By<G>(PhantomData<G>);

// SAFETY: `GlobalAlloc` has this contract, too.
unsafe impl<G: Global> Memory for By<G> {
    const NAME: &str = G::NAME;

    fn here() -> Self {
        Self(PhantomData)
    }

    #[inline]
    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        // SAFETY: by the contract of `alloc`, the layout has a non-zero size.
        NonNull::new(unsafe { G::ALLOCATOR.alloc(layout) }).expect("the system has memory")
    }

    #[inline]
    unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: by the caller's contract, `p` is from `alloc`, which uses the same allocator.
        unsafe { G::ALLOCATOR.dealloc(p.as_ptr(), layout) }
    }
}

// SAFETY: any thread may free memory of a global allocator.
unsafe impl<G: Global> Shared for By<G> {}

// --- bumpalo -------------------------------------------------------------------

// SAFETY: bumpalo reuses no memory before `reset`.
unsafe impl Memory for Bump {
    const NAME: &str = "bumpalo, all freed at once";

    fn here() -> Self {
        Bump::new()
    }

    #[inline]
    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        self.alloc_layout(layout)
    }

    #[inline]
    unsafe fn dealloc(&mut self, _: NonNull<u8>, _: Layout) {}

    #[inline]
    fn reset(&mut self) {
        Bump::reset(self);
    }
}
