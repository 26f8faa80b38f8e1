//! A path, what it begins at, and how sure it is.

use super::Analysis;
use super::balance::Balance;
use super::reach::Level;
use super::signature::Hop;
use crate::graph::{Root, RootKind};
use serde::{Deserialize, Serialize};

/// A path from a root to a node.
#[derive(Clone, Debug)]
pub struct Path {
    /// The name of the beginning, for people.
    pub label: String,
    /// The beginning of the path.
    pub origin: Origin,
    /// How sure it is that this holds the first node.
    pub confidence: Confidence,
    /// The nodes, the one that is asked for last.
    pub hops: Vec<Hop>,
}

/// The beginning of a path, its label for people, and how sure it is.
pub(super) type Beginning = (Origin, &'static str, Confidence);

impl Path {
    /// Returns a path that no root begins.
    pub(super) fn new((origin, label, confidence): Beginning, hops: Vec<Hop>) -> Self {
        Self {
            label: label.to_owned(),
            origin,
            confidence,
            hops,
        }
    }

    /// Returns a path that a root begins.
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
    /// A cycle that no root holds, which goes on from its last node to its first. The path begins at
    /// a node of the same component.
    Cycle(Vec<Hop>),
    /// A node that leaks: it has references, but nothing refers to it.
    Leak,
    /// A node that nothing holds, and that is no leak: its destructor runs, for example.
    Nothing,
}

/// How sure it is that a root or a cycle holds a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The root is a variable, or counted; or nothing else refers to a leak.
    Certain,
    /// The word may be stale, but there is a reference that nothing else explains; or such words
    /// refer to a cycle that explains all references.
    Likely,
    /// All references have words elsewhere, or it is not known what holds the node.
    Doubtful,
}

/// Returns how sure it is that a root holds its node.
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
