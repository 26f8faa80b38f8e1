//! The project's targets, all measured in this run.

use crate::progress::Progress;
use crate::scenarios::trees;
use releasepool_benches::budget::{Calls, LIMIT};
use releasepool_benches::chain::CHAIN;
use releasepool_benches::comparison::{Judged, least_rounds};
use releasepool_benches::contest::Effort;
use releasepool_benches::objects::{POOL, Plain, arc_in_a_vec};
use releasepool_benches::pooled::by_autorelease;
use releasepool_benches::results::Verdict;
use releasepool_benches::sharing::{USES, epoch_atomic_pinned, slot_load};
use releasepool_benches::table::{Row, Target, explain, measure};
use releasepool_benches::targets::{
    clone_and_drop, contended_clone_and_drop, created, created_on_two_threads, dropped_chain,
    empty_nested_pools, handing_over, hot_object, hot_references, loads, one_object_pools,
    pools_of_ten,
};
use std::thread;
use std::time::Duration;

/// Nanoseconds that are short enough for an empty pool, on a clock of 3 GHz.
const EMPTY_POOL: f64 = 2.5;

/// Compares deep trees from the global allocator with those that are destroyed by hand.
fn deep_trees() -> [Row; 2] {
    let [ours, theirs] = trees::in_global();
    [1, 2].map(|threads| {
        let what = match threads {
            1 => "deep trees dropped, global allocator",
            _ => "deep trees dropped by 2 threads, global allocator",
        };
        Row::new(what, threads, &ours).against(Target::AtMost(1.0), threads, &theirs)
    })
}

fn rows() -> Vec<Row> {
    let global = by_autorelease::<Plain>(POOL);
    let arc = arc_in_a_vec::<Plain>(POOL);
    let [opened, within] = empty_nested_pools();
    let [plain, dropping] = one_object_pools();
    let [tree, trees] = deep_trees();
    let [hot_alone, hot_shared] = hot_references();
    vec![
        created("created in a pool"),
        Row::new(
            "added to a pool, global allocator, no destructors",
            1,
            &global,
        )
        .against(Target::AtMost(1.05), 1, &arc),
        created_on_two_threads(),
        opened.enough(EMPTY_POOL),
        within.enough(EMPTY_POOL),
        plain,
        dropping,
        pools_of_ten(),
        clone_and_drop(),
        contended_clone_and_drop(),
        loads("loads of a shared pointer", 1, USES).against(
            Target::AtMost(1.15),
            1,
            &epoch_atomic_pinned(),
        ),
        loads("loads of a shared pointer by 2 threads", 2, USES).against(
            Target::AtMost(1.15),
            1,
            &slot_load(USES),
        ),
        hot_object(),
        hot_alone,
        hot_shared,
        handing_over(),
        dropped_chain(CHAIN),
        tree,
        trees,
    ]
}

/// Judges the budget by every single call, not by the median.
fn judge(calls: &Calls) -> Verdict {
    let (late, all) = (calls.beyond(), calls.count());
    let limit = LIMIT.as_secs_f64() * 1e3;
    let samples = calls.longest_by_round();
    let result = match late {
        _ if samples.len() < least_rounds() => Judged::TooFew,
        0 => Judged::Met,
        _ => Judged::Missed,
    };
    Verdict {
        what:
            "budget of 1 ms, 100,000 pending: CPU time of the longest call of each round without \
               its longest step, milliseconds"
                .to_owned(),
        asked: format!("no call longer than {limit} ms without its longest step"),
        limit,
        at_least: false,
        measured: calls.longest(),
        samples: samples.into_iter().map(Some).collect(),
        result,
        remark: (late > 0).then(|| format!("{late} of {all} calls were longer")),
    }
}

/// Returns the number of steps in the progress display.
pub fn steps() -> usize {
    rows().len() + 1
}

/// Measures and prints all targets. `weight` is the weight of a step in the progress display.
pub fn verdicts(quick: bool, progress: &mut Progress, weight: u64) -> Vec<Verdict> {
    let effort = if quick {
        Effort {
            sample: Duration::from_micros(500),
            total: Duration::from_millis(300),
            least: 8,
        }
    } else {
        Effort::FULL
    };
    progress.suspend(|| {
        println!("\nTargets");
        explain();
    });
    let mut verdicts = Vec::new();
    for row in rows() {
        progress.step(&format!("targets: {}", row.what()));
        let measured = measure(&row, effort);
        progress.suspend(|| println!("{}\n", measured.text));
        verdicts.extend(measured.verdicts);
        progress.advance(weight);
    }
    progress.step("targets: budget");
    let rounds = if quick { 8 } else { 20 };
    let calls = thread::spawn(move || Calls::measure(rounds)).join();
    let calls = calls.expect("the measurement does not panic");
    progress.suspend(|| calls.print());
    verdicts.push(judge(&calls));
    progress.advance(weight);
    verdicts
}
