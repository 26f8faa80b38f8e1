//! Strongly connected components, by Tarjan's algorithm without recursion; the verdict on a cycle;
//! a shortest cycle through a node.

use super::path::Hop;
use super::reach::Level;
use super::verdict::Verdict;
use super::{Analysis, Balance};
use crate::graph::NodeId;

/// Stands for the component of a node that takes no part.
pub const NO_COMPONENT: u32 = u32::MAX;

/// Strongly connected components of some of the nodes.
pub struct Components {
    /// The component of each node, or [`NO_COMPONENT`].
    pub of: Vec<u32>,
    starts: Vec<u32>,
    members: Vec<NodeId>,
}

impl Components {
    /// Returns the number of components.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the nodes of a component. Components have lower numbers than those that hold them.
    pub fn members(&self, component: usize) -> &[NodeId] {
        let (from, to) = (self.starts[component], self.starts[component + 1]);
        &self.members[from as usize..to as usize]
    }

    /// Returns whether the members of a component hold each other, or its only member holds itself.
    pub fn is_cycle(&self, analysis: &Analysis<'_>, component: usize) -> bool {
        let members = self.members(component);
        members.len() > 1 || {
            let mut holds = analysis.holds(members[0]);
            holds.any(|edge| analysis.graph.edges[edge].to == members[0])
        }
    }

    /// Returns whether no other component holds this one.
    pub fn is_source(&self, analysis: &Analysis<'_>, component: usize) -> bool {
        self.members(component).iter().all(|member| {
            let mut holders = analysis.held_by(*member);
            holders.all(|edge| {
                let from = analysis.graph.edges[edge].from;
                let holder = self.of[from as usize];
                holder == component as u32 || holder == NO_COMPONENT
            })
        })
    }
}

/// Finds the components of the nodes that are held by nothing, or only by words that no count
/// confirms.
pub fn unheld(analysis: &Analysis<'_>) -> Components {
    components(analysis, |node| {
        let level = analysis.reach.level(node);
        matches!(level, Level::Suspect | Level::Nothing)
    })
}

/// A node whose edges are being followed.
struct Visit {
    node: NodeId,
    next: u32,
    end: u32,
}

/// Finds the components of the nodes for which `takes_part` returns `true`, by the edges that hold.
pub fn components(analysis: &Analysis<'_>, takes_part: impl Fn(NodeId) -> bool) -> Components {
    const UNSEEN: u32 = u32::MAX;
    let nodes = analysis.graph.nodes.len();
    let mut found = Components {
        of: vec![NO_COMPONENT; nodes],
        starts: vec![0],
        members: Vec::new(),
    };
    // `order` numbers nodes as they are first seen; `low` is the least number of a node on the
    // stack that the node is known to reach.
    let (mut order, mut low) = (vec![UNSEEN; nodes], vec![UNSEEN; nodes]);
    let (mut seen, mut stack, mut visits) = (0, Vec::new(), Vec::<Visit>::new());
    for root in 0..nodes as NodeId {
        if order[root as usize] != UNSEEN || !takes_part(root) {
            continue;
        }
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                (order[node as usize], low[node as usize]) = (seen, seen);
                seen += 1;
                stack.push(node);
                let out = analysis.links.out(node);
                let (next, end) = (out.start as u32, out.end as u32);
                visits.push(Visit { node, next, end });
            }
            let Some(visit) = visits.last_mut() else {
                break;
            };
            let node = visit.node as usize;
            if visit.next < visit.end {
                let edge = visit.next as usize;
                visit.next += 1;
                let to = analysis.graph.edges[edge].to;
                if !analysis.strengths[edge].holds() || !takes_part(to) {
                    continue;
                }
                if order[to as usize] == UNSEEN {
                    enter = Some(to);
                } else if found.of[to as usize] == NO_COMPONENT {
                    low[node] = low[node].min(order[to as usize]);
                }
                continue;
            }
            let visit = visits.pop().expect("there is a last visit");
            if let Some(parent) = visits.last() {
                let parent = parent.node as usize;
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == order[node] {
                let component = found.starts.len() as u32 - 1;
                while let Some(member) = stack.pop() {
                    found.of[member as usize] = component;
                    found.members.push(member);
                    if member == visit.node {
                        break;
                    }
                }
                found.starts.push(found.members.len() as u32);
            }
        }
    }
    found
}

/// Breadth-first searches, one after the other, that share their memory.
pub struct Search {
    /// The edge by which each node was found; valid only if the node's stamp is `stamp`.
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

    /// Finds a shortest path of at least one edge from `start` to a node that `end` accepts,
    /// through nodes that `inside` accepts. Returns the path without its last node, and that node.
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

    /// Returns the path from `start` whose last edge is `last`, which the search has found.
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

    /// Finds a shortest cycle through `node`, through nodes that `inside` accepts.
    pub fn cycle(
        &mut self,
        analysis: &Analysis<'_>,
        node: NodeId,
        inside: impl Fn(NodeId) -> bool,
    ) -> Option<Vec<Hop>> {
        let (path, _) = self.path(analysis, node, inside, |to| to == node)?;
        Some(path)
    }

    /// Finds a shortest path from `node` to an object; after `node`, no node is `Reach::is_held`.
    pub fn path_to_object(&mut self, analysis: &Analysis<'_>, node: NodeId) -> Option<Vec<Hop>> {
        let objects = analysis.graph.objects;
        let held = |node: NodeId| analysis.reach.is_held(node);
        let end = |to: NodeId| (to as usize) < objects && !held(to);
        let (mut path, end) = self.path(analysis, node, |node| !held(node), end)?;
        path.push(Hop::end(end));
        Some(path)
    }
}

/// Returns whether any of `members`, which nothing else holds, has [`Level::Suspect`].
pub(super) fn is_suspect(analysis: &Analysis<'_>, members: &[NodeId]) -> bool {
    let mut levels = members.iter().map(|node| analysis.reach.level(*node));
    levels.any(|level| level == Level::Suspect)
}

/// Returns the verdict on `members`, a cycle that nothing else holds, and how many references have
/// no holder; `None` if words outside of nodes may well hold the cycle.
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
        // Words in nodes do not suffice for all references; one elsewhere may well be missing.
        (_, false) if suspect => return None,
        (_, false) => Verdict::CycleWithoutHolder,
    };
    Some((verdict, missing))
}
