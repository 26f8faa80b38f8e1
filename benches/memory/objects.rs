//! Objects instead of blocks: made, left to a pool or a vector, and released.

use releasepool::{AutoreleasePool, BlockAllocator, Ref};
use releasepool_benches::objects::{Payload, arc_in_a_vec, free_list_and_array, in_a_vec};
use releasepool_benches::workload::{Workload, timed};
use std::hint::black_box;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// In blocks of the process's allocator.
pub fn by_create<P: Payload>(batch: u64) -> Workload {
    Workload::new("pool.create", batch, move || {
        let mut pool = AutoreleasePool::new();
        timed(move || {
            for seed in 0..batch {
                black_box(pool.create(P::new(seed)));
            }
            pool.drain();
        })
    })
}

/// By the global allocator.
pub fn by_autorelease<P: Payload>(batch: u64) -> Workload {
    Workload::new("pool.autorelease(Ref::new)", batch, move || {
        let mut pool = AutoreleasePool::new();
        timed(move || {
            for seed in 0..batch {
                black_box(pool.autorelease(black_box(Ref::new(P::new(seed)))));
            }
            pool.drain();
        })
    })
}

/// In blocks, without a pool.
pub fn in_blocks<P: Payload>(batch: u64) -> Workload {
    static BLOCKS: LazyLock<BlockAllocator> = LazyLock::new(BlockAllocator::process);
    in_a_vec("Ref::new_in in a Vec", batch, |seed| {
        Ref::new_in(P::new(seed), &BLOCKS)
    })
}

static MADE: AtomicU64 = AtomicU64::new(0);
static DESTROYED: AtomicU64 = AtomicU64::new(0);

/// 48 bytes that are counted.
struct Counted([u64; 6]);

impl Payload for Counted {
    const KIND: &str = "counted";
    fn new(seed: u64) -> Self {
        MADE.fetch_add(1, Ordering::Relaxed);
        Self([seed; 6])
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert!(self.0.iter().all(|seed| *seed == self.0[0]), "overwritten");
        DESTROYED.fetch_add(1, Ordering::Relaxed);
    }
}

/// # Panics
/// If one of the ways makes fewer objects than the others, or leaves some.
pub fn check() {
    const BATCH: u64 = 1_000;
    const TURNS: u64 = 3;
    // Objects of free lists are made once more, beforehand.
    let ways = [
        (by_create::<Counted>(BATCH), 0),
        (by_autorelease::<Counted>(BATCH), 0),
        (in_blocks::<Counted>(BATCH), 0),
        (arc_in_a_vec::<Counted>(BATCH), 0),
        (free_list_and_array::<Counted>(BATCH), BATCH),
    ];
    for (way, beforehand) in ways {
        let count = || {
            (
                MADE.load(Ordering::Relaxed),
                DESTROYED.load(Ordering::Relaxed),
            )
        };
        let before = count();
        let mut job = way.job();
        job(TURNS);
        drop(job);
        let after = count();
        let expected = TURNS * BATCH + beforehand;
        assert_eq!(after.0 - before.0, expected, "{}: made", way.name);
        assert_eq!(after.1 - before.1, expected, "{}: destroyed", way.name);
    }
}
