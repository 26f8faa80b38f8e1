//! An arena: what is made, not kept, and dropped in some order.

use bumpalo::Bump;
use releasepool::{StackAllocator, StackBox};
use releasepool_benches::workload::{Workload, timed};
use std::hint::black_box;

/// 64 bytes.
type Value = [u64; 8];

/// Boxes that are alive at once.
const BATCH: u64 = 1_000;

type Drop = fn(&mut Vec<StackBox<'static, Value>>);

/// Ours. Empty again after each turn, so that it need not be reset.
fn boxes(name: &'static str, drop_all: Drop) -> Workload {
    Workload::new(name, BATCH, move || {
        // As long as the process, as the boxes wait in a vector.
        let arena: &'static StackAllocator = Box::leak(Box::new(StackAllocator::with_capacity(
            2 * BATCH as usize * size_of::<Value>(),
        )));
        let mut boxes = Vec::with_capacity(BATCH as usize);
        timed(move || {
            for seed in 0..BATCH {
                let value = arena.alloc([seed; 8]);
                // Not the box: two words through memory cost more than it does.
                black_box(&*value);
                boxes.push(value);
            }
            drop_all(black_box(&mut boxes));
            assert!(arena.is_empty() && boxes.is_empty());
        })
    })
}

pub fn newest_first() -> Workload {
    boxes("StackAllocator, newest first", |boxes| {
        while boxes.pop().is_some() {}
    })
}

pub fn oldest_first() -> Workload {
    boxes("StackAllocator, oldest first", Vec::clear)
}

/// Nothing is dropped: all memory is used again at once.
pub fn bumpalo() -> Workload {
    Workload::new("bumpalo, reset", BATCH, move || {
        let mut bump = Bump::with_capacity(2 * BATCH as usize * size_of::<Value>());
        timed(move || {
            for seed in 0..BATCH {
                black_box(bump.alloc([seed; 8]));
            }
            bump.reset();
        })
    })
}
