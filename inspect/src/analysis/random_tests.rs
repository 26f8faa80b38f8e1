//! Random graphs: fast algorithms agree with obvious ones.

use super::Analysis;
use super::cycles::{NO_COMPONENT, components};
use super::leaks::leaks;
use super::retained::dominators;
use super::synthetic::Builder;
use crate::graph::{Graph, NodeId, RootKind};

/// The edges of a graph, by node.
type Successors = Vec<Vec<u32>>;

fn random(rng: &mut fastrand::Rng, nodes: usize) -> Successors {
    let edges = rng.usize(0..nodes * 3);
    let mut successors = vec![Vec::new(); nodes];
    for _ in 0..edges {
        successors[rng.usize(0..nodes)].push(rng.u32(0..nodes as u32));
    }
    successors
}

/// Returns which nodes can be reached from the starts without passing `without`.
fn reached(successors: &Successors, starts: &[u32], without: Option<u32>) -> Vec<bool> {
    let mut reached = vec![false; successors.len()];
    let mut queue = starts.to_vec();
    while let Some(node) = queue.pop() {
        if Some(node) != without && !std::mem::replace(&mut reached[node as usize], true) {
            queue.extend(&successors[node as usize]);
        }
    }
    reached
}

fn add_edges(b: &mut Builder, successors: &Successors) {
    for (from, successors) in successors.iter().enumerate() {
        for (at, to) in successors.iter().enumerate() {
            b.edge(from as NodeId, 8 * at as u32, *to);
        }
    }
}

fn graph(successors: &Successors, strong: u32) -> Graph {
    let mut b = Builder::new();
    for _ in 0..successors.len() {
        b.object("Node", strong, 0);
    }
    add_edges(&mut b, successors);
    b.build()
}

#[test]
fn dominators_are_the_nodes_without_which_a_node_is_not_reached() {
    let mut rng = fastrand::Rng::with_seed(1);
    for round in 0..600 {
        let successors = random(&mut rng, 2 + round % 14);
        let n = successors.len() as u32;
        let mut predecessors = vec![Vec::new(); n as usize];
        for (from, to) in (0..).zip(&successors) {
            for to in to {
                predecessors[*to as usize].push(from);
            }
        }
        let entries: Vec<u32> = (0..n).filter(|_| rng.u8(0..4) == 0).collect();
        let tree = dominators(
            n as usize,
            &entries,
            |node| successors[node as usize].iter().copied(),
            |node: u32| predecessors[node as usize].iter().copied(),
        );
        let all = reached(&successors, &entries, None);
        let without: Vec<_> = (0..n)
            .map(|node| reached(&successors, &entries, Some(node)))
            .collect();
        let (sums, subtrees) = (tree.sums(|_| 1), tree.subtrees());
        for node in 0..n as usize {
            let dominated = (0..n as usize).filter(|at| all[*at] && !without[node][*at]);
            let expected = dominated.filter(|_| all[node]).count() as u64;
            let what = format!("node {node} of {successors:?} from {entries:?}");
            assert_eq!(sums[node], expected, "{what}");
            for other in (0..n as usize).filter(|other| all[*other]) {
                let (a, b) = (&subtrees[node], &subtrees[other]);
                let contains = all[node] && a.start <= b.start && b.end <= a.end;
                assert_eq!(contains, all[node] && !without[node][other]);
            }
        }
    }
}

#[test]
fn components_are_the_nodes_that_reach_each_other() {
    let mut rng = fastrand::Rng::with_seed(2);
    for round in 0..600 {
        let successors = random(&mut rng, 1 + round % 14);
        // The counts are so large that all words are strong references.
        let graph = graph(&successors, 1_000);
        let analysis = Analysis::new(&graph);
        let part: Vec<bool> = successors.iter().map(|_| rng.u8(0..8) > 0).collect();
        let found = components(&analysis, |node| part[node as usize]);
        let inside = (0..successors.len()).map(|from| {
            let to = successors[from].iter().copied();
            to.filter(|to| part[from] && part[*to as usize]).collect()
        });
        let inside: Successors = inside.collect();
        let n = successors.len() as u32;
        let reach: Vec<_> = (0..n).map(|node| reached(&inside, &[node], None)).collect();
        for a in 0..n as usize {
            assert_eq!(found.of[a] == NO_COMPONENT, !part[a]);
            for b in (0..n as usize).filter(|b| part[a] && part[*b]) {
                let together = reach[a][b] && reach[b][a];
                let found_together = found.of[a] == found.of[b];
                assert_eq!(found_together, together, "{a} and {b} of {successors:?}");
                // Components have lower numbers than those that hold them.
                assert!(together || !reach[a][b] || found.of[a] > found.of[b]);
            }
        }
    }
}

/// Builds a program in which each strong reference has its word: nothing leaks.
fn healthy(rng: &mut fastrand::Rng, nodes: usize) -> Graph {
    let successors: Successors = (0..nodes)
        .map(|from| {
            let n = rng.usize(0..3);
            // Edges lead only forwards, so that there is no cycle.
            (0..n)
                .filter(|_| from + 1 < nodes)
                .map(|_| rng.u32(from as u32 + 1..nodes as u32))
                .collect()
        })
        .collect();
    let mut counts = vec![0; nodes];
    for to in successors.iter().flatten() {
        counts[*to as usize] += 1;
    }
    let mut b = Builder::new();
    let mut roots = Vec::new();
    for (node, count) in counts.iter().enumerate() {
        let rooted = u32::from(*count == 0 || rng.u8(0..6) == 0);
        let name = ["A", "B", "C"][rng.usize(0..3)];
        b.object(name, count + rooted, 0);
        roots.extend((rooted > 0).then_some(node as NodeId));
    }
    add_edges(&mut b, &successors);
    for root in roots {
        let kinds = [
            RootKind::Static,
            RootKind::Stack,
            RootKind::ThreadLocal,
            RootKind::Pool,
        ];
        match kinds[rng.usize(0..4)] {
            RootKind::Pool => b.counted(RootKind::Pool, "pool", root),
            kind => b.root(kind, "root", root),
        };
    }
    // Adds stale words.
    for _ in 0..nodes / 4 {
        b.root(RootKind::Stack, "stack", rng.u32(0..nodes as u32));
    }
    b.build()
}

#[test]
fn programs_whose_references_all_have_words_have_no_leaks() {
    let mut rng = fastrand::Rng::with_seed(3);
    for round in 0..500 {
        let graph = healthy(&mut rng, 1 + round % 40);
        let analysis = Analysis::new(&graph);
        let found = leaks(&analysis, None);
        assert!(found.is_empty(), "round {round}: {found:?} in {graph:#?}");
    }
}

#[test]
fn a_forgotten_reference_is_found_in_any_program() {
    let mut rng = fastrand::Rng::with_seed(4);
    for round in 0..500 {
        let mut graph = healthy(&mut rng, 1 + round % 40);
        // Leaves out the stale words, which could stand for the forgotten reference.
        let (labels, roots) = (&graph.labels, &mut graph.roots);
        roots.retain(|root| labels[root.label as usize] != "stack");
        let node = rng.usize(0..graph.nodes.len());
        if let crate::graph::NodeKind::Object(object) = &mut graph.nodes[node].kind {
            object.strong += 1;
        }
        let analysis = Analysis::new(&graph);
        let found = leaks(&analysis, None);
        let [group] = &found[..] else {
            panic!("round {round}: {found:?} in {graph:#?}");
        };
        let sample = group.samples[0] as usize;
        assert_eq!((sample, group.figures.missing), (node, 1));
    }
}
