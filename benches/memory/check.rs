//! A check that all allocators, and all ways to create objects, do the same work.

use crate::checked::watch;
use crate::comparisons::in_blocks;
use crate::contestants::Contestant;
use crate::works::Work;
use releasepool_benches::objects::{self, Counted, arc_in_a_vec, free_list_and_array};
use releasepool_benches::pooled::{by_autorelease, by_create};

/// # Panics
/// If an allocator does other work than the others.
pub fn check(all: &[Contestant]) {
    for work in Work::ALL {
        let mut done = all.iter().filter_map(|contestant| {
            let workload = (contestant.checked)(work)?;
            Some((contestant.name, watch(&workload)))
        });
        let (_, expected) = done.next().expect("the first one can do all works");
        for (name, done) in done {
            assert_eq!(done, expected, "{name}: {work:?}");
        }
    }
    check_objects();
    println!(
        "Checked: {} allocators, and all ways to create objects, do the same work.",
        all.len()
    );
    if cfg!(not(feature = "snmalloc")) {
        println!("Not measured: snmalloc, which needs --features snmalloc and a C++ compiler");
    }
}

fn check_objects() {
    const BATCH: u64 = 1_000;
    for way in [
        by_create::<Counted>(BATCH),
        by_autorelease::<Counted>(BATCH),
        in_blocks::<Counted>(BATCH),
        arc_in_a_vec::<Counted>(BATCH),
    ] {
        objects::check(&way, 0);
    }
    // The free list is filled with objects beforehand.
    objects::check(&free_list_and_array::<Counted>(BATCH), BATCH);
}
