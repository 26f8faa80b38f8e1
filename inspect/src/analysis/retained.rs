//! Retained sizes: what would be freed if a node were.

use super::Analysis;
use super::components::unheld;
use super::dominators::{Dominators, dominators};
use crate::graph::NodeId;

/// How much is retained by each node.
pub struct Retained {
    /// Bytes, by node; zero for nodes that were not reached.
    pub bytes: Vec<u64>,
    /// Objects, by node.
    pub objects: Vec<u64>,
    /// The dominator tree that this follows from.
    pub tree: Dominators,
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
    Retained {
        bytes,
        objects,
        tree,
    }
}

/// Computes what each node retains, as seen from all roots, and from one node of each leak.
pub fn retained_from_roots(analysis: &Analysis<'_>) -> Retained {
    let graph = analysis.graph;
    let mut entries: Vec<NodeId> = graph.roots.iter().map(|root| root.to).collect();
    entries.sort_unstable();
    entries.dedup();
    entries.retain(|entry| {
        let step = analysis.reach.step(*entry);
        matches!(step, Some(super::reach::Step::Root(_)))
    });
    let leaking = unheld(analysis);
    let sources = (0..leaking.len()).filter(|source| leaking.is_source(analysis, *source));
    entries.extend(sources.filter_map(|source| leaking.members(source).iter().min()));
    retained(analysis, &entries, |_| true)
}
