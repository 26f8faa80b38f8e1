//! Paths: their nodes, their origins and how certain these are, and what paths of one kind share.

use super::reach::Level;
use super::{Analysis, Balance};
use crate::graph::{Edge, NodeId, Root, RootKind};
use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A node on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// The node.
    pub node: NodeId,
    /// The offset in `node` of the word that refers to the next node, or, in the last node of a
    /// cycle, to the first node. `None` at the end of a path.
    pub offset: Option<u32>,
}

impl Hop {
    /// Returns the hop along an edge: the node and the offset of the edge's word.
    pub fn along(edge: Edge) -> Self {
        Self {
            node: edge.from,
            offset: Some(edge.offset),
        }
    }

    /// Returns the last hop of a path: the node, without an offset.
    pub fn end(node: NodeId) -> Self {
        Self { node, offset: None }
    }
}

/// Stands for plain allocations in place of a type's number, and for offsets that are left out.
const PLAIN: u32 = u32::MAX;

/// Returns what all nodes of one kind share: the type, and in objects the field. The offset in a
/// plain allocation is left out: it differs from element to element.
fn kind(analysis: &Analysis<'_>, hop: Hop) -> (u32, u32) {
    match analysis.object(hop.node) {
        Some(object) => (object.type_id, hop.offset.unwrap_or(PLAIN)),
        None => (PLAIN, PLAIN),
    }
}

/// Rotates a cycle so that cycles of one kind begin alike in all graphs: each graph numbers types
/// differently, so names decide. Plain allocations come last.
pub fn canonical(analysis: &Analysis<'_>, cycle: &mut [Hop]) {
    // To avoid quadratic time, rotations of cycles of over 64 hops are compared by two hops.
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

/// Returns a number that all paths of one kind share.
pub fn signature(analysis: &Analysis<'_>, verdict: u8, label: &str, path: &[Hop]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (verdict, label).hash(&mut hasher);
    for hop in path {
        kind(analysis, *hop).hash(&mut hasher);
    }
    hasher.finish()
}

/// A path from a root, a cycle or a leak to a node.
#[derive(Clone, Debug)]
pub struct Path {
    /// The name of the beginning, for people.
    pub label: String,
    /// The beginning of the path.
    pub origin: Origin,
    /// How certain it is that the origin holds `hops[0]`.
    pub confidence: Confidence,
    /// The nodes; the last one is the node that was asked for.
    pub hops: Vec<Hop>,
}

/// The origin of a path, its label for people, and how certain it is.
pub(super) type Beginning = (Origin, &'static str, Confidence);

impl Path {
    /// Returns a path that does not begin at a root.
    pub(super) fn new((origin, label, confidence): Beginning, hops: Vec<Hop>) -> Self {
        Self {
            label: label.to_owned(),
            origin,
            confidence,
            hops,
        }
    }

    /// Returns a path that begins at a root.
    pub(super) fn from_root(analysis: &Analysis<'_>, root: &Root, hops: Vec<Hop>) -> Self {
        Self {
            label: analysis.graph.label(root).to_owned(),
            origin: Origin::Root(root.kind),
            confidence: confidence(analysis, root),
            hops,
        }
    }
}

/// The beginning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A root.
    Root(RootKind),
    /// A cycle that no root holds; the last node refers to the first. The path begins at a node of
    /// the same strongly connected component.
    Cycle(Vec<Hop>),
    /// A node that leaks: it has references, but nothing refers to it.
    Leak,
    /// A node that nothing holds, and that is no leak: its destructor runs, for example.
    Nothing,
}

/// How certain it is that a root or a cycle holds a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The root is a variable or a counted reference; or the path begins at a leak, to which
    /// nothing else refers.
    Certain,
    /// The root's word may be stale, but nothing else explains one of the references; or such words
    /// refer to a cycle whose own words explain all references.
    Likely,
    /// Other words explain all references, or it is not known what holds the node.
    Doubtful,
}

/// Returns how certain it is that a root holds its node.
pub(super) fn confidence(analysis: &Analysis<'_>, root: &Root) -> Confidence {
    if root.counted > 0 || !(RootKind::Anonymous..=RootKind::Stack).contains(&root.kind) {
        return Confidence::Certain;
    }
    let likely = match analysis.object(root.to) {
        Some(object) => Balance::new(analysis, root.to, object).outside_at_most() > 0,
        None => analysis.reach.level(root.to) <= Level::Stack,
    };
    if likely {
        Confidence::Likely
    } else {
        Confidence::Doubtful
    }
}
