//! Memory of the process: bytes allocated, counted exactly, and bytes resident.
//!
//! Resident memory alone would not show small leaks, because allocators keep memory that is freed.

use memory_stats::memory_stats;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

/// Number of counters. A single one would synchronize all threads at every allocation, and so
/// hide races that this program should find.
const SHARDS: usize = 64;

/// A counter on cache lines of its own; two of them, because processors fetch them in pairs.
#[repr(align(128))]
struct Shard(AtomicI64);

static BYTES: [Shard; SHARDS] = [const { Shard(AtomicI64::new(0)) }; SHARDS];

fn count(bytes: i64) {
    // The address of the stack tells threads apart.
    let stack = (&raw const bytes).addr() >> 16;
    BYTES[stack % SHARDS].0.fetch_add(bytes, Ordering::Relaxed);
}

/// Counts the bytes that it passes through from the system's allocator.
struct Counting;

// SAFETY: every call is forwarded unchanged to `System`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the contract of `alloc` is forwarded to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the contract of `dealloc` is forwarded to the caller.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Returns how many bytes are allocated.
pub fn allocated() -> u64 {
    let sum: i64 = BYTES.iter().map(|b| b.0.load(Ordering::Relaxed)).sum();
    sum.max(0) as u64
}

/// Returns how many bytes of the process are in memory, if the platform reports it.
pub fn resident() -> Option<u64> {
    memory_stats().map(|stats| stats.physical_mem as u64)
}

/// Converts bytes to MiB.
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
