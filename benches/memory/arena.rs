//! An arena: temporary values that are dropped in some order.

use bumpalo::Bump;
use releasepool::{StackAllocator, StackBox};
use releasepool_benches::workload::{Role, Workload, timed};
use std::hint::black_box;

/// A value of 64 bytes.
type Value = [u64; 8];

/// Boxes that are alive at the same time.
const BATCH: u64 = 1_000;

type Drop = fn(&mut Vec<StackBox<'static, Value>>);

/// Returns boxes in a `StackAllocator`, which is empty after each turn and need not be reset.
fn boxes(name: &'static str, drop_all: Drop) -> Workload {
    Workload::new(name, BATCH, move || {
        // Leaked, as the boxes in the vector refer to it.
        let arena: &'static StackAllocator = Box::leak(Box::new(StackAllocator::with_capacity(
            2 * BATCH as usize * size_of::<Value>(),
        )));
        let mut boxes = Vec::with_capacity(BATCH as usize);
        timed(move || {
            for seed in 0..BATCH {
                let value = arena.alloc([seed; 8]);
                // Not the box itself: storing its two words would take longer than allocating it.
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
    boxes("StackAllocator, oldest first", Vec::clear).role(Role::Ours)
}

/// Returns values in bumpalo, which drops nothing and reuses all memory at once.
pub fn bumpalo() -> Workload {
    let make = || Bump::with_capacity(2 * BATCH as usize * size_of::<Value>());
    let workload = Workload::timed("bumpalo, reset", BATCH, make, |bump| {
        for seed in 0..BATCH {
            black_box(bump.alloc([seed; 8]));
        }
        bump.reset();
    });
    workload.role(Role::Reference)
}
