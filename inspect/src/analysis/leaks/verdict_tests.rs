//! Small graphs, each of them one situation.

use super::{Group, Limits, leaks, suspects};
use crate::analysis::Analysis;
use crate::analysis::synthetic::Builder;
use crate::analysis::verdict::Verdict;
use crate::graph::{Graph, NodeId, NodeKind, RootKind};

const STACK: &str = "stack of thread \"main\"";

/// Adds two objects that hold each other; the first has so many references.
fn cycle(b: &mut Builder, strong: u32) -> (NodeId, NodeId) {
    let (game, player) = (b.object("Game", strong, 0), b.object("Player", 1, 0));
    b.edge(game, 16, player).edge(player, 8, game);
    (game, player)
}

/// Adds two levels of children with weak parents; the leaves say that children are strong.
fn tree(b: &mut Builder) -> NodeId {
    let root = b.object("Node", 1, 1);
    let child = b.object("Node", 1, 1);
    let leaf = b.object("Node", 1, 0);
    b.edge(root, 0, child).edge(child, 8, root);
    b.edge(child, 0, leaf).edge(leaf, 8, child);
    root
}

fn verdicts(graph: &Graph) -> Vec<(Verdict, u64)> {
    let groups = find(graph);
    groups
        .iter()
        .map(|group| (group.verdict, group.figures.leaks))
        .collect()
}

fn find(graph: &Graph) -> Vec<Group> {
    leaks(&Analysis::new(graph), &Limits::default(), None)
}

fn names(graph: &Graph, group: &Group) -> Vec<String> {
    let analysis = Analysis::new(graph);
    let names = group.path.iter().map(|hop| {
        let name = analysis.type_name(hop.node).unwrap_or("plain");
        match hop.offset {
            Some(offset) => format!("{name}+{offset}"),
            None => name.to_owned(),
        }
    });
    names.collect()
}

#[test]
fn cycle_of_two_is_proven_and_named_edge_by_edge() {
    let mut b = Builder::new();
    for _ in 0..3 {
        cycle(&mut b, 1);
    }
    let graph = b.build();
    let groups = find(&graph);
    assert_eq!(groups.len(), 1);
    assert_eq!(
        (groups[0].verdict, groups[0].figures.leaks),
        (Verdict::ProvenCycle, 3)
    );
    assert_eq!(
        (groups[0].figures.objects, groups[0].figures.bytes),
        (6, 192)
    );
    assert_eq!(names(&graph, &groups[0]), ["Game+16", "Player+8"]);
}

#[test]
fn stale_word_on_a_stack_does_not_hide_a_cycle() {
    let mut b = Builder::new();
    let (game, _) = cycle(&mut b, 1);
    b.root(RootKind::Stack, STACK, game);
    assert_eq!(verdicts(&b.build()), [(Verdict::CountedCycle, 1)]);
}

#[test]
fn cycle_that_a_stack_holds_is_no_leak() {
    let mut b = Builder::new();
    let (game, _) = cycle(&mut b, 2);
    b.root(RootKind::Stack, STACK, game);
    assert_eq!(verdicts(&b.build()), []);
}

#[test]
fn cycle_through_a_closure_is_found_although_a_stale_word_refers_to_the_closure() {
    let mut b = Builder::new();
    let button = b.object("Button", 1, 0);
    let closure = b.plain(24);
    b.edge(button, 0, closure).edge(closure, 8, button);
    b.root(RootKind::Stack, STACK, closure);
    let graph = b.build();
    let groups = find(&graph);
    assert_eq!(groups[0].verdict, Verdict::CountedCycle);
    assert_eq!(names(&graph, &groups[0]), ["Button+0", "plain+8"]);
}

#[test]
fn cycle_through_an_arc_that_a_stack_holds_is_no_leak() {
    let mut b = Builder::new();
    let entity = b.object("Entity", 1, 0);
    let world = b.arc(2, 1);
    b.edge(world, 16, entity).edge(entity, 0, world);
    b.root(RootKind::Stack, STACK, world);
    assert_eq!(verdicts(&b.build()), []);
}

