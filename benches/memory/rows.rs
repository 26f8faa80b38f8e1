//! What is compared with what, and what is asked of it.

use crate::arena;
use crate::contestants::{Contestant, Role};
use crate::objects::in_blocks;
use crate::works::Work;
use releasepool_benches::objects::{POOL, Plain, arc_in_a_vec, free_list_and_array};
use releasepool_benches::pooled::{by_autorelease, by_create};
use releasepool_benches::table::{Row, Target};

/// All that can do the work, ours against each of the others.
fn row(all: &[Contestant], what: &str, work: Work, threads: usize, target: Target) -> Row {
    let ours = all[0].work(work).expect("ours does all works").clone();
    let mut row = Row::new(what, threads, ours);
    for theirs in &all[1..] {
        if threads > 1 && !theirs.on_threads {
            continue;
        }
        if let Some(workload) = theirs.work(work) {
            let target = match theirs.role {
                Role::Rival => target,
                _ => Target::None,
            };
            row = row.against(target, threads, workload.clone());
        }
    }
    row
}

pub fn rows(all: &[Contestant]) -> Vec<Row> {
    let no_slower = Target::AtMostTheBest(1.0);
    let not_much_slower = Target::AtMostTheBest(1.5);
    let mut rows = Vec::new();
    for (what, work, target) in [
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
    ] {
        rows.push(row(all, what, work, 1, target));
        let one = all[0].work(work).expect("ours does all works").clone();
        let what = format!("{what}, by 2 threads");
        let row = row(all, &what, work, 2, Target::None);
        rows.push(row.against(Target::None, 1, one));
    }
    rows.push(row(
        all,
        "one thread allocates, another frees",
        Work::Cross,
        1,
        not_much_slower,
    ));
    rows.push(
        Row::new("1,000 of 64 bytes in an arena", 1, arena::newest_first())
            .against(Target::None, 1, arena::oldest_first())
            .against(Target::None, 1, arena::bumpalo()),
    );
    rows.push(
        Row::new("objects", 1, by_create::<Plain>(POOL))
            .against(Target::Faster(3.0), 1, arc_in_a_vec::<Plain>(POOL))
            .against(Target::AtMost(1.5), 1, free_list_and_array::<Plain>(POOL))
            .against(Target::None, 1, by_autorelease::<Plain>(POOL))
            .against(Target::None, 1, in_blocks::<Plain>(POOL)),
    );
    rows.push(
        Row::new("objects, by 2 threads", 2, by_create::<Plain>(POOL))
            .against(Target::None, 2, arc_in_a_vec::<Plain>(POOL))
            .against(Target::None, 1, by_create::<Plain>(POOL)),
    );
    rows
}
