//! What the project asks of itself, row by row, all in this run.

use crate::progress::Progress;
use releasepool_benches::budget::{Calls, LIMIT};
use releasepool_benches::chain::{CHAIN, chain, ref_nodes};
use releasepool_benches::contest::Effort;
use releasepool_benches::handing::handoff;
use releasepool_benches::objects::{POOL, Plain, arc_in_a_vec, free_list_and_array};
use releasepool_benches::pooled::{behind_a_mutex, by_autorelease, by_create, by_dashmap};
use releasepool_benches::references::{clones, empty_pools};
use releasepool_benches::results::Verdict;
use releasepool_benches::sharing::{USES, arc_swap_load, hot_arc, hot_pool_ref, slot_load};
use releasepool_benches::table::{Row, Target, explain, measure};
use std::thread;
use std::time::Duration;

/// A clock of 3 GHz is assumed; at others the ratio counts.
const EMPTY_POOL: f64 = 3.0;

fn rows() -> Vec<Row> {
    let create = by_create::<Plain>;
    let [ours, arc, ..] = clones();
    let [opened, within, _] = empty_pools();
    let mut rows = vec![
        Row::new("created in a pool", 1, create(POOL))
            .against(Target::Faster(3.0), 1, arc_in_a_vec::<Plain>(POOL))
            .against(Target::AtMost(1.5), 1, free_list_and_array::<Plain>(POOL)),
        Row::new(
            "the same, global allocator",
            1,
            by_autorelease::<Plain>(POOL),
        )
        .against(Target::AtMost(1.05), 1, arc_in_a_vec::<Plain>(POOL)),
        Row::new("created in a pool on 2 threads", 2, create(POOL))
            .against(Target::AtMost(1.15), 1, create(POOL))
            .against(Target::Faster(8.0), 2, behind_a_mutex(POOL))
            .against(Target::Faster(6.0), 2, by_dashmap(POOL)),
    ];
    rows.extend([opened, within].map(|empty| {
        Row::new("empty nested pool; against clone and drop", 1, empty)
            .enough(EMPTY_POOL)
            .against(Target::AtMost(0.9), 1, arc.clone())
    }));
    rows.extend([
        Row::new("clone and drop", 1, ours).against(Target::AtMost(1.05), 1, arc),
        Row::new("loads of a shared pointer", 1, slot_load(USES)).against(
            Target::Faster(4.0),
            1,
            arc_swap_load(),
        ),
        Row::new("loads by 2 threads", 2, slot_load(USES))
            .against(Target::Faster(4.0), 2, arc_swap_load())
            .against(Target::AtMost(1.15), 1, slot_load(USES)),
        Row::new("a hot object used by 2 threads", 2, hot_pool_ref(1_000)).against(
            Target::Faster(20.0),
            2,
            hot_arc(),
        ),
        Row::new("objects got rid of, the sender's part", 1, handoff()).within(5.0),
        Row::new(format!("drop of a chain of {CHAIN}"), 1, chain(CHAIN)).against(
            Target::AtMost(1.2),
            1,
            ref_nodes(CHAIN),
        ),
    ]);
    rows
}

fn budget(rounds: usize) -> Calls {
    let calls = thread::spawn(move || Calls::measure(rounds)).join();
    calls.expect("no panic")
}

/// No call may be late, whatever the median is.
fn judge(calls: &Calls) -> Verdict {
    let (late, all) = (calls.beyond(), calls.count());
    let limit = LIMIT.as_secs_f64() * 1e3;
    Verdict {
        what: "budget of 1 ms, 100,000 pending: CPU time of the longest call, milliseconds"
            .to_owned(),
        asked: format!("no call over {limit} ms, one destructor's own time aside"),
        limit,
        at_least: false,
        measured: calls.longest(),
        met: late == 0,
        remark: (late > 0).then(|| format!("{late} of {all} calls were late")),
    }
}

/// How many steps of the display that is.
pub fn steps() -> usize {
    rows().len() + 1
}

pub fn verdicts(quick: bool, progress: &mut Progress, weight: f64) -> Vec<Verdict> {
    let effort = if quick {
        Effort {
            sample: Duration::from_micros(500),
            total: Duration::from_millis(300),
            least: 5,
        }
    } else {
        Effort::FULL
    };
    println!("\nTargets");
    explain();
    let mut verdicts = Vec::new();
    for row in rows() {
        progress.step(&format!("targets: {}", row.what()));
        let measured = measure(&row, effort);
        progress.clear();
        print!("{}", measured.text);
        verdicts.extend(measured.verdicts);
        progress.advance(weight);
    }
    progress.step("targets: budget");
    let calls = budget(if quick { 5 } else { 20 });
    progress.clear();
    calls.print();
    verdicts.push(judge(&calls));
    progress.advance(weight);
    verdicts
}
