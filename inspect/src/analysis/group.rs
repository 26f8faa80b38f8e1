//! Leaks that are alike.

use super::signature::Hop;
use super::verdict::Verdict;
use crate::graph::NodeId;
use serde::{Deserialize, Serialize};

/// Leaks of one kind, with the same types along their paths.
#[derive(Clone, Debug)]
pub struct Group {
    /// The mistake that the group has.
    pub verdict: Verdict,
    /// The pool, inbox or the like that holds them; empty if there is none.
    pub label: String,
    /// The path or cycle of the first leak.
    pub path: Vec<Hop>,
    /// How many leaks, objects and bytes there are.
    pub figures: Figures,
    /// The nodes that stand for the first leaks.
    pub samples: Vec<NodeId>,
}

/// The figures of a group of leaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// How many leaks there are.
    pub leaks: u64,
    /// Objects that are part of the leaks themselves.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that would be destroyed if the leaks were fixed.
    pub retained_objects: u64,
    /// Bytes that would be freed.
    pub retained_bytes: u64,
    /// References without a holder.
    pub missing: u64,
}