#[test]
fn cycle_through_an_arc_whose_counts_are_all_inside_leaks() {
    let mut b = Builder::new();
    let entity = b.object("Entity", 1, 0);
    let world = b.arc(1, 1);
    b.edge(world, 16, entity).edge(entity, 0, world);
    b.root(RootKind::Stack, STACK, world);
    assert_eq!(verdicts(&b.build()), [(Verdict::CountedCycle, 1)]);
}

#[test]
fn tree_with_weak_parents_is_no_cycle() {
    let mut b = Builder::new();
    let root = tree(&mut b);
    b.root(RootKind::Stack, STACK, root);
    assert_eq!(verdicts(&b.build()), []);
}

#[test]
fn tree_with_weak_parents_whose_root_is_forgotten_lacks_a_holder() {
    let mut b = Builder::new();
    tree(&mut b);
    let groups = find(&b.build());
    assert_eq!(groups.len(), 1);
    assert_eq!(
        (groups[0].verdict, groups[0].samples[0]),
        (Verdict::NoHolder, 0)
    );
    assert_eq!(
        (
            groups[0].figures.objects,
            groups[0].figures.retained_objects
        ),
        (1, 3)
    );
}

#[test]
fn single_child_with_an_undecided_parent_is_no_cycle() {
    let mut b = Builder::new();
    let (parent, child) = (b.object("Parent", 1, 1), b.object("Child", 1, 0));
    b.edge(parent, 0, child).edge(child, 0, parent);
    b.root(RootKind::Stack, STACK, parent);
    assert_eq!(verdicts(&b.build()), []);
}

#[test]
fn parents_by_raw_pointer_are_no_cycle() {
    // Each parent has a `Vec` of children, which have raw pointers to their parents: one of them has
    // more than its parent's count allows.
    let mut b = Builder::new();
    let parents: Vec<_> = (0..2).map(|_| b.object("Parent", 1, 0)).collect();
    let children: Vec<_> = (0..4).map(|_| b.object("Child", 1, 0)).collect();
    for (parent, children) in parents.iter().zip(children.chunks(2)) {
        let buffer = b.plain(32);
        b.edge(*parent, 8, buffer);
        for (at, child) in children.iter().enumerate() {
            b.edge(buffer, 8 * at as u32, *child)
                .edge(*child, 0, *parent);
        }
        b.root(RootKind::Stack, STACK, *parent);
    }
    assert_eq!(verdicts(&b.build()), []);
}

#[test]
fn forgotten_parents_are_found_although_children_have_raw_pointers_to_them() {
    let mut b = Builder::new();
    let parents: Vec<_> = (0..60).map(|_| b.object("Parent", 1, 0)).collect();
    let children: Vec<_> = (0..180).map(|_| b.object("Child", 1, 0)).collect();
    for (child, parent) in children.iter().zip(parents.iter().cycle()) {
        b.edge(*child, 0, *parent);
    }
    let vectors = [512, 2048].map(|bytes| b.plain(bytes));
    for (vector, held) in vectors.into_iter().zip([&parents[..58], &children]) {
        b.root(RootKind::Static, "static VECTOR", vector);
        for (at, held) in (0..).step_by(8).zip(held) {
            b.edge(vector, at, *held);
        }
    }
    assert_eq!(verdicts(&b.build()), [(Verdict::NoHolder, 2)]);
}

#[test]
fn forgotten_handles_are_counted() {
    let mut b = Builder::new();
    for _ in 0..4 {
        b.object("Texture", 1, 0);
    }
    let shared = b.object("Shared", 3, 0);
    b.root(RootKind::Static, "static SHARED", shared);
    let groups = find(&b.build());
    let found: Vec<_> = groups
        .iter()
        .map(|g| (g.verdict, g.figures.leaks, g.figures.missing))
        .collect();
    assert_eq!(
        found,
        [(Verdict::NoHolder, 4, 4), (Verdict::MoreReferences, 1, 2)]
    );
}

#[test]
fn vector_that_nothing_holds_is_the_holder_that_is_reported() {
    let mut b = Builder::new();
    let items: Vec<_> = (0..3).map(|_| b.object("Item", 1, 0)).collect();
    let vector = b.plain(64);
    for (at, item) in items.iter().enumerate() {
        b.edge(vector, 8 * at as u32, *item);
    }
    let graph = b.build();
    let groups = find(&graph);
    assert_eq!(
        (groups[0].verdict, groups[0].figures.leaks),
        (Verdict::Allocation, 1)
    );
    assert_eq!(names(&graph, &groups[0]), ["plain+0", "Item"]);
    assert_eq!(
        (
            groups[0].figures.retained_objects,
            groups[0].figures.retained_bytes
        ),
        (3, 160)
    );
}

