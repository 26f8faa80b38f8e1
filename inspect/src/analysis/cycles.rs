//! Shortest paths inside a part of the graph.

use super::Analysis;
use super::signature::Hop;
use crate::graph::NodeId;

/// Searches that share their memory.
pub struct Search {
    /// The edge by which a node was found, valid if the stamp is that of this search.
    found_by: Vec<u32>,
    stamps: Vec<u32>,
    stamp: u32,
    queue: Vec<NodeId>,
}

impl Search {
    /// Makes memory for searches among this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            found_by: vec![0; nodes],
            stamps: vec![0; nodes],
            stamp: 0,
            queue: Vec::new(),
        }
    }

    /// Finds a shortest path of at least one edge from `start` to a node that is an `end`, through
    /// nodes that are `inside`. The path has each node but the end.
    fn path(
        &mut self,
        analysis: &Analysis<'_>,
        start: NodeId,
        inside: impl Fn(NodeId) -> bool,
        end: impl Fn(NodeId) -> bool,
    ) -> Option<(Vec<Hop>, NodeId)> {
        self.stamp += 1;
        self.queue.clear();
        self.queue.push(start);
        let mut at = 0;
        while let Some(node) = self.queue.get(at).copied() {
            at += 1;
            for edge in analysis.holds(node) {
                let to = analysis.graph.edges[edge].to;
                if end(to) {
                    return Some((self.back(analysis, start, edge), to));
                }
                if to != start && inside(to) && self.stamps[to as usize] != self.stamp {
                    self.stamps[to as usize] = self.stamp;
                    self.found_by[to as usize] = edge as u32;
                    self.queue.push(to);
                }
            }
        }
        None
    }

    /// Follows the path back from its last edge.
    fn back(&self, analysis: &Analysis<'_>, start: NodeId, last: usize) -> Vec<Hop> {
        let mut path = Vec::new();
        let mut edge = analysis.graph.edges[last];
        loop {
            path.push(Hop {
                node: edge.from,
                offset: Some(edge.offset),
            });
            if edge.from == start {
                break;
            }
            edge = analysis.graph.edges[self.found_by[edge.from as usize] as usize];
        }
        path.reverse();
        path
    }

    /// Finds a shortest cycle through `node`, through nodes that are `inside`.
    pub fn cycle(
        &mut self,
        analysis: &Analysis<'_>,
        node: NodeId,
        inside: impl Fn(NodeId) -> bool,
    ) -> Option<Vec<Hop>> {
        let (path, _) = self.path(analysis, node, inside, |to| to == node)?;
        Some(path)
    }

    /// Finds a shortest path from `node` to an object that nothing else holds.
    pub fn path_to_object(&mut self, analysis: &Analysis<'_>, node: NodeId) -> Option<Vec<Hop>> {
        let objects = analysis.graph.objects;
        let held = |node: NodeId| analysis.reach.is_held(node);
        let end = |to: NodeId| (to as usize) < objects && !held(to);
        let (mut path, end) = self.path(analysis, node, |node| !held(node), end)?;
        path.push(Hop {
            node: end,
            offset: None,
        });
        Some(path)
    }
}
