//! Small graphs, each of one situation; the last ones have references that were moved, which leaves
//! copies in memory.

use super::{Group, leaks, suspects};
use crate::analysis::Analysis;
use crate::analysis::synthetic::{Builder, graph};
use crate::analysis::verdict::Verdict;
use crate::graph::{Graph, NodeId, NodeKind, RootKind};

fn find(graph: &Graph) -> Vec<Group> {
    leaks(&Analysis::new(graph), None)
}

/// Returns verdict, number and path of each group.
fn shown(graph: &Graph, groups: &[Group]) -> Vec<String> {
    let analysis = Analysis::new(graph);
    let group = |group: &Group| {
        let mut text = format!("{} {:?}:", group.figures.leaks, group.verdict);
        for hop in &group.path {
            text += &format!(" {}", analysis.type_name(hop.node).unwrap_or("plain"));
            text += &hop
                .offset
                .map_or(String::new(), |offset| format!("+{offset}"));
        }
        text
    };
    groups.iter().map(group).collect()
}

/// Checks cases, each of them a line that says what it is, a graph as [`graph`] reads it, and after
/// `=>` the groups of leaks that must be found.
fn check(cases: &str) {
    for case in cases.split("# ").skip(1) {
        let (text, expected) = case.split_once("=>").expect("what is to be found");
        let (_, text) = text.split_once('\n').expect("a line that says what it is");
        let graph = graph(text);
        let found = shown(&graph, &find(&graph)).join(", ");
        assert_eq!(found, expected.trim(), "{case}");
    }
}

#[test]
fn cycles() {
    check(
        "
        # of two: proven, and named edge by edge
        Game: 1, Player: 1, Game +16 Player, Player +8 Game,
        Game: 1, Player: 1, Game +16 Player, Player +8 Game
        => 2 ProvenCycle: Game+16 Player+8

        # with a stale word on a stack
        Game: 1, Player: 1, Game +16 Player, Player +8 Game, stack Game
        => 1 CountedCycle: Game+16 Player+8

        # that a stack holds: no leak
        Game: 2, Player: 1, Game +16 Player, Player +8 Game, stack Game
        =>

        # with a forgotten reference
        Game: 2, Player: 1, Game +16 Player, Player +8 Game
        => 1 CycleWithoutHolder: Game+16 Player+8

        # through a closure to which a stale word refers
        Button: 1, closure: plain 24, Button +0 closure, closure +8 Button, stack closure
        => 1 CountedCycle: Button+0 plain+8

        # through an `Arc` that a stack holds: no leak
        Entity: 1, world: arc 2 1, world +16 Entity, Entity +0 world, stack world
        =>

        # through an `Arc` whose counts are all inside
        Entity: 1, world: arc 1 1, world +16 Entity, Entity +0 world, stack world
        => 1 CountedCycle: Entity+0 plain+16

        # of five: one group wherever they begin
        A: 1, B: 1, C: 1, D: 1, E: 1, A +8 B, B +8 C, C +8 D, D +8 E, E +8 A,
        B: 1, C: 1, D: 1, E: 1, A: 1, A +8 B, B +8 C, C +8 D, D +8 E, E +8 A,
        C: 1, D: 1, E: 1, A: 1, B: 1, A +8 B, B +8 C, C +8 D, D +8 E, E +8 A,
        D: 1, E: 1, A: 1, B: 1, C: 1, A +8 B, B +8 C, C +8 D, D +8 E, E +8 A,
        E: 1, A: 1, B: 1, C: 1, D: 1, A +8 B, B +8 C, C +8 D, D +8 E, E +8 A
        => 5 ProvenCycle: A+8 B+8 C+8 D+8 E+8

        # two with a node in common: the same one is shown wherever they begin
        Game: 2, Player: 1, Hat: 1, Game +16 Player, Player +8 Game, Game +24 Hat, Hat +0 Game,
        Player: 1, Game: 2, Hat: 1, Game +16 Player, Player +8 Game, Game +24 Hat, Hat +0 Game,
        Hat: 1, Game: 2, Player: 1, Game +16 Player, Player +8 Game, Game +24 Hat, Hat +0 Game
        => 3 ProvenCycle: Game+16 Player+8

        # of plain allocations: reported if it holds objects
        Inner: 1, a: arc 1 1, b: arc 1 1, a +16 b, b +16 a, b +24 Inner,
        c: arc 1 1, d: arc 1 1, c +16 d, d +16 c
        => 1 AllocationCycle: plain+16 plain+16 plain+16 plain+24 Inner

        # that holds something: the cycle is the leak
        One: 1, Two: 1, Held: 1, One +0 Two, Two +0 One, Two +8 Held
        => 1 ProvenCycle: One+0 Two+0
        ",
    );
}

