//! What it costs to share objects between threads: slots, hot objects, handing objects
//! over to be destroyed elsewhere, and drains within a budget.
//!
//! See README.md.

use releasepool_benches::budget::Calls;
use releasepool_benches::contest::Effort;
use releasepool_benches::handing::*;
use releasepool_benches::sharing::*;
use releasepool_benches::table::{self, Row, Target};
use std::thread;

fn rows() -> Vec<Row> {
    let loads = |threads, what: &str| {
        Row::new(what, threads, slot_load(USES))
            .against(Target::Faster(4.0), threads, arc_swap_load())
            .against(Target::None, threads, arc_swap_load_full())
            .against(Target::None, threads, rw_lock())
            .against(Target::None, threads, parking_lot())
            .against(Target::None, threads, epoch_atomic())
            .against(Target::None, threads, epoch_atomic_pinned())
            .against(Target::None, threads, basedrop_load())
    };
    vec![
        loads(1, "loads of a shared pointer"),
        loads(2, "loads of a shared pointer by 2 threads").against(
            Target::AtMost(1.15),
            1,
            slot_load(USES),
        ),
        Row::new("loads, 1,000 per pool", 1, slot_load(1_000)).against(
            Target::Faster(4.0),
            1,
            arc_swap_load(),
        ),
        Row::new("loads, 10 per pool", 1, slot_load(10)).against(Target::None, 1, arc_swap_load()),
        Row::new("counted loads", 1, slot_load_full())
            .against(Target::None, 1, arc_swap_load_full())
            .against(Target::None, 1, rw_lock()),
        Row::new("loads beside a writer", 1, slot_load_beside_a_writer()).against(
            Target::None,
            1,
            arc_swap_load_beside_a_writer(),
        ),
        Row::new("stores", 1, slot_store())
            .against(Target::None, 1, arc_swap_store())
            .against(Target::None, 1, rw_lock_store()),
        Row::new("a hot object used by 2 threads", 2, hot_pool_ref(1_000)).against(
            Target::Faster(20.0),
            2,
            hot_arc(),
        ),
        Row::new("the same, 100 uses a pool", 2, hot_pool_ref(100)).against(
            Target::None,
            2,
            hot_arc(),
        ),
        Row::new("a hot object used by 1 thread", 1, hot_pool_ref(1_000)).against(
            Target::None,
            1,
            hot_arc(),
        ),
        Row::new("objects got rid of, the sender's part", 1, handoff())
            .within(5.0)
            .against(Target::None, 1, release_each())
            .against(Target::None, 1, channel_each())
            .against(Target::None, 1, channel_of_vectors())
            .against(Target::None, 1, basedrop_each())
            .against(Target::None, 1, here()),
    ]
}

fn main() {
    let only_budget = std::env::args().any(|argument| argument == "--budget");
    let missed = if only_budget {
        0
    } else {
        table::print(&rows(), Effort::FULL)
    };
    // On a spawned thread, as all else.
    let calls = thread::spawn(|| Calls::measure(20)).join();
    let calls = calls.expect("no panic");
    calls.print();
    let late = calls.beyond();
    println!(
        "\n{missed} targets missed; {late} calls beyond the budget, {}",
        if late == 0 { "ok" } else { "MISSED" }
    );
}
