//! The rows of single operations: what is compared with what, and what is asked.

use crate::conversions::conversions;
use crate::handing::*;
use crate::objects::*;
use crate::pooled::*;
use crate::references::*;
use crate::sharing::*;
use crate::table::{Row, Target};
use crate::workload::Workload;
use crate::{budget, later, pooled, remote, stores};
use std::thread;

/// Nanoseconds that are short enough for an empty pool, on a clock of 3 GHz.
const EMPTY_POOL: f64 = 2.5;

/// Returns rows that compare a thousand objects in a pool with locks and with the minimum for one
/// thread, and two rows that are controls.
fn other_means() -> [Row; 6] {
    let (create, autorelease) = (by_create::<Plain>(POOL), by_autorelease::<Plain>(POOL));
    let (arc, rc) = (arc_in_a_vec::<Plain>(POOL), rc_in_a_vec::<Plain>(POOL));
    let locked = [behind_a_mutex(POOL), by_dashmap(POOL)];
    let created = Row::new("created in a pool, no destructors", 1, &create)
        .against(Target::Faster(3.0), 1, &arc)
        .against(Target::AtMost(1.5), 1, &free_list_and_array::<Plain>(POOL))
        .beside(1, [&in_blocks::<Plain>(POOL), &autorelease])
        .beside(1, &locked);
    let created_by_two = Row::new("created in a pool, no destructors", 2, &create)
        .against(Target::AtMost(1.15), 1, &create)
        .against(Target::Faster(8.0), 2, &locked[0])
        .against(Target::Faster(6.0), 2, &locked[1])
        .beside(2, [&arc]);
    [
        Row::new("control: the same twice", 1, &arc).beside(1, [&arc]),
        Row::new("control: 2 threads and 1", 2, &rc).beside(1, [&rc]),
        created,
        created_by_two,
        Row::new(
            "created in a pool, of two types in turn, no destructors",
            1,
            &by_create_of_two_types(POOL),
        )
        .against(Target::AtMost(0.5), 1, &arcs_of_two_types(POOL)),
        Row::new("autoreleased in a pool", 2, &autorelease)
            .against(Target::AtMost(1.15), 1, &autorelease)
            .against(Target::AtMost(1.05), 2, &arc),
    ]
}

/// Compares ways to create and release a batch of objects.
fn batches<P: Payload>(batch: u64) -> Vec<Row> {
    let ours = [
        by_autorelease::<P>(batch),
        implicitly::<P>(batch),
        ref_in_a_vec::<P>(batch),
    ];
    let others = [
        arc_in_a_vec::<P>(batch),
        triomphe_in_a_vec::<P>(batch),
        rc_in_a_vec::<P>(batch),
    ];
    let no_slower = match batch {
        POOL => Target::AtMost(1.05),
        _ => Target::None,
    };
    let explicit = match batch {
        10 if P::KIND == Plain::KIND => Target::AtMost(1.0),
        _ => no_slower,
    };
    let titles = [
        ("autoreleased in a pool", explicit),
        ("autoreleased implicitly", no_slower),
        ("released without a pool", Target::None),
    ];
    let row = |((title, target), ours): (_, &Workload)| {
        Row::new(format!("{title}, {batch} objects, {}", P::KIND), 1, ours)
            .against(target, 1, &others[0])
            .beside(1, &others[1..])
    };
    titles.into_iter().zip(&ours).map(row).collect()
}

/// Compares ways to open and close an empty pool with the clone and drop of an `Arc`.
fn empty() -> [Row; 3] {
    let [opened, within, by_token] = empty_pools();
    let [_, arc, ..] = clones();
    let asked = |what, pool| {
        let row = Row::new(what, 1, pool).against(Target::AtMost(0.5), 1, &arc);
        row.enough(EMPTY_POOL)
    };
    [
        asked("empty nested pool; against clone and drop", &opened),
        asked(
            "empty nested pool by autoreleasepool; against clone and drop",
            &within,
        ),
        Row::new(
            "empty nested pool by token; against clone and drop",
            1,
            &by_token,
        )
        .beside(1, [&arc]),
    ]
}

/// Compares a pool for each object with marks in a vector.
fn pool_of_one<P: Payload>() -> Row {
    let [ours, marks] = one_object_each::<P>();
    let what = format!("a pool with one object, {}", P::KIND);
    Row::new(what, 1, &ours).against(Target::AtMost(1.0), 1, &marks)
}

/// Compares a pool that is drained for each object with new pools, and with a vector.
fn drained_for_one<P: Payload>() -> Row {
    let what = format!("a pool drained for one object, {}", P::KIND);
    let row = Row::new(what, 1, &by_create::<P>(1));
    row.against(Target::AtMost(1.0), 1, &by_new_pools::<P>())
        .against(Target::AtMost(1.0), 1, &arc_in_a_vec::<P>(1))
        .beside(1, [&triomphe_in_a_vec::<P>(1)])
}