#[test]
fn parents() {
    check(
        "
        # weak ones are no cycle; the leaf says that children are strong
        a = Node: 1 1, b = Node: 1 1, c = Node: 1, a +0 b, b +8 a, b +0 c, c +8 b, stack a
        =>

        # weak ones: a tree whose root is forgotten lacks a holder
        a = Node: 1 1, b = Node: 1 1, c = Node: 1, a +0 b, b +8 a, b +0 c, c +8 b
        => 1 NoHolder: Node

        # undecided, of a single child: no cycle
        Parent: 1 1, Child: 1, Parent +0 Child, Child +0 Parent, stack Parent
        =>

        # raw pointers of children in a `Vec`: one of them has more than its parent's count allows
        P = Parent: 1, Q = Parent: 1, a = Child: 1, b = Child: 1, c = Child: 1, d = Child: 1,
        v: plain 32, w: plain 32, P +8 v, Q +8 w, v +0 a, v +8 b, w +0 c, w +8 d,
        a +0 P, b +0 P, c +0 Q, d +0 Q, stack P, stack Q
        =>
        ",
    );
}

#[test]
fn holders() {
    check(
        "
        # forgotten handles
        Texture: 1, Texture: 1, Texture: 1, Texture: 1, Shared: 3, static Shared
        => 4 NoHolder: Texture, 1 MoreReferences: Shared

        # a vector that nothing holds is what is reported
        a = Item: 1, b = Item: 1, c = Item: 1, v: plain 64, v +0 a, v +8 b, v +16 c
        => 1 Allocation: plain+0 Item

        # stacks, statics, thread-locals and registers, also through a vector: no leak
        a = A: 1, b = A: 1, c = A: 1, d = A: 1, Parent: 1, Child: 1, v: plain 32, stack a, static b,
        thread_local c, register d, Parent +8 v, v +0 Child, static Parent
        =>

        # weak references alone keep no value
        Gone: 0 2, Holder: 1, Holder +0 Gone, Gone +0 Holder, stack Holder
        =>

        # an allocation that nothing holds is no leak if what it refers to is held
        Shared: 1, Lost: 1, stale: plain 64, leaked: plain 64, static Shared, stale +0 Shared,
        leaked +0 Shared, leaked +8 Lost
        => 1 Allocation: plain+8 Lost
        ",
    );
}

#[test]
fn forgotten_parents_are_found_although_children_have_raw_pointers_to_them() {
    let mut b = Builder::new();
    let parents: Vec<_> = (0..60).map(|_| b.object("Parent", 1, 0)).collect();
    let children: Vec<_> = (0..180).map(|_| b.object("Child", 1, 0)).collect();
    for (child, parent) in children.iter().zip(parents.iter().cycle()) {
        b.edge(*child, 0, *parent);
    }
    for held in [&parents[..58], &children] {
        let vector = b.plain(8 * held.len() as u64);
        b.root(RootKind::Static, "static VECTOR", vector);
        b.elements(vector, held);
    }
    let graph = b.build();
    assert_eq!(shown(&graph, &find(&graph)), ["2 NoHolder: Parent"]);
}

