//! Paths as sequences of types and fields, by which leaks are grouped.

use super::Analysis;
use crate::graph::{Edge, NodeId};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A node on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// The node.
    pub node: NodeId,
    /// The offset in the node of the word that refers to the next one; for the last node of a cycle,
    /// to the first. `None` at the end of a path.
    pub offset: Option<u32>,
}

impl Hop {
    /// Returns the node that has the word of an edge.
    pub fn along(edge: Edge) -> Self {
        Self {
            node: edge.from,
            offset: Some(edge.offset),
        }
    }

    /// Returns the node that a path ends with.
    pub fn end(node: NodeId) -> Self {
        Self { node, offset: None }
    }
}

/// The number that stands for plain allocations, where types are numbers.
const PLAIN: u32 = u32::MAX;

/// Returns what is alike in all nodes of one kind: the type, and the field for types. Where a word
/// is in a buffer differs.
fn kind(analysis: &Analysis<'_>, hop: Hop) -> (u32, u32) {
    match analysis.object(hop.node) {
        Some(object) => (object.type_id, hop.offset.unwrap_or(PLAIN)),
        None => (PLAIN, PLAIN),
    }
}

/// Turns a cycle so that those of one kind begin alike, in all graphs: types have other numbers in
/// each, so their names decide. Plain allocations come last.
pub fn canonical(analysis: &Analysis<'_>, cycle: &mut [Hop]) {
    // Beyond that, the kinds of the first two hops are enough.
    let depth = if cycle.len() <= 64 { cycle.len() } else { 2 };
    let kinds = cycle.iter().map(|hop| {
        let name = analysis.type_name(hop.node);
        (name.is_none(), name, kind(analysis, *hop).1)
    });
    let kinds: Vec<_> = kinds.collect();
    let turned = |start: usize| (start..start + depth).map(|at| kinds[at % kinds.len()]);
    let start = (0..cycle.len()).min_by(|a, b| turned(*a).cmp(turned(*b)));
    cycle.rotate_left(start.unwrap_or(0));
}

/// Returns a number for what is alike in all paths of one kind.
pub fn signature(analysis: &Analysis<'_>, verdict: u8, label: &str, path: &[Hop]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (verdict, label).hash(&mut hasher);
    for hop in path {
        kind(analysis, *hop).hash(&mut hasher);
    }
    hasher.finish()
}
