//! Objects instead of blocks: made, left to a pool or a vector, and released.

use releasepool::{BlockAllocator, Ref};
use releasepool_benches::objects::{
    Count, Counted, Payload, arc_in_a_vec, free_list_and_array, in_a_vec,
};
use releasepool_benches::pooled::{by_autorelease, by_create};
use releasepool_benches::workload::Workload;
use std::sync::LazyLock;

/// In blocks, without a pool.
pub fn in_blocks<P: Payload>(batch: u64) -> Workload {
    static BLOCKS: LazyLock<BlockAllocator> = LazyLock::new(BlockAllocator::process);
    in_a_vec("Ref::new_in in a Vec", batch, |seed| {
        Ref::new_in(P::new(seed), &BLOCKS)
    })
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
        Count::reset();
        let mut job = way.job();
        job(TURNS);
        drop(job);
        let count = Count::now();
        let expected = TURNS * BATCH + beforehand;
        assert_eq!(count.made, expected, "{}: made", way.name);
        assert_eq!(count.destroyed, expected, "{}: destroyed", way.name);
    }
}
