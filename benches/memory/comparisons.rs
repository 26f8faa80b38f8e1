//! The comparisons of allocators, and of ways to create objects, with their targets.

use crate::contestants::Contestant;
use crate::works::{self, Work};
use releasepool::{BlockAllocator, Ref};
use releasepool_benches::objects::{POOL, Payload, Plain, arc_in_a_vec, in_a_vec};
use releasepool_benches::pooled::{by_autorelease, by_create};
use releasepool_benches::rows::created;
use releasepool_benches::table::{Row, Target};
use releasepool_benches::workload::{Role, Workload};
use std::sync::LazyLock;

/// Returns a vector of references to objects in blocks, without a pool.
pub fn in_blocks<P: Payload>(batch: u64) -> Workload {
    static BLOCKS: LazyLock<BlockAllocator> = LazyLock::new(BlockAllocator::process);
    in_a_vec("Ref::new_in in a Vec", batch, |seed| {
        Ref::new_in(P::new(seed), &BLOCKS)
    })
    .role(Role::Ours)
}

fn ours(all: &[Contestant], work: Work) -> Workload {
    (all[0].work)(work).expect("the first one can do all works")
}

/// Compares releasepool's allocator with all others that can do the work.
fn row(all: &[Contestant], what: &str, work: Work, threads: usize, target: Target) -> Row {
    let mut row = Row::new(what, threads, &ours(all, work));
    for theirs in &all[1..] {
        let target = match theirs.role {
            Role::Peer => target,
            _ => Target::None,
        };
        if let Some(workload) = (theirs.work)(work)
            && (threads == 1 || theirs.on_threads())
        {
            row = row.against(target, threads, &workload.role(theirs.role));
        }
    }
    row
}

pub fn rows(all: &[Contestant]) -> Vec<Row> {
    let no_slower = Target::AtMostTheBest(1.0);
    let works = [
        ("pairs of 64 bytes", Work::Pairs, no_slower),
        (
            "1,000 of 64 bytes, last in, first out",
            Work::Lifo,
            no_slower,
        ),
        (
            "1,000 of 64 bytes, first in, first out",
            Work::Fifo,
            no_slower,
        ),
        (
            "16 to 640 bytes, replaced at random",
            Work::Mixed,
            Target::None,
        ),
    ];
    let mut rows = Vec::new();
    for (what, work, target) in works {
        let on_two = row(all, what, work, 2, Target::None).beside(1, [&ours(all, work)]);
        rows.extend([row(all, what, work, 1, target), on_two]);
    }
    // This work brings its second thread with it.
    let what = "one thread allocates, another frees";
    rows.push(row(all, what, Work::Cross, 1, Target::AtMostTheBest(1.5)));
    let arenas = [
        works::newest_first(),
        works::oldest_first(),
        works::bumpalo(),
    ];
    let in_an_arena = Row::new("1,000 of 64 bytes in an arena", 1, &arenas[0]);
    rows.push(in_an_arena.beside(1, &arenas[1..]));
    let (by_create, arc) = (by_create::<Plain>(POOL), arc_in_a_vec::<Plain>(POOL));
    let others = [by_autorelease::<Plain>(POOL), in_blocks::<Plain>(POOL)];
    rows.extend([
        created("objects in blocks").beside(1, &others),
        Row::new("objects in blocks, no destructors", 2, &by_create)
            .beside(2, [&arc])
            .beside(1, [&by_create]),
    ]);
    rows
}
