//! The comparisons of allocators, and of ways to create objects, with their targets.

use crate::arena;
use crate::contestants::Contestant;
use crate::objects::in_blocks;
use crate::works::Work;
use releasepool_benches::objects::{POOL, Plain, arc_in_a_vec, free_list_and_array};
use releasepool_benches::pooled::{by_autorelease, by_create};
use releasepool_benches::rows::{Group, created};
use releasepool_benches::table::{Row, Target};
use releasepool_benches::workload::{Role, Workload};

fn ours(all: &[Contestant], work: Work) -> &Workload {
    all[0].work(work).expect("the first one can do all works")
}

/// Compares releasepool's allocator with all others that can do the work.
fn row(all: &[Contestant], what: &str, work: Work, threads: usize, target: Target) -> Row {
    let mut row = Row::new(what, threads, ours(all, work));
    for theirs in &all[1..] {
        let target = match theirs.role {
            Role::Peer => target,
            _ => Target::None,
        };
        if let Some(workload) = theirs.work(work)
            && (threads == 1 || theirs.on_threads())
        {
            row = row.against(target, threads, &workload.clone().role(theirs.role));
        }
    }
    row
}

/// Creates a group for rows, in which criterion follows the work on 1 to `threads` threads, where the
/// allocator allows it.
fn group(
    all: &[Contestant],
    name: &str,
    (work, threads): (Work, usize),
    rows: impl IntoIterator<Item = Row>,
) -> Group {
    all.iter()
        .fold(Group::new(name, rows), |group, contestant| {
            let threads = if contestant.on_threads() { threads } else { 1 };
            group.follow(threads, contestant.work(work))
        })
}

pub fn groups(all: &[Contestant]) -> Vec<Group> {
    let no_slower = Target::AtMostTheBest(1.0);
    let works = [
        ("pairs", "pairs of 64 bytes", Work::Pairs, no_slower),
        (
            "batches, last in, first out",
            "1,000 of 64 bytes, last in, first out",
            Work::Lifo,
            no_slower,
        ),
        (
            "batches, first in, first out",
            "1,000 of 64 bytes, first in, first out",
            Work::Fifo,
            no_slower,
        ),
        (
            "mixed sizes",
            "16 to 640 bytes, replaced at random",
            Work::Mixed,
            Target::None,
        ),
    ];
    let mut groups = Vec::new();
    for (name, what, work, target) in works {
        let on_two = row(all, what, work, 2, Target::None).beside(1, [ours(all, work)]);
        let rows = [row(all, what, work, 1, target), on_two];
        groups.push(group(all, name, (work, 2), rows));
    }
    // This work brings its second thread with it.
    let what = "one thread allocates, another frees";
    let across = row(all, what, Work::Cross, 1, Target::AtMostTheBest(1.5));
    groups.push(group(
        all,
        "from thread to thread",
        (Work::Cross, 1),
        [across],
    ));
    let arenas = [
        arena::newest_first(),
        arena::oldest_first(),
        arena::bumpalo(),
    ];
    let in_an_arena = Row::new("1,000 of 64 bytes in an arena", 1, &arenas[0]);
    let in_an_arena = in_an_arena.beside(1, &arenas[1..]);
    groups.push(Group::new("in an arena", [in_an_arena]).follow(1, &arenas));
    let objects = [
        by_create::<Plain>(POOL),
        by_autorelease::<Plain>(POOL),
        in_blocks::<Plain>(POOL),
        arc_in_a_vec::<Plain>(POOL),
        free_list_and_array::<Plain>(POOL),
    ];
    let [by_create, .., arc, _] = &objects;
    let rows = [
        created("objects in blocks").beside(1, &objects[1..3]),
        Row::new("objects in blocks, no destructors", 2, by_create)
            .beside(2, [arc])
            .beside(1, [by_create]),
    ];
    groups.push(Group::new("objects", rows).follow(1, &objects));
    groups
}
