//! Comparisons that more than one benchmark makes. All of them have targets.

use crate::chain::{chain, ref_nodes};
use crate::handing::handoff;
use crate::objects::{Dropping, POOL, Payload, Plain, arc_in_a_vec, free_list_and_array};
use crate::pooled::{behind_a_mutex, by_autorelease, by_create, by_dashmap};
use crate::references::{clones, empty_pools, one_object_each};
use crate::sharing::{arc_swap_load, hot_arc, hot_pool_ref, hot_ref, shared_ref, slot_load};
use crate::table::{Row, Target};

/// Compares objects that a pool creates with `Arc`s, and with the minimum for one thread.
pub fn created(what: &str) -> Row {
    let what = format!("{what}, no destructors");
    Row::new(what, 1, &by_create::<Plain>(POOL))
        .against(Target::Faster(3.0), 1, &arc_in_a_vec::<Plain>(POOL))
        .against(Target::AtMost(1.5), 1, &free_list_and_array::<Plain>(POOL))
}

/// Compares objects that pools of two threads create with one thread, and with locks.
pub fn created_on_two_threads() -> Row {
    let create = by_create::<Plain>(POOL);
    Row::new("created in a pool by 2 threads, no destructors", 2, &create)
        .against(Target::AtMost(1.15), 1, &create)
        .against(Target::Faster(8.0), 2, &behind_a_mutex(POOL))
        .against(Target::Faster(6.0), 2, &by_dashmap(POOL))
}

/// Compares two ways to open and close an empty pool with the clone and drop of an `Arc`.
pub fn empty_nested_pools() -> [Row; 2] {
    let [opened, within, _] = empty_pools();
    let [_, arc, ..] = clones();
    [opened, within].map(|empty| {
        Row::new("empty nested pool; against clone and drop", 1, &empty).against(
            Target::AtMost(0.5),
            1,
            &arc,
        )
    })
}

/// Compares the clone and drop of a `Ref` with those of an `Arc`.
pub fn clone_and_drop() -> Row {
    let [ours, arc, ..] = clones();
    Row::new("clone and drop", 1, &ours).against(Target::AtMost(1.03), 1, &arc)
}

/// Compares the clone and drop of a `Ref` that two threads share with those of an `Arc`.
pub fn contended_clone_and_drop() -> Row {
    Row::new(
        "clone and drop of one object by 2 threads",
        2,
        &shared_ref(),
    )
    .against(Target::AtMost(1.0), 2, &hot_arc())
}

/// Compares a pool for each object with marks in a vector.
pub fn one_object_pools() -> [Row; 2] {
    fn row<P: Payload>() -> Row {
        let [ours, marks] = one_object_each::<P>();
        let what = format!("a pool with one object, {}", P::KIND);
        Row::new(what, 1, &ours).against(Target::AtMost(1.0), 1, &marks)
    }
    [row::<Plain>(), row::<Dropping>()]
}

/// Compares small pools of objects from the global allocator with `Arc`s in a vector.
pub fn pools_of_ten() -> Row {
    let what = "added to a pool of 10, global allocator, no destructors";
    Row::new(what, 1, &by_autorelease::<Plain>(10)).against(
        Target::AtMost(1.0),
        1,
        &arc_in_a_vec::<Plain>(10),
    )
}

/// Compares loads from a slot with arc-swap.
pub fn loads(what: &str, threads: usize, uses: u64) -> Row {
    let target = Target::Faster(4.0);
    Row::new(what, threads, &slot_load(uses)).against(target, threads, &arc_swap_load())
}

/// Compares the uses of one object on two threads with an `Arc`.
pub fn hot_object() -> Row {
    let ours = hot_pool_ref(1_000);
    let what = "a hot object used by 2 threads, added to a pool once for 1,000 uses";
    Row::new(what, 2, &ours).against(Target::Faster(20.0), 2, &hot_arc())
}

/// Compares the clone and drop of a `HotRef` with those of an `Arc`, on one thread and on two.
pub fn hot_references() -> [Row; 2] {
    [(1, 0.25), (2, 0.15)].map(|(threads, limit)| {
        let what = format!("a hot object, a reference cloned and dropped for each use, {threads}");
        let what = what + if threads == 1 { " thread" } else { " threads" };
        Row::new(what, threads, &hot_ref()).against(Target::AtMost(limit), threads, &hot_arc())
    })
}

/// Returns the sender's part of handing objects to another thread.
pub fn handing_over() -> Row {
    let what = "objects handed over, the sender's part only; creating them not timed";
    Row::new(what, 1, &handoff()).within(5.0)
}

/// Compares the destruction of a chain with that of as many nodes in a vector.
pub fn dropped_chain(nodes: u64) -> Row {
    let title = format!("drop of a chain of {nodes}, building it not timed");
    Row::new(title, 1, &chain(nodes)).against(Target::AtMost(1.2), 1, &ref_nodes(nodes))
}
