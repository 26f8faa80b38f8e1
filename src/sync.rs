//! The crate's only access to atomics, cells, thread-locals, thread identity, locks, raw memory and
//! `catch_unwind`.
//!
//! All other modules use these through `crate::sync`, so that one switch runs the crate exactly as
//! it ships on a model checker: `--cfg loom` with the feature `loom` on loom, and `--cfg
//! releasepool_shuttle` with the feature `shuttle` on shuttle. No algorithm knows which of the
//! three it runs on. `native` is the standard library, and what a thread's end and readers outside
//! of the process need besides; `checked` is loom, with the gaps closed through which a wrong
//! ordering would pass; `sampled` is shuttle, for programs that are larger than loom's (see their
//! module documentation). `modeled` has the code that loom and shuttle share, `unchecked` the code
//! that std and shuttle share.
//!
//! This folder uses no other module of the crate but `macros`, and `event` in `checked::explore`.

#[cfg(not(any(releasepool_shuttle, all(loom, feature = "loom"))))]
pub(crate) mod native;
#[cfg(all(doc, not(all(loom, feature = "loom"))))]
pub use native::user_atomic;
#[cfg(not(any(releasepool_shuttle, all(loom, feature = "loom"))))]
pub(crate) use native::*;

#[cfg(all(loom, feature = "loom"))]
pub(crate) mod checked;
#[cfg(all(loom, feature = "loom"))]
pub use checked::user_atomic;
#[cfg(all(loom, feature = "loom"))]
pub(crate) use checked::*;

#[cfg(releasepool_shuttle)]
pub(crate) mod sampled;
#[cfg(releasepool_shuttle)]
pub(crate) use sampled::*;

#[cfg(any(releasepool_shuttle, all(loom, feature = "loom")))]
mod modeled;
#[cfg(any(releasepool_shuttle, all(loom, feature = "loom")))]
pub(crate) use modeled::*;

#[cfg(not(all(loom, feature = "loom")))]
mod unchecked;
#[cfg(not(all(loom, feature = "loom")))]
pub(crate) use unchecked::*;

mod counter;
mod map;
mod sleeper;
#[allow(unused_imports, reason = "for the feature leak-detection")]
pub(crate) use counter::Published;
pub(crate) use counter::{Bits, Counter, Hint, Numbers, Setting};
pub(crate) use map::{AddressHasher, Living, PlainMap, reserve, shrink, with_room};
pub(crate) use sleeper::{Parker, Sleeper, Ticket};

/// Compiles items that describe the crate's structures to readers outside of the process, on
/// platforms that have such readers: see [`layout`](crate::layout).
macro_rules! described {
    ($($item:item)*) => {$(
        #[cfg(all(
            target_os = "linux",
            target_pointer_width = "64",
            any(target_arch = "x86_64", target_arch = "aarch64"),
            not(miri),
            not(any(releasepool_shuttle, all(loom, feature = "loom")))
        ))]
        $item
    )*};
}
pub(crate) use described;

use std::alloc::Layout;
use std::ptr::NonNull;

/// Moves `value` to a heap allocation. loom counts these allocations: a model that leaks one fails.
///
/// # Aborts
/// When memory is exhausted (`handle_alloc_error`).
pub(crate) fn boxed<T>(value: T) -> NonNull<T> {
    let layout = Layout::new::<T>();
    assert!(layout.size() != 0, "boxed() is for types with a size");
    // SAFETY: the assertion above says that the layout has a size.
    let memory = unsafe { alloc(layout) }.cast::<T>();
    let Some(memory) = NonNull::new(memory) else {
        std::alloc::handle_alloc_error(layout)
    };
    // SAFETY: the memory was just allocated, with the layout of `T`.
    unsafe { memory.write(value) };
    memory
}

/// Returns the approximate address of the top of the calling thread's stack.
#[inline(always)]
pub(crate) fn stack_address() -> usize {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let pointer;
        // SAFETY: the instruction copies a register, and touches no memory.
        unsafe {
            std::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        }
        pointer
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let pointer;
        // SAFETY: the instruction copies a register, and touches no memory.
        unsafe {
            std::arch::asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        }
        pointer
    }
    #[cfg(miri)]
    {
        miri_stack_address()
    }
    #[cfg(not(any(miri, target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let here = 0u8;
        std::hint::black_box(&raw const here).addr()
    }
}

/// Returns a stack address as if all frames had one size, because Miri's frames have random
/// addresses. So destructors run in the same order natively and in each run of Miri.
#[cfg(miri)]
fn miri_stack_address() -> usize {
    /// The average number of bytes of a frame in a build without optimization.
    const FRAME: usize = 88;
    /// The high end of the stack.
    const HIGH: usize = 1 << (usize::BITS - 3);
    unsafe extern "Rust" {
        /// Miri's own function: how many frames the calling thread has.
        safe fn miri_backtrace_size(flags: u64) -> usize;
    }
    HIGH - FRAME * miri_backtrace_size(0)
}

/// Prefetches the memory at `at`, which is about to be written.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has SSE, and a prefetch of any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// Moves a value that [`boxed`] allocated back out, and frees the memory.
///
/// # Safety
/// `memory` came from [`boxed`] with the same `T`, and is passed to this function once.
pub(crate) unsafe fn unbox<T>(memory: NonNull<T>) -> T {
    // SAFETY: `boxed` wrote a `T` there, and the caller's contract says that it is read once.
    let value = unsafe { memory.read() };
    // SAFETY: `boxed` allocated the memory with this layout, and nothing uses it any more.
    unsafe { dealloc(memory.as_ptr().cast(), Layout::new::<T>()) };
    value
}