#[test]
fn what_stacks_statics_and_thread_locals_hold_is_healthy() {
    let mut b = Builder::new();
    for kind in [
        RootKind::Stack,
        RootKind::Static,
        RootKind::ThreadLocal,
        RootKind::Register,
    ] {
        let object = b.object("Healthy", 1, 0);
        b.root(kind, "somewhere", object);
    }
    let (parent, child) = (b.object("Parent", 1, 0), b.object("Child", 1, 0));
    let buffer = b.plain(32);
    b.edge(parent, 8, buffer).edge(buffer, 0, child);
    b.root(RootKind::Static, "static PARENT", parent);
    assert_eq!(verdicts(&b.build()), []);
}

#[test]
fn weak_references_alone_keep_no_value() {
    let mut b = Builder::new();
    let gone = b.object("Gone", 0, 2);
    let holder = b.object("Holder", 1, 0);
    b.edge(holder, 0, gone).edge(gone, 0, holder);
    b.root(RootKind::Stack, "stack", holder);
    assert_eq!(verdicts(&b.build()), []);
}

#[test]
fn forgotten_pool_is_named_and_open_pools_are_healthy_unless_they_are_large() {
    let mut b = Builder::new();
    for _ in 0..2 {
        let lost = b.object("Lost", 1, 0);
        b.counted(
            RootKind::ForgottenPool,
            "forgotten pool of thread \"main\"",
            lost,
        );
    }
    let temporary = b.object("Temporary", 1, 0);
    b.counted(
        RootKind::Pool,
        "pool \"frame\" of thread \"main\"",
        temporary,
    );
    for _ in 0..10_000 {
        let event = b.object("Event", 1, 0);
        b.counted(RootKind::Pool, "pool \"events\" of thread \"main\"", event);
    }
    let graph = b.build();
    let groups = find(&graph);
    let found: Vec<_> = groups
        .iter()
        .map(|g| (g.verdict, g.label.as_str(), g.figures.leaks))
        .collect();
    let expected = [
        (
            Verdict::ForgottenPool,
            "forgotten pool of thread \"main\"",
            2,
        ),
        (Verdict::Pool, "pool \"events\" of thread \"main\"", 10_000),
    ];
    assert_eq!(found, expected);
}

#[test]
fn object_in_a_large_pool_that_is_held_elsewhere_is_healthy() {
    let mut b = Builder::new();
    for _ in 0..10_000 {
        let shared = b.object("Shared", 2, 0);
        b.counted(RootKind::Pool, "pool \"frame\" of thread \"main\"", shared);
        b.root(RootKind::Static, "static SHARED", shared);
    }
    assert_eq!(verdicts(&b.build()), []);
}

#[test]
fn cycles_of_five_are_one_group_wherever_they_begin() {
    let mut b = Builder::new();
    for turn in 0..5 {
        let names = ["A", "B", "C", "D", "E"];
        let nodes: Vec<_> = (0..5)
            .map(|at| b.object(names[(at + turn) % 5], 1, 0))
            .collect();
        for at in 0..5 {
            b.edge(nodes[at], 8, nodes[(at + 1) % 5]);
        }
    }
    let graph = b.build();
    let groups = find(&graph);
    assert_eq!(
        (
            groups.len(),
            groups[0].figures.leaks,
            groups[0].figures.objects
        ),
        (1, 5, 25)
    );
    assert_eq!(
        names(&graph, &groups[0]),
        ["A+8", "B+8", "C+8", "D+8", "E+8"]
    );
}

#[test]
fn cycle_of_plain_allocations_is_reported_if_it_holds_objects() {
    let mut b = Builder::new();
    let inner = b.object("Inner", 1, 0);
    let (one, two) = (b.arc(1, 1), b.arc(1, 1));
    b.edge(one, 16, two).edge(two, 16, one).edge(two, 24, inner);
    let (three, four) = (b.arc(1, 1), b.arc(1, 1));
    b.edge(three, 16, four).edge(four, 16, three);
    let groups = find(&b.build());
    assert_eq!(
        (groups.len(), groups[0].verdict),
        (1, Verdict::AllocationCycle)
    );
}

