//! The benchmark `core`: what one object costs. It measures its creation, its references, and its
//! release by a pool, by criterion and in a table of ratios. See README.md.

#[path = "../groups.rs"]
mod groups;

use groups::{Group, print_table, run_criterion};
use releasepool_benches::chain::*;
use releasepool_benches::contest::Effort;
use releasepool_benches::conversions::conversions;
use releasepool_benches::objects::*;
use releasepool_benches::pooled::*;
use releasepool_benches::references::*;
use releasepool_benches::table::{Row, Target};
use releasepool_benches::targets;
use releasepool_benches::workload::Workload;

/// Compares ways to create and release a batch of objects.
fn batches<P: Payload>(batch: u64) -> Group {
    let created = by_create::<P>(batch);
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
    let no_slower = if batch == POOL {
        Target::AtMost(1.05)
    } else {
        Target::None
    };
    let titles = [
        ("autoreleased in a pool", no_slower),
        ("autoreleased implicitly", no_slower),
        ("released without a pool", Target::None),
    ];
    let row = |((title, target), ours): (_, &Workload)| {
        Row::new(format!("{title}, {batch} objects, {}", P::KIND), 1, ours)
            .against(target, 1, &others[0])
            .beside(1, &others[1..])
    };
    Group::new(format!("{batch} objects, {}", P::KIND))
        .follow(2, [&created].into_iter().chain(&ours).chain(&others))
        .compare(titles.into_iter().zip(&ours).map(row))
}

/// Compares a thousand objects in a pool with locks and with the minimum for one thread, and has the
/// two controls.
fn other_means() -> Group {
    let (create, autorelease) = (by_create::<Plain>(POOL), by_autorelease::<Plain>(POOL));
    let (arc, rc) = (arc_in_a_vec::<Plain>(POOL), rc_in_a_vec::<Plain>(POOL));
    let locked = [behind_a_mutex(POOL), by_dashmap(POOL)];
    let minimum = free_list_and_array::<Plain>(POOL);
    Group::new("1000 objects, by other means")
        .follow(2, locked.iter().chain([&minimum]))
        .compare([
            Row::new("control: the same twice", 1, &arc).beside(1, [&arc]),
            Row::new("control: 2 threads", 2, &rc).beside(1, [&rc]),
            targets::created("created in a pool"),
            targets::created_on_two_threads().beside(2, [&arc]),
            Row::new("created in a pool", 1, &create).beside(1, &locked),
            Row::new("autoreleased in a pool on 2 threads", 2, &autorelease)
                .against(Target::AtMost(1.15), 1, &autorelease)
                .against(Target::AtMost(1.05), 2, &arc),
        ])
}

/// Compares the first workload with the others on one thread, without targets.
fn group(name: &str, threads: usize, title: &str, workloads: &[Workload]) -> Group {
    let row = Row::new(title, 1, &workloads[0]).beside(1, &workloads[1..]);
    Group::new(name).follow(threads, workloads).compare([row])
}

fn groups() -> Vec<Group> {
    let mut groups = vec![other_means()];
    for batch in [10, POOL, 100_000] {
        groups.extend([batches::<Plain>(batch), batches::<Dropping>(batch)]);
    }
    let alone = [clones_in_a_pool(POOL), clones_in_a_vec(POOL)];
    let empty = empty_pools();
    let clones = clones();
    let [_, arc, ..] = &clones;
    let by_token = Row::new("empty nested pool; against clone and drop", 1, &empty[2]);
    let retain = retain();
    let retained = Row::new("retained out of a pool; against clone and drop", 1, &retain);
    let chains = [chain(CHAIN), ref_nodes(CHAIN), arc_nodes(CHAIN)];
    let dropped = |nodes| targets::dropped_chain(nodes).beside(1, [&arc_nodes(nodes)]);
    groups.extend([
        group(
            "entry and release alone",
            2,
            "entry and release alone",
            &alone,
        ),
        Group::new("empty nested pool")
            .follow(1, &empty)
            .compare(targets::empty_nested_pools())
            .compare([by_token.beside(1, [arc])]),
        Group::new("retain out of a pool, drop")
            .follow(1, [&retain])
            .compare([retained.against(Target::AtMost(1.05), 1, arc)]),
        Group::new("clone, drop")
            .follow(1, &clones)
            .compare([targets::clone_and_drop().beside(1, &clones[2..])]),
        group(
            "new, drop",
            1,
            "new and drop, no destructor",
            &new_and_drop::<Plain>(),
        ),
        group(
            "new, drop, destructor",
            1,
            "new and drop, destructor",
            &new_and_drop::<Dropping>(),
        ),
        group("downgrade, drop", 1, "downgrade and drop", &downgrades()),
        group("upgrade, drop", 1, "upgrade and drop", &upgrades()),
        Group::new("drop of a chain")
            .follow(1, &chains)
            .compare([1_000, CHAIN].map(dropped)),
        Group::new("conversions to slices").compare(conversions()),
    ]);
    groups
}

fn main() {
    // The other options are criterion's, which parses the command line itself.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let only_table = arguments.iter().any(|argument| argument == "--targets");
    // The argument that cargo adds; `cargo test --benches` does not.
    let everything = arguments == ["--bench"];
    let groups = groups();
    if !only_table {
        run_criterion(&groups);
    }
    if only_table || everything {
        print_table(groups, Effort::FULL);
    }
}
