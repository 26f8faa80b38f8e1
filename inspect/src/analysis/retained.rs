//! Retained sizes: what would be freed if a node were.

use super::Analysis;
use super::components::{Components, unheld};
use super::dominators::dominators;
use super::reach::Level;
use crate::graph::NodeId;
use std::ops::Range;

/// How much is retained by each node.
pub struct Retained {
    /// Bytes, by node; zero for nodes that were not reached.
    pub bytes: Vec<u64>,
    /// Objects, by node.
    pub objects: Vec<u64>,
}

/// Computes what each node retains, of the nodes that `takes_part` returns `true` for, as seen from
/// the entries.
pub fn retained(
    analysis: &Analysis<'_>,
    entries: &[NodeId],
    takes_part: impl Fn(NodeId) -> bool,
) -> Retained {
    let graph = analysis.graph;
    let part = &takes_part;
    let successors = |node| {
        let edges = analysis.holds(node).map(|edge| graph.edges[edge].to);
        edges.filter(|to| part(*to))
    };
    let predecessors = |node| {
        let edges = analysis.held_by(node).map(|edge| graph.edges[edge].from);
        edges.filter(|from| part(*from))
    };
    let tree = dominators(graph.nodes.len(), entries, successors, predecessors);
    let bytes = tree.sums(|node| graph.nodes[node as usize].bytes);
    let objects = tree.sums(|node| u64::from((node as usize) < graph.objects));
    Retained { bytes, objects }
}

/// The nodes that each node retains, as sets that can be united.
pub struct RetainedSets {
    sizes: Retained,
    /// Of two sets that overlap, one contains the other, and so do their ranges.
    ranges: Vec<Range<u32>>,
}

/// The objects and bytes that would be freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freed {
    /// Bytes, of objects and plain allocations.
    pub bytes: u64,
    /// Objects.
    pub objects: u64,
}

impl RetainedSets {
    /// Returns what would be freed with all of these nodes.
    pub fn of(&self, nodes: impl IntoIterator<Item = NodeId>) -> Freed {
        let mut nodes: Vec<NodeId> = nodes.into_iter().collect();
        nodes.sort_unstable_by_key(|node| {
            let range = &self.ranges[*node as usize];
            (range.start, std::cmp::Reverse(range.end))
        });
        let (mut freed, mut end) = (Freed::default(), 0);
        for node in nodes {
            let range = &self.ranges[node as usize];
            if range.start >= end {
                freed.bytes += self.sizes.bytes[node as usize];
                freed.objects += self.sizes.objects[node as usize];
                end = range.end;
            }
        }
        freed
    }
}

/// Leaked components, each of which stands for all of its members: the members hold each other, so
/// that none of them can be freed without the others. Which of them a search would meet first is a
/// question of addresses only.
struct Leaked {
    components: Components,
    /// True if nothing else that leaks holds the component.
    is_source: Vec<bool>,
}

impl Leaked {
    fn new(analysis: &Analysis<'_>) -> Self {
        let components = unheld(analysis);
        let is_source = 0..components.len();
        let is_source = is_source.map(|component| components.is_source(analysis, component));
        Self {
            is_source: is_source.collect(),
            components,
        }
    }

    /// Returns the members of the leaked component that a node belongs to; empty if it belongs to
    /// none.
    fn members(&self, node: NodeId) -> &[NodeId] {
        let component = self.components.of[node as usize] as usize;
        match self.is_source.get(component) {
            Some(true) => self.components.members(component),
            _ => &[],
        }
    }

    /// Returns the node that stands for this one.
    fn leader(&self, node: NodeId) -> NodeId {
        self.members(node).first().copied().unwrap_or(node)
    }

    /// Returns the nodes that a leader stands for.
    fn stands_for(&self, leader: NodeId) -> impl Iterator<Item = NodeId> {
        let members = self.members(leader);
        let alone = members.is_empty().then_some(leader);
        alone.into_iter().chain(members.iter().copied())
    }
}