#[test]
fn cycle_is_the_leak_and_not_what_it_holds() {
    let mut b = Builder::new();
    let (one, two) = (b.object("One", 1, 0), b.object("Two", 1, 0));
    let held = b.object("Held", 1, 0);
    b.edge(one, 0, two).edge(two, 0, one).edge(two, 8, held);
    let graph = b.build();
    let groups = find(&graph);
    assert_eq!(groups.len(), 1);
    assert_eq!(
        (
            groups[0].figures.objects,
            groups[0].figures.retained_objects
        ),
        (2, 3)
    );
    assert_eq!(names(&graph, &groups[0]), ["One+0", "Two+0"]);
}

#[test]
fn container_of_ten_thousand_is_a_hint() {
    let mut b = Builder::new();
    let items: Vec<_> = (0..10_000).map(|_| b.object("Item", 1, 0)).collect();
    let vector = b.plain(80_000);
    for (at, item) in items.iter().enumerate() {
        b.edge(vector, 8 * at as u32, *item);
    }
    b.root(RootKind::Static, "static ITEMS", vector);
    let groups = find(&b.build());
    assert_eq!((groups.len(), groups[0].verdict), (1, Verdict::Container));
    assert!(groups[0].verdict.is_hint());
    assert_eq!(
        (groups[0].label.as_str(), groups[0].figures.objects),
        ("static ITEMS", 10_000)
    );
}

#[test]
fn allocation_that_nothing_holds_is_no_leak_if_what_it_refers_to_is_held() {
    let mut b = Builder::new();
    let (shared, lost) = (b.object("Shared", 1, 0), b.object("Lost", 1, 0));
    let (stale, leaked) = (b.plain(64), b.plain(64));
    b.root(RootKind::Static, "static SHARED", shared);
    b.edge(stale, 0, shared);
    b.edge(leaked, 0, shared).edge(leaked, 8, lost);
    let graph = b.build();
    let groups = find(&graph);
    assert_eq!((groups.len(), groups[0].figures.leaks), (1, 1));
    assert_eq!(names(&graph, &groups[0]), ["plain+8", "Lost"]);
}

#[test]
fn what_an_object_holds_that_is_being_destroyed_is_no_leak() {
    let mut b = Builder::new();
    // One in its destructor, one that waits for it.
    for _ in 0..2 {
        let (dying, child) = (b.object("Dying", 0, 0), b.object("Child", 1, 0));
        b.edge(dying, 0, child);
    }
    // One that is destroyed, or whose destructor runs while it has weak references.
    let (weak, child) = (b.object("Dying", 0, 1), b.object("Child", 1, 0));
    b.edge(weak, 0, child);
    let mut graph = b.build();
    if let NodeKind::Object(object) = &mut graph.nodes[0].kind {
        object.alive = true;
    }
    assert_eq!(verdicts(&graph), []);
}

#[test]
fn what_was_in_flight_in_one_look_only_is_no_leak() {
    let look = |flying: &str| {
        let mut b = Builder::new();
        b.object(flying, 1, 0);
        b.object("Lost", 1, 0);
        b.build()
    };
    let (first, second) = (look("Message"), look("Reply"));
    let before = suspects(&Analysis::new(&first), None);
    let analysis = Analysis::new(&second);
    let found = leaks(&analysis, &Limits::default(), Some(&before));
    let names: Vec<_> = found.iter().map(|group| names(&second, group)).collect();
    assert_eq!(names, [["Lost"]]);
    let both = suspects(&analysis, Some(&before));
    assert!(!both.is_empty() && both != before);
}

#[test]
fn cycle_with_a_forgotten_reference_is_told_apart() {
    let mut b = Builder::new();
    cycle(&mut b, 2);
    let groups = find(&b.build());
    assert_eq!(groups[0].verdict, Verdict::CycleWithoutHolder);
    assert_eq!((groups.len(), groups[0].figures.missing), (1, 1));
}
