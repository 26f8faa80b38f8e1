//! Cycles: what is wrong with them, and shortest ones through a node.

use super::Analysis;
use super::balance::Balance;
use super::reach::Level;
use super::signature::Hop;
use super::verdict::Verdict;
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
            path.push(Hop::along(edge));
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
        path.push(Hop::end(end));
        Some(path)
    }
}

/// Returns whether words that no count confirms refer to nodes that nothing holds.
pub(super) fn is_suspect(analysis: &Analysis<'_>, members: &[NodeId]) -> bool {
    let mut levels = members.iter().map(|node| analysis.reach.level(*node));
    levels.any(|level| level == Level::Suspect)
}

/// Returns what is wrong with nodes that hold each other and that nothing else holds, and how many
/// references have no holder; `None` if words on stacks may well hold them.
pub(super) fn judge(analysis: &Analysis<'_>, members: &[NodeId]) -> Option<(Verdict, u64)> {
    let suspect = is_suspect(analysis, members);
    let (mut covered, mut missing, mut words, mut objects) = (true, 0, suspect, 0);
    for member in members {
        words |= !analysis.links.roots(*member).is_empty();
        if let Some(object) = analysis.object(*member) {
            let balance = Balance::new(analysis, *member, object);
            covered &= balance.is_covered();
            missing += balance.without_word() as u64;
            objects += 1;
        }
    }
    let verdict = match (objects, covered) {
        (0, _) if suspect => return None,
        (0, _) => Verdict::AllocationCycle,
        (_, true) if words => Verdict::CountedCycle,
        (_, true) => Verdict::ProvenCycle,
        // Something outside may well be a reference.
        (_, false) if suspect => return None,
        (_, false) => Verdict::CycleWithoutHolder,
    };
    Some((verdict, missing))
}