#[test]
fn leaks_have_their_sizes_and_what_they_retain() {
    let cycle = "Game: 1, Player: 1, Game +16 Player, Player +8 Game,";
    let tree = "a = Node: 1 1, b = Node: 1 1, c = Node: 1, a +0 b, b +8 a, b +0 c, c +8 b";
    let vector = "a = Item: 1, b = Item: 1, c = Item: 1, v: plain 64, v +0 a, v +8 b, v +16 c";
    let holds = "One: 1, Two: 1, Held: 1, One +0 Two, Two +0 One, Two +8 Held";
    for (text, expected) in [
        (&*cycle.repeat(3), [6, 192, 6, 192, 0]),
        (&cycle.replacen('1', "2", 1), [2, 64, 2, 64, 1]),
        (tree, [1, 32, 3, 96, 1]),
        (vector, [0, 64, 3, 160, 0]),
        (holds, [2, 64, 3, 96, 0]),
        ("Texture: 1, Texture: 1", [2, 64, 2, 64, 2]),
        ("Shared: 3, static Shared", [1, 32, 1, 32, 2]),
    ] {
        let found = find(&graph(text))[0].figures;
        let own = [found.objects, found.bytes];
        let retained = [found.retained_objects, found.retained_bytes];
        let found = [&own[..], &retained, &[found.missing]].concat();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn forgotten_pool_is_named_and_open_pools_are_healthy_unless_they_are_large() {
    let mut b = Builder::new();
    for (kind, name, entries) in [
        (RootKind::ForgottenPool, "Lost", 2),
        (RootKind::Pool, "Temporary", 1),
        (RootKind::Pool, "Event", 10_000),
    ] {
        for _ in 0..entries {
            let entry = b.object(name, 1, 0);
            b.counted(kind, &format!("pool of {name}"), entry);
        }
    }
    // Adds entries of a large pool that a static holds, too: they are not reported.
    for _ in 0..10_000 {
        let shared = b.object("Shared", 2, 0);
        b.counted(RootKind::Pool, "pool of Shared", shared);
        b.root(RootKind::Static, "static SHARED", shared);
    }
    let graph = b.build();
    let groups = find(&graph);
    let expected = ["2 ForgottenPool: Lost", "10000 Pool: Event"];
    assert_eq!(shown(&graph, &groups), expected);
    let labels = groups.iter().map(|group| &*group.label);
    assert_eq!(
        labels.collect::<Vec<_>>(),
        ["pool of Lost", "pool of Event"]
    );
}

#[test]
fn container_of_ten_thousand_is_a_hint() {
    let mut b = Builder::new();
    let items: Vec<_> = (0..10_000).map(|_| b.object("Item", 1, 0)).collect();
    let vector = b.plain(80_000);
    b.elements(vector, &items);
    b.root(RootKind::Static, "static ITEMS", vector);
    let groups = find(&b.build());
    assert_eq!((groups.len(), groups[0].verdict), (1, Verdict::Container));
    assert!(groups[0].verdict.is_hint());
    let found = (&*groups[0].label, groups[0].figures.objects);
    assert_eq!(found, ("static ITEMS", 10_000));
}

#[test]
fn what_an_object_holds_that_is_being_destroyed_is_no_leak() {
    // Three objects without a strong reference: one still counts as alive, one does not, and one
    // has a weak reference.
    let dying = "Dying: 0, Child: 1, Dying +0 Child,";
    let weak = dying.replace("0,", "0 1,");
    let mut graph = graph(&(dying.repeat(2) + &weak));
    if let NodeKind::Object(object) = &mut graph.nodes[0].kind {
        object.alive = true;
    }
    assert!(find(&graph).is_empty());
}

#[test]
fn what_was_in_flight_in_one_look_only_is_no_leak() {
    let (first, second) = (graph("Message: 1, Lost: 1"), graph("Reply: 1, Lost: 1"));
    let before = suspects(&Analysis::new(&first), None);
    let analysis = Analysis::new(&second);
    let found = leaks(&analysis, Some(&before));
    assert_eq!(shown(&second, &found), ["1 NoHolder: Lost"]);
    let both = suspects(&analysis, Some(&before));
    assert!(!both.is_empty() && both != before);
}

fn verdicts(b: Builder) -> Vec<(Verdict, u64)> {
    let graph = b.build();
    let groups = leaks(&Analysis::new(&graph), None);
    groups
        .iter()
        .map(|group| (group.verdict, group.figures.leaks))
        .collect()
}

fn objects(b: &mut Builder, n: usize, strong: u32) -> Vec<NodeId> {
    (0..n).map(|_| b.object("Job", strong, 0)).collect()
}

/// Adds an allocation of this size that lives as long as the program.
fn kept(b: &mut Builder, bytes: u64) -> NodeId {
    let kept = b.plain(bytes);
    b.root(RootKind::Static, "static KEPT", kept);
    kept
}

/// Adds an allocation for each of `objects`; `list` refers to all of these allocations. Each of
/// them has the address of its object at the offsets `words`.
fn each_in_one(b: &mut Builder, list: NodeId, objects: &[NodeId], words: &[u32]) {
    for (at, object) in (0..).zip(objects) {
        let holder = b.plain(128);
        b.edge(list, 8 * at, holder);
        for word in words {
            b.edge(holder, *word, *object);
        }
    }
}

/// The offset at which a task gets its argument, and the offset to which the task moves it.
const TASK: [u32; 2] = [56, 72];
/// The offset of a stale word, in a part of the allocation that was never written.
const STALE: [u32; 1] = [304];

#[test]
fn one_of_the_copies_in_an_allocation_is_the_reference() {
    let moved = |held: bool| {
        let mut b = Builder::new();
        let game = b.object("Game", 1, 0);
        let future = b.plain(32);
        b.edge(future, 0, game).edge(future, 16, game);
        if held {
            b.root(RootKind::Static, "static FUTURE", future);
        }
        verdicts(b)
    };
    assert_eq!(moved(true), []);
    assert_eq!(moved(false), [(Verdict::Allocation, 1)]);
}

#[test]
fn copies_in_two_allocations_hold_where_roots_lead_to_them() {
    let moved = |held: bool| {
        let mut b = Builder::new();
        let game = b.object("Game", 1, 0);
        let lists = [0, 1].map(|_| b.plain(32));
        for list in lists {
            b.edge(list, 0, game).edge(list, 16, game);
            if held {
                b.root(RootKind::Static, "static LIST", list);
            }
        }
        verdicts(b)
    };
    assert_eq!(moved(true), []);
    assert_eq!(moved(false), [(Verdict::NoHolder, 1)]);
}

#[test]
fn stale_words_that_most_objects_have_are_not_taken_for_what_tasks_have() {
    let mut b = Builder::new();
    let jobs = objects(&mut b, 60, 1);
    let forgotten = objects(&mut b, 3, 1);
    let tasks = kept(&mut b, 512);
    each_in_one(&mut b, tasks, &jobs, &TASK);
    let channels = kept(&mut b, 1024);
    each_in_one(&mut b, channels, &jobs[1..], &STALE);
    assert_eq!(verdicts(b), [(Verdict::NoHolder, forgotten.len() as u64)]);
}

#[test]
fn references_in_a_vector_are_told_from_copies_of_their_clones_in_tasks() {
    let mut b = Builder::new();
    let jobs = objects(&mut b, 60, 2);
    // Objects whose tasks have ended.
    let done = objects(&mut b, 1, 1);
    let more = objects(&mut b, 2, 5);
    let vector = kept(&mut b, 1024);
    for (at, job) in (0..).step_by(16).zip([&*jobs, &done, &more].concat()) {
        b.edge(vector, at, job);
    }
    let tasks = kept(&mut b, 512);
    each_in_one(&mut b, tasks, &[&*jobs, &more].concat(), &TASK);
    assert_eq!(verdicts(b), [(Verdict::MoreReferences, 2)]);
}

#[test]
fn one_object_does_not_decide_for_others_that_cannot_tell() {
    let mut b = Builder::new();
    let jobs = objects(&mut b, 60, 1);
    let others = objects(&mut b, 2, 1);
    let tasks = kept(&mut b, 512);
    each_in_one(&mut b, tasks, &jobs, &TASK);
    // Adds stale words that refer to all jobs but the first. As only its task refers to the first
    // job, the words in the tasks must be the references.
    let channels = kept(&mut b, 1024);
    each_in_one(&mut b, channels, &jobs[1..], &STALE);
    let other_tasks = kept(&mut b, 256);
    each_in_one(&mut b, other_tasks, &others, &TASK);
    each_in_one(&mut b, channels, &others[..1], &STALE);
    // The second of the other jobs has one word in its task and a stale one in another list, so its
    // count does not tell which of the two is the reference.
    each_in_one(&mut b, other_tasks, &others[1..], &TASK[..1]);
    let other_channels = kept(&mut b, 2048);
    each_in_one(&mut b, other_channels, &others[1..], &STALE);
    assert_eq!(verdicts(b), []);
}
