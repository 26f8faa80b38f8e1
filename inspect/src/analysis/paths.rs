//! Why a node is alive: shortest paths from roots; what holds a node, and what it holds.

use super::Analysis;
use super::balance::Balance;
use super::reach::{Level, Step};
use super::signature::{Hop, signature};
use crate::graph::{NodeId, Object, Root, RootKind};
use std::collections::{HashMap, HashSet};

/// A path from a root to a node.
#[derive(Clone, Debug)]
pub struct Path {
    /// What the path begins at; empty if the first node is one that nothing holds.
    pub label: String,
    /// The kind of root.
    pub root: Option<RootKind>,
    /// How sure it is that the root holds the first node.
    pub confidence: Confidence,
    /// The nodes, the one that is asked for last.
    pub hops: Vec<Hop>,
}

/// How sure it is that a root holds a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// The root is a variable, or counted.
    Certain,
    /// The word may be stale, but there is a reference that nothing else explains.
    Likely,
    /// All references have words elsewhere, or there is no root.
    Doubtful,
}

/// Returns how sure it is that a root holds its node.
fn confidence(analysis: &Analysis<'_>, root: &Root) -> Confidence {
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

/// Returns a shortest path to the node from the best root that holds it; `None` if nothing does.
pub fn path_to(analysis: &Analysis<'_>, node: NodeId) -> Option<Path> {
    let graph = analysis.graph;
    let mut hops = vec![Hop { node, offset: None }];
    let mut at = node;
    loop {
        match analysis.reach.step(at) {
            None if analysis.object(at).is_some_and(Object::is_dying) => {
                hops.reverse();
                return Some(Path {
                    label: "a destructor that runs or waits".to_owned(),
                    root: None,
                    confidence: Confidence::Likely,
                    hops,
                });
            }
            None => return None,
            Some(Step::Edge(edge)) => {
                let edge = graph.edges[edge as usize];
                hops.push(Hop {
                    node: edge.from,
                    offset: Some(edge.offset),
                });
                at = edge.from;
            }
            Some(Step::Root(root)) => {
                hops.reverse();
                let root = &graph.roots[root as usize];
                return Some(Path {
                    label: graph.label(root).to_owned(),
                    root: Some(root.kind),
                    confidence: confidence(analysis, root),
                    hops,
                });
            }
        }
    }
}

/// Returns shortest paths to the node from different roots: at most `limit`, the most certain first,
/// and of those the shortest. Where nothing holds the node, a path begins at a node without holder,
/// or at the node itself if it is in a cycle.
pub fn paths_to(analysis: &Analysis<'_>, node: NodeId, limit: usize) -> Vec<Path> {
    let graph = analysis.graph;
    // Backwards, so that each node knows the edge to the next.
    let mut next: HashMap<NodeId, u32> = HashMap::from([(node, u32::MAX)]);
    let mut queue = vec![node];
    let mut ends = Vec::new();
    let mut at = 0;
    while let Some(from) = queue.get(at).copied() {
        for root in analysis.links.roots(from) {
            let root = &graph.roots[*root as usize];
            let weight = 16 * confidence(analysis, root) as usize + root.kind as usize;
            ends.push((weight, at, from, Some(root)));
        }
        let mut holders = 0;
        for edge in analysis.held_by(from) {
            holders += 1;
            let holder = graph.edges[edge].from;
            if let std::collections::hash_map::Entry::Vacant(entry) = next.entry(holder) {
                entry.insert(edge as u32);
                queue.push(holder);
            }
        }
        if holders == 0 && analysis.links.roots(from).is_empty() {
            ends.push((64, at, from, None));
        }
        at += 1;
    }
    ends.sort_by_key(|(weight, distance, ..)| (*weight, *distance));
    let mut labels = HashSet::new();
    ends.retain(|(_, _, from, root)| {
        labels.insert(root.map_or((*from, u32::MAX), |root| (0, root.label)))
    });
    ends.truncate(limit);
    if ends.is_empty() {
        return vec![path_without_root(analysis, node)];
    }
    let paths = ends.into_iter().map(|(_, _, from, root)| {
        let mut hops = Vec::new();
        let mut at = from;
        while let Some(edge) = graph.edges.get(next[&at] as usize) {
            hops.push(Hop {
                node: at,
                offset: Some(edge.offset),
            });
            at = edge.to;
        }
        hops.push(Hop {
            node: at,
            offset: None,
        });
        Path {
            label: root.map_or_else(String::new, |root| graph.label(root).to_owned()),
            root: root.map(|root| root.kind),
            confidence: root.map_or(Confidence::Doubtful, |root| confidence(analysis, root)),
            hops,
        }
    });
    paths.collect()
}

/// Returns a path to a node that nothing holds: from a node without holder, or around a cycle.
pub fn path_without_root(analysis: &Analysis<'_>, node: NodeId) -> Path {
    let mut hops = vec![Hop { node, offset: None }];
    let mut seen = HashSet::from([node]);
    let mut at = node;
    while let Some(edge) = analysis.held_by(at).next() {
        let edge = analysis.graph.edges[edge];
        hops.push(Hop {
            node: edge.from,
            offset: Some(edge.offset),
        });
        if !seen.insert(edge.from) {
            break;
        }
        at = edge.from;
    }
    hops.reverse();
    Path {
        label: String::new(),
        root: None,
        confidence: Confidence::Doubtful,
        hops,
    }
}

/// Objects of a type that are held in one way.
#[derive(Clone, Debug)]
pub struct Way {
    /// The path to the first of them.
    pub path: Path,
    /// How certain the best root is.
    pub level: Level,
    /// How many objects there are.
    pub objects: u64,
    /// Their bytes, without what they hold.
    pub bytes: u64,
    /// The first of the objects.
    pub first: NodeId,
}

/// Groups the objects of a type by the types along the path to each; the most common way first.
pub fn ways(analysis: &Analysis<'_>, type_id: u32) -> Vec<Way> {
    let graph = analysis.graph;
    let mut ways: HashMap<u64, Way> = HashMap::new();
    for node in 0..graph.objects as NodeId {
        if analysis.object(node).is_none_or(|o| o.type_id != type_id) {
            continue;
        }
        let path = path_to(analysis, node);
        let path = path.unwrap_or_else(|| path_without_root(analysis, node));
        let level = analysis.reach.level(node);
        let key = signature(analysis, level as u8, &path.label, &path.hops);
        let way = ways.entry(key).or_insert(Way {
            path,
            level,
            objects: 0,
            bytes: 0,
            first: node,
        });
        way.objects += 1;
        way.bytes += graph.nodes[node as usize].bytes;
    }
    let mut ways: Vec<Way> = ways.into_values().collect();
    ways.sort_by_key(|way| (std::cmp::Reverse(way.objects), way.first));
    ways
}
