//! The system's allocator with counts, which can refuse memory and call back into the crate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

/// The system's allocator, with counts. It can refuse allocations, and call back into the crate.
struct Counting;

/// Bytes that are currently allocated in the process.
pub static BYTES: AtomicIsize = AtomicIsize::new(0);

/// Allocations of at least this many bytes fail.
pub static TOO_LARGE: AtomicUsize = AtomicUsize::new(usize::MAX);

thread_local! {
    /// The number of allocations that this thread has made.
    static MADE: Cell<usize> = const { Cell::new(0) };

    /// Allocations of this thread of at least this many bytes fail.
    static REFUSED: Cell<usize> = const { Cell::new(usize::MAX) };
}

thread_local! {
    /// The closure that the allocator runs in this thread's next call.
    pub static FOREIGN: Cell<Option<fn()>> = const { Cell::new(None) };

    /// The closure that the allocator runs in each of this thread's calls, but those by itself.
    static EACH: Cell<Option<fn()>> = const { Cell::new(None) };

    /// How many times it runs it, at most.
    static TIMES: Cell<usize> = const { Cell::new(0) };
}

/// Runs those closures. The allocator calls this, with the number of bytes.
fn call_foreign(bytes: usize) {
    if let Some(f) = FOREIGN.take() {
        f();
    }
    // Not for a chunk of blocks: the closure is called when the table of their addresses grows.
    if bytes >= 65_536 {
        return;
    }
    if let Some(f) = EACH.take() {
        f();
        TIMES.set(TIMES.get() - 1);
        EACH.set((TIMES.get() > 0).then_some(f));
    }
}

/// Runs `f`. Meanwhile the allocator runs `foreign` in each of this thread's next calls: not in all, as
/// drains would free for ever what it makes meanwhile.
pub fn with_foreign<R>(foreign: fn(), f: impl FnOnce() -> R) -> R {
    TIMES.set(200);
    EACH.set(Some(foreign));
    let result = f();
    EACH.set(None);
    result
}

// SAFETY: forwards to `System`, or returns null.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= TOO_LARGE.load(Ordering::Relaxed) || layout.size() >= REFUSED.get() {
            call_foreign(layout.size());
            return std::ptr::null_mut();
        }
        BYTES.fetch_add(layout.size() as isize, Ordering::Relaxed);
        MADE.set(MADE.get() + 1);
        call_foreign(layout.size());
        // SAFETY: forwards the whole contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: forwards the whole contract.
        unsafe { System.dealloc(p, layout) };
        call_foreign(layout.size());
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Returns the number of bytes that all threads have allocated.
pub fn bytes() -> isize {
    BYTES.load(Ordering::Relaxed)
}

/// Returns the number of allocations in `f`.
pub fn allocations(f: impl FnOnce()) -> usize {
    let before = MADE.get();
    f();
    MADE.get() - before
}

/// Runs `f` on a thread whose larger allocations fail.
pub fn refusing(bytes: usize, f: impl FnOnce()) {
    struct Restored;
    impl Drop for Restored {
        fn drop(&mut self) {
            REFUSED.set(usize::MAX);
        }
    }
    let _restored = Restored;
    REFUSED.set(bytes);
    f();
}

/// Returns how many bytes remain allocated after a number of calls of `f`. It is called as often
/// before, so that caches are filled.
pub fn left_over(times: usize, mut f: impl FnMut()) -> isize {
    (0..times).for_each(|_| f());
    let mut left = 0;
    // The test harness allocates or frees beside it, but not each time.
    for _ in 0..3 {
        let before = BYTES.load(Ordering::Relaxed);
        (0..times).for_each(|_| f());
        left = BYTES.load(Ordering::Relaxed) - before;
        if left == 0 {
            break;
        }
    }
    left
}
