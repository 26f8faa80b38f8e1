//! The only door to atomics, cells, thread-locals, thread identity, locks,
//! raw memory and `catch_unwind`.
//!
//! Everything else in the crate names these through `crate::sync`, so that one
//! switch, `--cfg loom` together with the feature `loom`, puts the crate
//! exactly as it ships on loom's model checker. No algorithm knows which of the
//! two it runs on. `native` is the real thing, and adds no code to it;
//! `checked` is loom with the holes closed that would let a wrong ordering
//! pass (see its module documentation).

#[cfg(not(all(loom, feature = "loom")))]
mod native;
#[cfg(not(all(loom, feature = "loom")))]
pub(crate) use native::*;

#[cfg(all(loom, feature = "loom"))]
pub(crate) mod checked;
#[cfg(all(loom, feature = "loom"))]
pub(crate) use checked::*;

mod bits;
mod counter;
mod parker;
mod sleeper;
pub(crate) use bits::Bits;
pub(crate) use counter::{Counter, Numbers, Setting};
pub(crate) use parker::Parker;
pub(crate) use sleeper::Sleeper;

use std::alloc::Layout;
use std::ptr::NonNull;

/// Moves `value` to memory of its own. In loom builds the allocation is one
/// that loom counts, so a model that leaks it fails.
///
/// # Aborts
/// When memory is exhausted (`handle_alloc_error`).
pub(crate) fn boxed<T>(value: T) -> NonNull<T> {
    let layout = Layout::new::<T>();
    assert!(layout.size() != 0, "boxed() is for types with a size");
    // SAFETY: the layout has a size.
    let memory = unsafe { alloc(layout) }.cast::<T>();
    let Some(memory) = NonNull::new(memory) else {
        std::alloc::handle_alloc_error(layout)
    };
    // SAFETY: fresh memory of the layout of `T`.
    unsafe { memory.write(value) };
    memory
}

/// Roughly where the stack ends just now.
#[inline(always)]
pub(crate) fn stack_address() -> usize {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let pointer;
        // SAFETY: copies a register.
        unsafe {
            std::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        }
        pointer
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let pointer;
        // SAFETY: copies a register.
        unsafe {
            std::arch::asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        }
        pointer
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        let here = 0u8;
        std::hint::black_box(&raw const here).addr()
    }
}

/// Asks for the memory at `at`, to be written soon. A hint.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is there on every x86-64; a prefetch reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// Takes back what [`boxed`] moved out.
///
/// # Safety
/// `memory` came from [`boxed`] with the same `T` and is given back once.
pub(crate) unsafe fn unbox<T>(memory: NonNull<T>) -> T {
    // SAFETY: the caller hands over the only claim on an initialised `T`.
    let value = unsafe { memory.read() };
    // SAFETY: as above; the layout is that of `boxed`.
    unsafe { dealloc(memory.as_ptr().cast(), Layout::new::<T>()) };
    value
}
