//! The comparisons of allocators, with their targets.

use super::contestants::{self, Contestant};
use super::works::{self, Work};
use releasepool_benches::table::{Row, Target};
use releasepool_benches::workload::{Role, Workload};

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
            && (threads == 1 || theirs.is_shared())
        {
            row = row.against(target, threads, &workload.role(theirs.role));
        }
    }
    row
}

/// Returns all rows.
pub fn rows() -> Vec<Row> {
    let all = &contestants::all()[..];
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
    rows
}
