//! The rows of the benchmark `sharing` on destruction elsewhere: of values, and of references whose
//! owner must release them.

use crate::later::values::{self, Make};
use crate::later::{Receiver, later_or_here, made_and_dropped, one_by_one, one_large, together};
use crate::remote::{empty_drains, given_up, given_up_and_released};
use crate::table::Row;
use crate::workload::Workload;
use crate::{later, remote};
use std::thread;

/// Nanoseconds that the sender of a value may need, if it need not wake the receiver.
const ALONE: f64 = 60.0;

/// Nanoseconds that the sender of many values may need for each.
const TOGETHER: f64 = 15.0;

/// Nanoseconds that the sender of a large graph may be stalled.
const STALL: f64 = 100_000.0;

/// Compares the first workload with the others on one thread, or on several.
fn row(what: impl Into<String>, threads: usize, workloads: &[Workload]) -> Row {
    Row::new(what, threads, &workloads[0]).beside(threads, &workloads[1..])
}

fn one<T: Send + 'static>(receiver: Receiver, make: Make<T>) -> Row {
    let how = match receiver {
        Receiver::Busy => "busy",
        Receiver::AtWork => "destroying meanwhile",
        Receiver::Asleep => "asleep",
    };
    let what = format!("a value dropped later, the sender's part; the receiver {how}");
    row(what, 1, &one_by_one(receiver, make))
}

/// Compares sending values of a kind with dropping them.
fn break_even<T: Send + 'static>(kind: &str, count: u64, make: Make<T>) -> Row {
    let what = format!("sent or dropped: {kind}");
    row(what, 1, &later_or_here(count, make))
}

/// Compares making and sending values of a kind with making and dropping them.
fn cycle<T: Send + 'static>(kind: &str, count: u64, make: Make<T>) -> Row {
    let what = format!("made, and sent or dropped: {kind}");
    row(what, 1, &made_and_dropped(count, make))
}

/// Returns the rows on values.
fn dropped_later() -> Vec<Row> {
    let stall = one_large(values::graph);
    vec![
        one(Receiver::Busy, values::object).within(ALONE),
        one(Receiver::AtWork, values::object),
        one(Receiver::Asleep, values::object),
        row(
            "1,000 values dropped later together, the sender's part",
            1,
            &together(values::object),
        )
        .within(TOGETHER),
        break_even("4 KiB inside the value", 16, values::inline),
        break_even("a box of 64 bytes", 1_000, values::small_box),
        break_even("a vector of 4 KiB", 100, values::small_vector),
        break_even("a vector of 1 MiB", 16, values::large_vector),
        break_even("a mapping of 1 MiB", 16, values::mapping),
        break_even("a vector of 100 texts", 100, values::texts),
        break_even("a HashMap of 1,000 texts", 16, values::hash_map),
        break_even("a tree of 1,111 nodes", 16, values::tree),
        break_even("a BTreeMap of 10,000 texts", 8, values::ordered_map),
        cycle("a box of 64 bytes", 1_000, values::small_box),
        cycle("a vector of 100 texts", 100, values::texts),
        cycle("a tree of 1,111 nodes", 16, values::tree),
        row(
            "a graph of 20,000 modules dropped later, the sender's stall",
            1,
            &stall,
        )
        .within(STALL),
    ]
}

/// Returns the rows on references that their owner releases.
fn given_up_to_an_owner() -> Vec<Row> {
    let each = |what, workloads: [Workload; 4]| [1, 2].map(|n| row(what, n, &workloads));
    let pushes = "references given up to their owner, the push only";
    let cycles = "references given up to their owner, and released after each 100";
    let mut rows = Vec::from(each(pushes, given_up()));
    rows.extend(each(cycles, given_up_and_released()));
    rows.push(row(
        "drains of no references to their owner",
        1,
        &empty_drains(),
    ));
    rows
}

/// Checks that all implementations destroy each value once, and release each reference once.
///
/// # Errors
/// If one does not; what it does instead is printed as a panic's message.
pub fn check_elsewhere() -> Result<(), String> {
    // On a spawned thread, like all measurements.
    let check = thread::spawn(|| {
        later::check();
        remote::check();
    });
    let check = check.join();
    check.map_err(|_| "what is sent elsewhere is not destroyed or released once".to_owned())?;
    println!("Checked: what is sent elsewhere is destroyed or released once.\n");
    Ok(())
}

/// Returns all rows on destruction elsewhere.
pub fn elsewhere() -> Vec<Row> {
    let mut rows = dropped_later();
    rows.extend(given_up_to_an_owner());
    rows
}