/// Returns the rows on what one object costs.
pub fn core() -> Vec<Row> {
    let mut rows = Vec::from(other_means());
    for batch in [10, POOL, 100_000] {
        rows.extend(batches::<Plain>(batch));
        rows.extend(batches::<Dropping>(batch));
    }
    let alone = [clones_in_a_pool(POOL), clones_in_a_vec(POOL)];
    let clones = clones();
    let [cloned, arc, ..] = &clones;
    let retained = "retained out of a pool; against clone and drop";
    let retained = Row::new(retained, 1, &retain());
    let dropped = |nodes: u64| {
        let title = format!("drop of a chain of {nodes}, building it not timed");
        Row::new(title, 1, &chain(nodes))
            .against(Target::AtMost(1.2), 1, &ref_nodes(nodes))
            .beside(1, [&arc_nodes(nodes)])
    };
    let clone_and_drop = Row::new("clone and drop", 1, cloned)
        .against(Target::AtMost(1.03), 1, arc)
        .beside(1, &clones[2..]);
    rows.push(Row::of("entry and release alone", 1, &alone));
    rows.extend(empty());
    rows.extend([
        pool_of_one::<Plain>(),
        pool_of_one::<Dropping>(),
        drained_for_one::<Plain>(),
        drained_for_one::<Dropping>(),
        retained.against(Target::AtMost(1.05), 1, arc),
        clone_and_drop,
        Row::of("new and drop, no destructor", 1, &new_and_drop::<Plain>()),
        Row::of("new and drop, destructor", 1, &new_and_drop::<Dropping>()),
        Row::of("downgrade and drop", 1, &downgrades()),
        Row::of("upgrade and drop", 1, &upgrades()),
        dropped(1_000),
        dropped(CHAIN),
    ]);
    rows.extend(conversions());
    rows
}

/// Compares loads from a slot with arc-swap.
fn loads(what: &str, threads: usize, uses: u64) -> Row {
    let target = Target::Faster(4.0);
    Row::new(what, threads, &slot_load(uses)).against(target, threads, &arc_swap_load())
}

/// Compares loads from a slot with all alternatives.
fn all_loads(threads: usize) -> Row {
    let row = loads("loads of a shared pointer, 100 per pool", threads, USES);
    let (pinned, close) = (epoch_atomic_pinned(), Target::AtMost(1.15));
    let asked = match threads {
        1 => row.against(close, 1, &pinned),
        _ => row
            .beside(threads, [&pinned])
            .against(close, 1, &slot_load(USES)),
    };
    let against = |row: Row, guard| row.against(BEST, threads, &guard);
    let guards = other_guards().into_iter().fold(asked, against);
    guards.beside(threads, &other_loads())
}

/// Returns the rows on slots that are used without pools.
fn slots_without_pools(threads: usize) -> impl Iterator<Item = Row> {
    let loads = [
        (
            "loads for one use each, without a pool",
            loads_for_one_use(),
        ),
        ("loads by a cache", loads_by_a_cache()),
        ("counted loads", counted_loads()),
    ];
    let row = move |(what, (ours, others)): (_, Compared)| {
        let against = |row: Row, (target, other): &_| row.against(*target, threads, other);
        others.iter().fold(Row::new(what, threads, &ours), against)
    };
    loads.into_iter().chain(stores::all()).map(row)
}

/// Returns the rows on what sharing costs.
pub fn sharing() -> Vec<Row> {
    let [after, alone] = pools_after_hot_refs();
    let hot = |threads, uses| {
        let what = format!("a hot object, added to a pool once for {uses} uses");
        Row::new(what, threads, &hot_pool_ref(uses))
    };
    let counted = |threads, limit| {
        let what = "a hot object, a reference cloned and dropped for each use";
        let target = Target::AtMost(limit);
        Row::new(what, threads, &hot_ref())
            .against(target, threads, &hot_arc())
            .beside(threads, &other_hot())
    };
    let [slot, swap] = loads_beside_a_writer();
    let (shared_by_both, arc, others) = counted_by_both();
    let mut rows = vec![
        all_loads(1),
        all_loads(2),
        loads("loads, 1,000 per pool", 1, 1_000),
        Row::of("loads, 10 per pool", 1, &[slot_load(10), arc_swap_load()]),
        Row::of("loads beside a writer", 1, &[slot, swap]),
        hot(1, 1_000).beside(1, &[hot_arc()]),
        hot(2, 1_000).against(Target::Faster(20.0), 2, &hot_arc()),
        hot(2, 100).beside(2, &[hot_arc()]),
        counted(1, 0.25),
        counted(2, 0.15),
        Row::new("clone and drop of one object by both", 2, &shared_by_both)
            .against(Target::AtMost(1.0), 2, &arc)
            .beside(2, &others),
        Row::of(
            "a pool of one object, after a HotRef was dropped",
            1,
            &[after, alone],
        ),
        Row::of(
            "objects handed over, the sender's part only; creating them not timed",
            1,
            &handed_over(),
        )
        .within(5.0),
    ];
    rows.extend([1, 2].into_iter().flat_map(slots_without_pools));
    rows.extend(later::rows());
    rows.extend(remote::rows());
    rows.push(budget::row());
    rows
}

/// Checks that all implementations destroy each value once, and release each reference once.
///
/// # Errors
/// If one does not; what it does instead is printed as a panic's message.
pub fn check_works() -> Result<(), String> {
    // On a spawned thread, like all measurements.
    let checked = thread::spawn(|| {
        pooled::check();
        later::check();
        remote::check();
    });
    let checked = checked.join();
    checked.map_err(|_| "something is not destroyed or released once".to_owned())?;
    println!("Checked: what is created or sent elsewhere is destroyed or released once.\n");
    Ok(())
}
