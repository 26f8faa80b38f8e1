//! The meaning of a graph: which references are strong, what holds each node, and what leaks.
//!
//! Two things say whether an object is held: *arithmetic*, which compares its counts with the words
//! that refer to it, and *reachability* from roots. Arithmetic comes first: a stale word on a stack
//! makes garbage reachable, but does not change a count.
//!
//! * [`links`]: the words of a node, and the words that refer to it;
//! * [`strength`]: which words are strong references;
//! * [`balance`]: how many references of an object no word explains;
//! * [`reach`]: what holds each node, from the most certain kind of root to the least; `search`
//!   finds it;
//! * [`cycles`], [`dominators`]: strongly connected components, retained sizes;
//! * [`verdict`]: what can be wrong, and leaks that are alike;
//! * [`path`]: why an object is alive; [`paths`] finds them, and [`origins`] where no root leads;
//! * [`leaks`]: finds what leaks, and groups it by the types along its paths;
//! * [`owners`]: what holds plain allocations;
//! * [`census`]: objects and bytes by type; [`diff`]: what has grown between two graphs.

pub mod balance;
pub mod census;
pub mod containers;
pub mod cycles;
pub mod diff;
pub mod dominators;
pub mod leaks;
pub mod links;
pub mod origins;
pub mod owners;
pub mod path;
pub mod paths;
#[cfg(test)]
mod random_tests;
pub mod reach;
pub mod retained;
mod search;
pub mod strength;
#[cfg(test)]
pub(crate) mod synthetic;
pub mod verdict;

use crate::graph::{Graph, NodeId, Object};
use links::Links;
use reach::Reach;
use strength::Strength;

/// A graph, and what follows from it.
pub struct Analysis<'g> {
    /// The graph.
    pub graph: &'g Graph,
    /// The words of each node, and the words that refer to it.
    pub links: Links,
    /// The strength of each edge, in the order of the graph's edges.
    pub strengths: Vec<Strength>,
    /// The roots that hold each node.
    pub reach: Reach,
}

impl<'g> Analysis<'g> {
    /// Returns the object, if the node is one.
    pub fn object(&self, node: NodeId) -> Option<&'g Object> {
        self.graph.object(node)
    }

    /// Returns the name of the node's type; `None` if it is a plain allocation.
    pub fn type_name(&self, node: NodeId) -> Option<&'g str> {
        let object = self.object(node)?;
        Some(self.graph.type_name(object.type_id))
    }

    /// Returns the edges by which the node holds others.
    pub fn holds(&self, node: NodeId) -> impl Iterator<Item = usize> + '_ {
        let range = self.links.out(node);
        range.filter(|edge| self.strengths[*edge].holds())
    }

    /// Returns the edges by which other nodes hold this one.
    pub fn held_by(&self, node: NodeId) -> impl Iterator<Item = usize> + '_ {
        let edges = self.links.incoming(node).iter();
        let edges = edges.map(|edge| *edge as usize);
        edges.filter(|edge| self.strengths[*edge].holds())
    }
}
