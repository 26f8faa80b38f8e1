//! Memory: bytes allocated, exactly, and bytes resident.
//!
//! Resident memory alone would not do: allocators keep what is given back, so small
//! leaks drown in it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

/// Counters, so that threads do not meet at one.
const SHARDS: usize = 64;

/// Of two cache lines, as processors fetch them in pairs.
#[repr(align(128))]
struct Shard(AtomicI64);

static BYTES: [Shard; SHARDS] = [const { Shard(AtomicI64::new(0)) }; SHARDS];

fn count(bytes: i64) {
    // Threads differ in where their stacks are.
    let stack = (&raw const bytes).addr() >> 16;
    BYTES[stack % SHARDS].0.fetch_add(bytes, Ordering::Relaxed);
}

/// The system's allocator, counting.
struct Counting;

// SAFETY: all is left to `System`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes that are allocated just now.
pub fn allocated() -> u64 {
    let sum: i64 = BYTES.iter().map(|b| b.0.load(Ordering::Relaxed)).sum();
    sum.max(0) as u64
}

/// Bytes of the process that are in memory; `None` where nobody knows.
#[cfg(target_os = "linux")]
pub fn resident() -> Option<u64> {
    // In kilobytes, where /proc/self/statm has pages of whatever size.
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(not(target_os = "linux"))]
pub fn resident() -> Option<u64> {
    None
}

pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