/// Computes what each node retains, as seen from all roots and from all leaks. A node in a cycle
/// that leaks retains the whole cycle.
pub fn retained_from_roots(analysis: &Analysis<'_>) -> RetainedSets {
    let graph = analysis.graph;
    let leaked = Leaked::new(analysis);
    let nodes = 0..graph.nodes.len() as NodeId;
    // No step has reached the objects that a running or waiting destructor holds.
    let is_entry = |node: &NodeId| match analysis.reach.level(*node) {
        Level::Nothing | Level::Suspect => leaked.members(*node).first() == Some(node),
        _ => !matches!(
            analysis.reach.step(*node),
            Some(super::reach::Step::Edge(_))
        ),
    };
    let entries: Vec<NodeId> = nodes.clone().filter(is_entry).collect();
    let successors = |leader| {
        let edges = leaked
            .stands_for(leader)
            .flat_map(|node| analysis.holds(node));
        edges
            .map(|edge| leaked.leader(graph.edges[edge].to))
            .filter(move |to| *to != leader)
    };
    let predecessors = |leader| {
        let edges = leaked
            .stands_for(leader)
            .flat_map(|node| analysis.held_by(node));
        edges
            .map(|edge| leaked.leader(graph.edges[edge].from))
            .filter(move |from| *from != leader)
    };
    let tree = dominators(graph.nodes.len(), &entries, successors, predecessors);
    let sum = |weight: &dyn Fn(NodeId) -> u64| {
        tree.sums(|leader| leaked.stands_for(leader).map(weight).sum())
    };
    let mut bytes = sum(&|node| graph.nodes[node as usize].bytes);
    let mut objects = sum(&|node| u64::from((node as usize) < graph.objects));
    let mut ranges = tree.subtrees();
    for node in nodes {
        let leader = leaked.leader(node) as usize;
        if leader != node as usize {
            bytes[node as usize] = bytes[leader];
            objects[node as usize] = objects[leader];
            ranges[node as usize] = ranges[leader].clone();
        }
    }
    RetainedSets {
        sizes: Retained { bytes, objects },
        ranges,
    }
}

#[cfg(test)]
mod tests {
    use super::{Freed, retained_from_roots};
    use crate::analysis::Analysis;
    use crate::analysis::synthetic::Builder;
    use crate::graph::{NodeId, RootKind};

    fn freed(objects: u64, bytes: u64) -> Freed {
        Freed { bytes, objects }
    }

    /// All orders of four things.
    fn orders() -> Vec<[usize; 4]> {
        let numbers = 0..256;
        let order = numbers.map(|n| [n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6]);
        order
            .filter(|order| (0..4).all(|at| order.contains(&at)))
            .collect()
    }

    /// A server in a cycle with two sessions, each of which holds a buffer, and the session's file.
    /// Objects have addresses in the order of their creation.
    #[test]
    fn each_node_of_a_leaked_cycle_retains_all_of_it_whatever_the_addresses_are() {
        let orders = orders();
        assert_eq!(orders.len(), 24);
        for order in orders {
            let mut b = Builder::new();
            let mut node = [0 as NodeId; 4];
            for at in order {
                let strong = [2, 1, 1, 1][at];
                node[at] = b.object(["Server", "Session", "Other", "File"][at], strong, 0);
            }
            let [server, session, other, file] = node;
            let map = b.plain(100);
            b.edge(server, 8, map)
                .edge(map, 0, session)
                .edge(map, 8, other);
            b.edge(session, 16, server).edge(other, 24, server);
            b.edge(session, 0, file);
            // A stale word refers to the map.
            b.root(RootKind::Stack, "stack of thread \"main\"", map);
            let graph = b.build();
            let analysis = Analysis::new(&graph);
            let sets = retained_from_roots(&analysis);
            for node in [server, session, other, map] {
                assert_eq!(
                    sets.of([node]),
                    freed(4, 228),
                    "{order:?}, {:?}",
                    analysis.type_name(node)
                );
            }
            assert_eq!(sets.of([file]), freed(1, 32));
            assert_eq!(sets.of([session, other, file]), freed(4, 228));
        }
    }

    #[test]
    fn what_two_leaks_hold_is_retained_by_neither() {
        let mut b = Builder::new();
        let shared = b.object("Shared", 2, 0);
        for _ in 0..2 {
            let (one, two) = (b.object("One", 1, 0), b.object("Two", 1, 0));
            b.edge(one, 0, two).edge(two, 0, one).edge(two, 8, shared);
        }
        let graph = b.build();
        let sets = retained_from_roots(&Analysis::new(&graph));
        assert_eq!(sets.of([1]), freed(2, 64));
        assert_eq!(sets.of([1, 3]), freed(4, 128));
        assert_eq!(sets.of([shared]), freed(1, 32));
    }

    #[test]
    fn what_is_retained_by_several_counts_once() {
        let mut b = Builder::new();
        let (list, next) = (b.object("List", 1, 0), b.object("List", 1, 0));
        let (value, dying) = (b.object("Value", 1, 0), b.object("Dying", 0, 0));
        let last = b.object("Last", 1, 0);
        b.edge(list, 0, next).edge(next, 0, value);
        b.edge(dying, 0, last);
        b.root(RootKind::Static, "static LIST", list);
        let graph = b.build();
        let sets = retained_from_roots(&Analysis::new(&graph));
        assert_eq!(sets.of([value, next, list]), freed(3, 96));
        assert_eq!(sets.of([value, next]), freed(2, 64));
        assert_eq!(sets.of([last]), freed(1, 32), "what a destructor still has");
    }
}
