//! The benchmark `sharing`: what sharing objects between threads costs. It measures slots, hot
//! objects, handing objects to another thread for destruction, and drains with a budget. See
//! README.md.

use clap::Parser;
use releasepool_benches::budget::Calls;
use releasepool_benches::contest::Effort;
use releasepool_benches::handing::*;
use releasepool_benches::sharing::*;
use releasepool_benches::table::{self, Row, Target};
use releasepool_benches::targets;
use std::thread;

/// Measures the cost of sharing objects between threads.
#[derive(Parser)]
#[command(override_usage = "cargo bench --bench sharing [-- OPTIONS]")]
struct Options {
    /// Measure only the drain with a time budget
    #[arg(long)]
    budget: bool,

    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn rows() -> Vec<Row> {
    let slot = slot_load(USES);
    let loads = |threads, what| {
        targets::loads(what, threads, USES).beside(
            threads,
            &[
                arc_swap_load_full(),
                rw_lock(),
                parking_lot(),
                epoch_atomic(),
                epoch_atomic_pinned(),
                basedrop_load(),
            ],
        )
    };
    let beside_a_writer = Row::new("loads beside a writer", 1, &slot_load_beside_a_writer());
    let [hot_alone, hot_shared] = targets::hot_references();
    let [after, alone] = pools_after_hot_refs();
    vec![
        loads(1, "loads of a shared pointer"),
        loads(2, "loads of a shared pointer by 2 threads").against(Target::AtMost(1.15), 1, &slot),
        targets::loads("loads, 1,000 per pool", 1, 1_000),
        Row::new("loads, 10 per pool", 1, &slot_load(10)).beside(1, &[arc_swap_load()]),
        Row::new("counted loads", 1, &slot_load_full())
            .beside(1, &[arc_swap_load_full(), rw_lock()]),
        beside_a_writer.beside(1, &[arc_swap_load_beside_a_writer()]),
        Row::new("stores", 1, &slot_store()).beside(1, &[arc_swap_store(), rw_lock_store()]),
        targets::hot_object(),
        Row::new(
            "a hot object used by 2 threads, 100 uses per pool",
            2,
            &hot_pool_ref(100),
        )
        .beside(2, &[hot_arc()]),
        Row::new("a hot object used by 1 thread", 1, &hot_pool_ref(1_000)).beside(1, &[hot_arc()]),
        hot_alone,
        hot_shared,
        Row::new(
            "a pool of one object, after a HotRef was dropped",
            1,
            &after,
        )
        .beside(1, [&alone]),
        targets::handing_over().beside(
            1,
            &[
                release_each(),
                channel_each(),
                channel_of_vectors(),
                basedrop_each(),
                here(),
            ],
        ),
    ]
}

fn main() {
    let options = Options::parse();
    let missed = if options.budget {
        0
    } else {
        table::print(rows(), Effort::FULL)
    };
    // On a spawned thread, like all other measurements.
    let calls = thread::spawn(|| Calls::measure(20)).join();
    let calls = calls.expect("the measurement does not panic");
    calls.print();
    let late = calls.beyond();
    println!(
        "\n{missed} targets missed; {late} calls longer than the budget allows: {}",
        if late == 0 { "ok" } else { "MISSED" }
    );
}
