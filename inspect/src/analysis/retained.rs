//! Retained sizes: what would be freed with a node. They follow from dominators: the dominator of a
//! node is the last other node that each path from a root to that node passes.
//!
//! The algorithm is Semi-NCA (Georgiadis): semidominators as Lengauer and Tarjan compute them, with
//! path compression, then the nearest common ancestor of each node's parent and semidominator.

use super::Analysis;
use super::cycles::{Components, unheld};
use super::reach::Level;
use crate::graph::NodeId;
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// The dominator tree of what can be reached from some entries.
pub struct Dominators {
    /// The nodes in the order in which a depth-first search has seen them.
    order: Vec<u32>,
    /// The position of each node in `order`; `NONE` if it was not reached.
    position: Vec<u32>,
    /// For each position, that of the node's dominator; the virtual root has position 0.
    dominator: Vec<u32>,
}

/// Searches depth-first from each entry; at first each node's dominator is the node from which it
/// was found.
fn search<I: Iterator<Item = u32>>(
    nodes: usize,
    entries: &[u32],
    successors: &impl Fn(u32) -> I,
) -> Dominators {
    let mut found = Dominators {
        order: vec![NONE],
        position: vec![NONE; nodes],
        dominator: vec![0],
    };
    let mut visits: Vec<(u32, I)> = Vec::new();
    for entry in entries {
        let mut enter = Some((*entry, 0));
        loop {
            if let Some((node, parent)) = enter.take() {
                if found.position[node as usize] == NONE {
                    let position = found.order.len() as u32;
                    found.position[node as usize] = position;
                    found.order.push(node);
                    found.dominator.push(parent);
                    visits.push((position, successors(node)));
                }
            }
            let Some((position, rest)) = visits.last_mut() else {
                break;
            };
            match rest.find(|to| found.position[*to as usize] == NONE) {
                Some(to) => enter = Some((to, *position)),
                None => drop(visits.pop()),
            }
        }
    }
    found
}

/// The forest of positions by which semidominators are computed, from the last position to the
/// first.
struct Forest {
    /// Initially the parent; path compression replaces it with positions further up.
    ancestor: Vec<u32>,
    /// For each position, the one with the least semidominator from it up to below its `ancestor`.
    label: Vec<u32>,
    semi: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    /// Returns the position with the least semidominator among `v` and its ancestors at positions
    /// from `linked` on, and compresses the path to them.
    fn evaluate(&mut self, v: u32, linked: u32) -> u32 {
        let mut at = v as usize;
        while self.ancestor[at] >= linked {
            self.path.push(at as u32);
            at = self.ancestor[at] as usize;
        }
        let top = self.ancestor[at];
        let mut best = self.label[at];
        while let Some(below) = self.path.pop() {
            let below = below as usize;
            self.ancestor[below] = top;
            if self.semi[best as usize] < self.semi[self.label[below] as usize] {
                self.label[below] = best;
            }
            best = self.label[below];
        }
        best
    }
}

/// Finds the dominators of all nodes that can be reached from the entries.
pub fn dominators<I: Iterator<Item = u32>, J: Iterator<Item = u32>>(
    nodes: usize,
    entries: &[u32],
    successors: impl Fn(u32) -> I,
    predecessors: impl Fn(u32) -> J,
) -> Dominators {
    let mut tree = search(nodes, entries, &successors);
    let n = tree.order.len() as u32;
    let mut is_entry = vec![false; n as usize];
    for entry in entries {
        is_entry[tree.position[*entry as usize] as usize] = true;
    }
    let mut forest = Forest {
        ancestor: tree.dominator.clone(),
        label: (0..n).collect(),
        semi: (0..n).collect(),
        path: Vec::new(),
    };
    for v in (1..n).rev() {
        let parent = tree.dominator[v as usize];
        let mut least = if is_entry[v as usize] { 0 } else { parent };
        for from in predecessors(tree.order[v as usize]) {
            let from = tree.position[from as usize];
            if from != NONE {
                let best = forest.evaluate(from, v + 1);
                least = least.min(forest.semi[best as usize]);
            }
        }
        forest.semi[v as usize] = least;
    }
    // The dominator of `v` is one of its ancestors, whose own dominators are final already.
    for v in 1..n as usize {
        let mut at = tree.dominator[v];
        while at > forest.semi[v] {
            at = tree.dominator[at as usize];
        }
        tree.dominator[v] = at;
    }
    tree
}

impl Dominators {
    /// Returns for each node the sum of `weight` over all nodes that it dominates, itself included;
    /// zero for nodes that were not reached.
    pub fn sums(&self, weight: impl Fn(u32) -> u64) -> Vec<u64> {
        let mut by_position: Vec<u64> = self
            .order
            .iter()
            .map(|node| match *node {
                NONE => 0,
                node => weight(node),
            })
            .collect();
        for v in (1..by_position.len()).rev() {
            by_position[self.dominator[v] as usize] += by_position[v];
        }
        let sums = self.position.iter().map(|position| match *position {
            NONE => 0,
            position => by_position[position as usize],
        });
        sums.collect()
    }

