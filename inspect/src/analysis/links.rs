//! Adjacency in both directions, in arrays.

use crate::graph::{Graph, NodeId};
use std::ops::Range;

/// The edges and roots of each node.
pub struct Links {
    out_starts: Vec<u32>,
    in_starts: Vec<u32>,
    in_edges: Vec<u32>,
    root_starts: Vec<u32>,
    roots: Vec<u32>,
}

/// Returns for each key where its items start in a list sorted by key, and at last the list's end.
fn starts(keys: impl Iterator<Item = NodeId>, nodes: usize) -> Vec<u32> {
    let mut starts = vec![0_u32; nodes + 1];
    for key in keys {
        starts[key as usize + 1] += 1;
    }
    for at in 0..nodes {
        starts[at + 1] += starts[at];
    }
    starts
}

/// Returns the positions in `keys`, sorted by key; `starts` is the result of [`starts`] for `keys`.
fn sorted(keys: impl Iterator<Item = NodeId>, starts: &[u32]) -> Vec<u32> {
    let mut next = starts.to_vec();
    let mut sorted = vec![0; starts.last().copied().unwrap_or(0) as usize];
    for (at, key) in keys.enumerate() {
        let place = &mut next[key as usize];
        sorted[*place as usize] = at as u32;
        *place += 1;
    }
    sorted
}

fn range(starts: &[u32], node: NodeId) -> Range<usize> {
    starts[node as usize] as usize..starts[node as usize + 1] as usize
}

impl Links {
    /// Sorts the edges and roots by node. The graph's edges must be sorted by the node that has the
    /// word.
    pub fn new(graph: &Graph) -> Self {
        debug_assert!(graph.edges.is_sorted_by_key(|edge| edge.from));
        let nodes = graph.nodes.len();
        let targets = || graph.edges.iter().map(|edge| edge.to);
        let rooted = || graph.roots.iter().map(|root| root.to);
        let in_starts = starts(targets(), nodes);
        let root_starts = starts(rooted(), nodes);
        Self {
            out_starts: starts(graph.edges.iter().map(|edge| edge.from), nodes),
            in_edges: sorted(targets(), &in_starts),
            in_starts,
            roots: sorted(rooted(), &root_starts),
            root_starts,
        }
    }

    /// Returns the indices of the edges that begin at the node.
    pub fn out(&self, node: NodeId) -> Range<usize> {
        range(&self.out_starts, node)
    }

    /// Returns the indices of the edges that end at the node.
    pub fn incoming(&self, node: NodeId) -> &[u32] {
        &self.in_edges[range(&self.in_starts, node)]
    }

    /// Returns the indices of all edges, sorted by the node at which they end.
    pub fn all_incoming(&self) -> &[u32] {
        &self.in_edges
    }

    /// Returns where the node's edges are in [`all_incoming`](Self::all_incoming).
    pub fn incoming_range(&self, node: NodeId) -> Range<usize> {
        range(&self.in_starts, node)
    }

    /// Returns the indices of the roots that refer to the node.
    pub fn roots(&self, node: NodeId) -> &[u32] {
        &self.roots[range(&self.root_starts, node)]
    }
}
