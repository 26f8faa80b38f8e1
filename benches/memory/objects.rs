//! Objects in blocks, without a pool.

use releasepool::{BlockAllocator, Ref};
use releasepool_benches::objects::{Payload, in_a_vec};
use releasepool_benches::workload::{Role, Workload};
use std::sync::LazyLock;

/// Returns a vector of references to objects in blocks.
pub fn in_blocks<P: Payload>(batch: u64) -> Workload {
    static BLOCKS: LazyLock<BlockAllocator> = LazyLock::new(BlockAllocator::process);
    in_a_vec("Ref::new_in in a Vec", batch, |seed| {
        Ref::new_in(P::new(seed), &BLOCKS)
    })
    .role(Role::Ours)
}