    /// Returns each node's range in a layout of the tree that keeps subtrees in one piece: of two
    /// ranges that overlap, the node with the longer one dominates the other. Empty for nodes that
    /// were not reached.
    pub fn subtrees(&self) -> Vec<Range<u32>> {
        let mut sizes = vec![1_u32; self.order.len()];
        for v in (1..sizes.len()).rev() {
            sizes[self.dominator[v] as usize] += sizes[v];
        }
        // For each position, where the next subtree below it begins; dominators have lower
        // positions than what they dominate.
        let mut next = vec![1_u32; self.order.len()];
        let mut starts = vec![0; self.order.len()];
        for v in 1..sizes.len() {
            let free = &mut next[self.dominator[v] as usize];
            starts[v] = *free;
            *free += sizes[v];
            next[v] = starts[v] + 1;
        }
        let subtrees = self.position.iter().map(|position| match *position {
            NONE => 0..0,
            position => {
                let (start, size) = (starts[position as usize], sizes[position as usize]);
                start..start + size
            }
        });
        subtrees.collect()
    }
}

/// How much is retained by each node.
pub struct Retained {
    /// Bytes, by node; zero for nodes that were not reached.
    pub bytes: Vec<u64>,
    /// Objects, by node.
    pub objects: Vec<u64>,
}

/// Computes what each node retains in the part of the graph that consists of the nodes for which
/// `takes_part` returns true, with the nodes `entries` as roots.
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
    /// By node. Of two sets that overlap, one contains the other; the same is true of their ranges.
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

/// Leaked components. Each is treated as one node: its members hold each other, so none of them can
/// be freed without the others, and which of them a search meets first depends only on addresses.
struct Leaked {
    components: Components,
    /// For each component, true if no other component holds it.
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

    /// Returns the members of the node's component, if no other leaked component holds that;
    /// otherwise nothing.
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
    // Dying objects are entries, too: no step leads to them.
    let is_entry = |node: &NodeId| match analysis.reach.level(*node) {
        Level::Nothing | Level::Suspect => leaked.members(*node).first() == Some(node),
        _ => !matches!(
            analysis.reach.step(*node),
            Some(super::reach::Step::Edge(_))
        ),
    };
    let entries: Vec<NodeId> = nodes.clone().filter(is_entry).collect();
    let successors = |leader| {
        let nodes = leaked.stands_for(leader);
        let edges = nodes.flat_map(|node| analysis.holds(node));
        let others = edges.map(|edge| leaked.leader(graph.edges[edge].to));
        others.filter(move |to| *to != leader)
    };
    let predecessors = |leader| {
        let nodes = leaked.stands_for(leader);
        let edges = nodes.flat_map(|node| analysis.held_by(node));
        let others = edges.map(|edge| leaked.leader(graph.edges[edge].from));
        others.filter(move |from| *from != leader)
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
    use super::{Freed, RetainedSets, retained_from_roots};
    use crate::analysis::Analysis;
    use crate::analysis::synthetic::graph;

    fn sets(text: &str) -> RetainedSets {
        retained_from_roots(&Analysis::new(&graph(text)))
    }

    fn freed(objects: u64, bytes: u64) -> Freed {
        Freed { bytes, objects }
    }

    /// The graph has a server that holds two sessions through a map. Both sessions hold the server;
    /// one also holds a file. The objects' addresses are in the order of their creation. A stale
    /// word refers to the map.
    #[test]
    fn each_node_of_a_leaked_cycle_retains_all_of_it_whatever_the_addresses_are() {
        let objects = ["Server: 2", "Session: 1", "Other: 1", "File: 1"];
        let orders = (0..256).map(|n| [n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6]);
        let is_order = |order: &[usize; 4]| (0..4).all(|at| order.contains(&at));
        let orders: Vec<_> = orders.filter(is_order).collect();
        assert_eq!(orders.len(), 24);
        for order in orders {
            let sets = sets(&format!(
                "{}, map: plain 100, Server +8 map, map +0 Session, map +8 Other, \
                 Session +16 Server, Other +24 Server, Session +0 File, stack map",
                order.map(|at| objects[at]).join(",")
            ));
            let node = |object| order.iter().position(|at| *at == object).unwrap() as u32;
            let [server, session, other, file] = [0, 1, 2, 3].map(node);
            for node in [server, session, other, 4] {
                assert_eq!(sets.of([node]), freed(4, 228), "{order:?}, {node}");
            }
            assert_eq!(sets.of([file]), freed(1, 32));
            assert_eq!(sets.of([session, other, file]), freed(4, 228));
        }
    }

    #[test]
    fn what_two_leaks_hold_is_retained_by_neither() {
        let leak = "One: 1, Two: 1, One +0 Two, Two +0 One, Two +8 Shared,";
        let sets = sets(&format!("Shared: 2, {leak} {leak}"));
        assert_eq!(sets.of([1]), freed(2, 64));
        assert_eq!(sets.of([1, 3]), freed(4, 128));
        assert_eq!(sets.of([0]), freed(1, 32));
    }

    #[test]
    fn what_is_retained_by_several_counts_once() {
        let sets = sets(
            "list = List: 1, next = List: 1, Value: 1, Dying: 0, Last: 1, \
             list +0 next, next +0 Value, Dying +0 Last, static list",
        );
        assert_eq!(sets.of([2, 1, 0]), freed(3, 96));
        assert_eq!(sets.of([2, 1]), freed(2, 64));
        assert_eq!(sets.of([4]), freed(1, 32), "what a destructor still has");
    }
}
