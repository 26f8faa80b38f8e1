//! Allocators: `rp_blocks` and `rp_stack`.

use crate::error::{
    Fault, Outcome, Status, boxed, fill, free, invalid, non_null, or_default, pointer, shared,
    status,
};
use releasepool::memory::{BlockAllocator, StackAllocator};
use std::alloc::Layout;
use std::ffi::c_void;
use std::mem::{self, MaybeUninit};

/// The figures of an allocator; `rp_blocks_figures` in C.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct BlockFigures {
    live_blocks: u64,
    live_bytes: u64,
    chunk_bytes: u64,
}

/// Returns the layout, or an error if the size is 0, or no memory has this size and alignment.
pub(crate) fn layout(size: usize, align: usize) -> Outcome<Layout> {
    match Layout::from_size_align(size, align) {
        Ok(layout) if size != 0 => Ok(layout),
        _ => invalid(format!("no memory has {size} bytes, aligned to {align}")),
    }
}

/// Makes an allocator.
#[unsafe(no_mangle)]
pub extern "C" fn rp_blocks_new(hard_cap: usize) -> *mut BlockAllocator {
    boxed("rp_blocks_new", || {
        let blocks = match hard_cap {
            0 => BlockAllocator::new(),
            cap => BlockAllocator::builder().hard_cap(cap).build(),
        };
        Ok(blocks)
    })
}

/// Gives an allocator up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_blocks_free(at: *mut BlockAllocator) -> Status {
    // SAFETY: releasepool.h requires an allocator of `rp_blocks_new` as `at`, which the caller
    // gives up.
    unsafe { free("rp_blocks_free", at, "blocks") }
}

/// Allocates memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_blocks_alloc(
    at: *const BlockAllocator,
    size: usize,
    align: usize,
) -> *mut c_void {
    pointer("rp_blocks_alloc", || {
        // SAFETY: releasepool.h requires `at` to be an allocator that was not freed.
        let blocks = unsafe { shared(at, "blocks") }?;
        match blocks.alloc(layout(size, align)?) {
            Ok(memory) => Ok(memory.as_ptr().cast()),
            Err(error) => Err(Fault(Status::NoMemory, error.to_string())),
        }
    })
}

/// Frees memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_blocks_dealloc(
    at: *const BlockAllocator,
    memory: *mut c_void,
    size: usize,
    align: usize,
) -> Status {
    status("rp_blocks_dealloc", || {
        let memory = non_null(memory, "memory")?;
        // SAFETY: releasepool.h requires an allocator as `at`, and `memory` that it allocated with
        // this size and alignment.
        unsafe { shared(at, "blocks")?.dealloc(memory.cast(), layout(size, align)?) };
        Ok(())
    })
}

/// Frees unused memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_blocks_trim(at: *const BlockAllocator, freed: *mut usize) -> Status {
    // SAFETY: releasepool.h requires `at` to be an allocator that was not freed, and a `freed` that
    // may be written, or null.
    unsafe { fill("rp_blocks_trim", freed, || Ok(shared(at, "blocks")?.trim())) }
}

/// Returns the figures of an allocator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_blocks_stats(
    at: *const BlockAllocator,
    figures: *mut BlockFigures,
) -> Status {
    let read = || {
        // SAFETY: releasepool.h requires `at` to be an allocator that was not freed.
        let stats = unsafe { shared(at, "blocks") }?.stats();
        non_null(figures, "figures")?;
        Ok(BlockFigures {
            live_blocks: stats.live_blocks,
            live_bytes: stats.live_bytes,
            chunk_bytes: stats.chunk_bytes,
        })
    };
    // SAFETY: releasepool.h requires `figures` that may be written.
    unsafe { fill("rp_blocks_stats", figures, read) }
}

/// A unit of memory of a stack allocator.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Unit(#[allow(dead_code, reason = "only its size matters")] MaybeUninit<[u8; 16]>);

/// Makes a stack allocator.
#[unsafe(no_mangle)]
pub extern "C" fn rp_stack_new(capacity: usize) -> *mut StackAllocator {
    boxed("rp_stack_new", || {
        let made = StackAllocator::try_with_capacity(capacity);
        made.map_err(|error| Fault(Status::NoMemory, error.to_string()))
    })
}

/// Frees a stack allocator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_stack_free(at: *mut StackAllocator) -> Status {
    // SAFETY: releasepool.h requires a stack allocator of `rp_stack_new` as `at`, which the caller
    // gives up.
    unsafe { free("rp_stack_free", at, "stack") }
}

/// Allocates memory, which the next reset frees.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_stack_alloc(at: *mut StackAllocator, size: usize) -> *mut c_void {
    pointer("rp_stack_alloc", || {
        // SAFETY: releasepool.h requires a stack allocator as `at` that no other thread uses now.
        let stack = unsafe { non_null(at, "stack")?.as_ref() };
        let units = size.div_ceil(size_of::<Unit>()).max(1);
        let made = stack.try_alloc_slice(units, |_| Unit(MaybeUninit::uninit()));
        let mut memory = made.map_err(|error| Fault(Status::NoMemory, error.to_string()))?;
        let begin = memory.as_mut_ptr();
        // The reset frees the memory.
        mem::forget(memory);
        Ok(begin.cast())
    })
}

/// Frees all memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_stack_reset(at: *mut StackAllocator) -> Status {
    status("rp_stack_reset", || {
        // SAFETY: releasepool.h requires a stack allocator as `at` that no other call uses now.
        unsafe { non_null(at, "stack")?.as_mut() }.reset();
        Ok(())
    })
}

/// Returns the most bytes that were in use at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_stack_high_water(at: *const StackAllocator) -> usize {
    or_default("rp_stack_high_water", || {
        // SAFETY: releasepool.h requires a stack allocator as `at` that no other thread uses now.
        Ok(unsafe { non_null(at.cast_mut(), "stack")?.as_ref() }.high_water())
    })
}
