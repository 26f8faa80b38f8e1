//! That everybody does the same: the works themselves, with every block looked at.

use crate::contestants::{Contestant, Memory, Shared};
use crate::objects;
use crate::works::Work;
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// What was done.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Done {
    allocated: u64,
    freed: u64,
    bytes: u64,
    /// Of all sizes, in their order.
    sizes: u64,
}

/// Of the work that is being looked at.
#[derive(Default)]
struct Ledger {
    done: Done,
    /// By address.
    live: BTreeMap<usize, (Layout, u8)>,
}

static LEDGER: Mutex<Ledger> = Mutex::new(Ledger {
    done: Done {
        allocated: 0,
        freed: 0,
        bytes: 0,
        sizes: 0,
    },
    live: BTreeMap::new(),
});

fn ledger<R>(f: impl FnOnce(&mut Ledger) -> R) -> R {
    f(&mut LEDGER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// An allocator, watched.
pub struct Checked<M>(M);

/// Bytes at the beginning, which a work writes to.
const TOUCHED: usize = 8;

/// The rest of a block.
///
/// # Safety
/// The caller has the block, and all of it was written.
unsafe fn rest<'b>(block: NonNull<u8>, layout: Layout) -> &'b mut [u8] {
    // SAFETY: by the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(block.as_ptr().add(TOUCHED), layout.size() - TOUCHED) }
}

// SAFETY: as the allocator that it watches.
unsafe impl<M: Memory> Memory for Checked<M> {
    const NAME: &str = M::NAME;

    fn here() -> Self {
        Self(M::here())
    }

    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        let block = self.0.alloc(layout);
        let at = block.addr().get();
        assert_eq!(at % layout.align(), 0, "{}: wrongly aligned", M::NAME);
        let mark = ledger(|ledger| {
            let before = ledger.live.range(..at + layout.size()).next_back();
            let overlaps = before.is_some_and(|(start, (other, _))| start + other.size() > at);
            assert!(!overlaps, "{}: two blocks in one place", M::NAME);
            let done = &mut ledger.done;
            done.allocated += 1;
            done.bytes += layout.size() as u64;
            done.sizes = done.sizes.wrapping_mul(31) + layout.size() as u64;
            let mark = done.allocated as u8;
            ledger.live.insert(at, (layout, mark));
            mark
        });
        // SAFETY: new, and ours.
        unsafe { block.write_bytes(mark, layout.size()) };
        block
    }

    unsafe fn dealloc(&mut self, block: NonNull<u8>, layout: Layout) {
        let live = ledger(|ledger| {
            ledger.done.freed += 1;
            ledger.live.remove(&block.addr().get())
        });
        let (allocated, mark) = live.expect("a live block");
        assert_eq!(allocated, layout, "{}: freed as another size", M::NAME);
        // SAFETY: the caller has it.
        let intact = unsafe { rest(block, layout) }.iter().all(|b| *b == mark);
        assert!(intact, "{}: a block that was written to", M::NAME);
        // SAFETY: by the caller's promise.
        unsafe { self.0.dealloc(block, layout) };
    }

    fn reset(&mut self) {
        self.0.reset();
    }
}

// SAFETY: as the allocator that it watches.
unsafe impl<M: Shared> Shared for Checked<M> {}

/// What a work does, from its beginning to its end.
fn look_at(contestant: &Contestant, work: Work) -> Option<Done> {
    let mut checked = contestant.checked.iter();
    let (_, workload) = checked.find(|(w, _)| *w == work)?;
    ledger(|ledger| *ledger = Ledger::default());
    let mut job = workload.job();
    job(1);
    job(3);
    drop(job);
    let (done, live) = ledger(|ledger| (ledger.done, ledger.live.len()));
    assert_eq!(live, 0, "{}: {work:?}: not all freed", contestant.name);
    assert_eq!(done.allocated, done.freed);
    Some(done)
}

/// # Panics
/// If a contestant does something else than the others.
pub fn check(all: &[Contestant]) {
    for work in [
        Work::Pairs,
        Work::Lifo,
        Work::Fifo,
        Work::Mixed,
        Work::Cross,
    ] {
        let expected = look_at(&all[0], work).expect("ours does all works");
        for contestant in &all[1..] {
            if let Some(done) = look_at(contestant, work) {
                assert_eq!(done, expected, "{}: {work:?}", contestant.name);
            }
        }
    }
    objects::check();
    println!(
        "Checked: {} allocators and all ways to make objects do the same work.",
        all.len()
    );
    if cfg!(not(feature = "snmalloc")) {
        println!("Without snmalloc, which needs a C++ compiler: --features snmalloc");
    }
}
