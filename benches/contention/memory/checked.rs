//! An allocator that checks every block, and counts the work.

use super::allocators::{Memory, Shared};
use releasepool_benches::workload::Workload;
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// The work that was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    allocated: u64,
    freed: u64,
    bytes: u64,
    /// A hash of all sizes in their order.
    sizes: u64,
}

struct Ledger {
    done: Done,
    /// Live blocks by address, each with its layout and the byte that fills it.
    live: BTreeMap<usize, (Layout, u8)>,
}

impl Ledger {
    const EMPTY: Self = Self {
        done: Done {
            allocated: 0,
            freed: 0,
            bytes: 0,
            sizes: 0,
        },
        live: BTreeMap::new(),
    };
}

/// The work that is being checked.
static LEDGER: Mutex<Ledger> = Mutex::new(Ledger::EMPTY);

fn ledger<R>(f: impl FnOnce(&mut Ledger) -> R) -> R {
    f(&mut LEDGER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A checked allocator.
pub struct Checked<M>(M);

/// Bytes at the beginning of a block that workloads write to.
const TOUCHED: usize = 8;

/// Returns the bytes of a block that workloads do not write to.
///
/// # Safety
/// The caller owns the block, and all of it is initialized.
unsafe fn rest<'b>(block: NonNull<u8>, layout: Layout) -> &'b mut [u8] {
    // SAFETY: the caller owns the block; all layouts have at least `TOUCHED` bytes.
    unsafe { std::slice::from_raw_parts_mut(block.as_ptr().add(TOUCHED), layout.size() - TOUCHED) }
}

// SAFETY: the blocks are those of the checked allocator.
unsafe impl<M: Memory> Memory for Checked<M> {
    const NAME: &str = M::NAME;

    fn here() -> Self {
        Self(M::here())
    }

    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        let block = self.0.alloc(layout);
        let at = block.addr().get();
        assert_eq!(at % layout.align(), 0, "{}: a block is misaligned", M::NAME);
        let mark = ledger(|ledger| {
            let before = ledger.live.range(..at + layout.size()).next_back();
            let overlaps = before.is_some_and(|(start, (other, _))| start + other.size() > at);
            assert!(!overlaps, "{}: two blocks overlap", M::NAME);
            let done = &mut ledger.done;
            done.allocated += 1;
            done.bytes += layout.size() as u64;
            done.sizes = done.sizes.wrapping_mul(31) + layout.size() as u64;
            let mark = done.allocated as u8;
            ledger.live.insert(at, (layout, mark));
            mark
        });
        // SAFETY: the block is new and has this size.
        unsafe { block.write_bytes(mark, layout.size()) };
        block
    }

    unsafe fn dealloc(&mut self, block: NonNull<u8>, layout: Layout) {
        let live = ledger(|ledger| {
            ledger.done.freed += 1;
            ledger.live.remove(&block.addr().get())
        });
        let (allocated, mark) = live.expect("a freed block was live");
        assert_eq!(allocated, layout, "{}: freed with another size", M::NAME);
        // SAFETY: the caller owns the block, and `alloc` initialized it.
        let intact = unsafe { rest(block, layout) }.iter().all(|b| *b == mark);
        assert!(intact, "{}: a block was overwritten", M::NAME);
        // SAFETY: by the caller's contract, the block came from this allocator's `alloc`.
        unsafe { self.0.dealloc(block, layout) };
    }

    fn reset(&mut self) {
        self.0.reset();
    }
}

// SAFETY: any thread may free memory of `M`, and the ledger is behind a mutex.
unsafe impl<M: Shared> Shared for Checked<M> {}

/// Runs a checked workload and returns what it did.
///
/// # Panics
/// If a check fails, or blocks are left.
pub fn watch(workload: &Workload) -> Done {
    ledger(|ledger| *ledger = Ledger::EMPTY);
    let mut job = workload.job();
    job(1);
    job(3);
    drop(job);
    let (done, live) = ledger(|ledger| (ledger.done, ledger.live.len()));
    assert_eq!(live, 0, "{}: blocks were not freed", workload.name);
    assert_eq!(done.allocated, done.freed);
    done
}
