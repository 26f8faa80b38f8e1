//! Why a node is alive: shortest paths from roots, or from what leaks.

use super::Analysis;
use super::origins::{Origins, destructor, from_node};
use super::path::{Hop, signature};
use super::path::{Origin, Path, confidence};
use super::reach::{Level, Step};
use crate::graph::{NodeId, Object};
use std::collections::{HashMap, HashSet};

/// Returns a shortest path to the node from the best root that holds it; `None` if nothing does.
pub fn path_to(analysis: &Analysis<'_>, node: NodeId) -> Option<Path> {
    let graph = analysis.graph;
    let mut hops = vec![Hop::end(node)];
    let mut at = node;
    loop {
        match analysis.reach.step(at) {
            None if analysis.object(at).is_some_and(Object::is_dying) => {
                hops.reverse();
                return Some(Path::new(destructor(), hops));
            }
            None => return None,
            Some(Step::Edge(edge)) => {
                let edge = graph.edges[edge as usize];
                hops.push(Hop::along(edge));
                at = edge.from;
            }
            Some(Step::Root(root)) => {
                hops.reverse();
                let root = &graph.roots[root as usize];
                return Some(Path::from_root(analysis, root, hops));
            }
        }
    }
}

/// Returns shortest paths to the node from different roots: at most `limit`, the most certain first,
/// and of those the shortest. If no root holds the node, the first path begins at what leaks.
pub fn paths_to(analysis: &Analysis<'_>, node: NodeId, limit: usize) -> Vec<Path> {
    let is_unheld = matches!(analysis.reach.level(node), Level::Nothing | Level::Suspect);
    let mut paths = Vec::new();
    if is_unheld {
        paths.push(Origins::new(analysis).path(analysis, node));
    }
    let known = paths.first().map(|path| path.hops[0].node);
    let others = ends_of(analysis, node, known, limit - paths.len().min(limit));
    paths.extend(others);
    if paths.is_empty() {
        paths.extend(path_to(analysis, node));
    }
    paths
}

/// Returns shortest paths to the node from roots and from nodes that nothing refers to, but for the
/// one that is known.
fn ends_of(
    analysis: &Analysis<'_>,
    node: NodeId,
    known: Option<NodeId>,
    limit: usize,
) -> Vec<Path> {
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
        if holders == 0 && analysis.links.roots(from).is_empty() && known != Some(from) {
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
    let paths = ends.into_iter().map(|(_, _, from, root)| {
        let mut hops = Vec::new();
        let mut at = from;
        while let Some(edge) = graph.edges.get(next[&at] as usize) {
            hops.push(Hop::along(*edge));
            at = edge.to;
        }
        hops.push(Hop::end(at));
        match root {
            Some(root) => Path::from_root(analysis, root, hops),
            None => from_node(analysis, hops),
        }
    });
    paths.collect()
}

/// Objects of a type that are held in one way.
#[derive(Clone, Debug)]
pub struct Way {
    /// The path to the first of them.
    pub path: Path,
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
    let mut ways = Ways {
        analysis,
        ways: HashMap::new(),
        origins: None,
        by_cycle: HashMap::new(),
    };
    for node in 0..graph.objects as NodeId {
        if analysis.object(node).is_none_or(|o| o.type_id != type_id) {
            continue;
        }
        let key = ways.key(node);
        let way = ways.ways.get_mut(&key).expect("each key has its way");
        way.objects += 1;
        way.bytes += graph.nodes[node as usize].bytes;
    }
    let mut ways: Vec<Way> = ways.ways.into_values().collect();
    ways.sort_by_key(|way| (std::cmp::Reverse(way.objects), way.first));
    ways
}

/// Ways that are being found.
struct Ways<'a, 'g> {
    analysis: &'a Analysis<'g>,
    ways: HashMap<u64, Way>,
    /// Paths to what no root holds, if there is any.
    origins: Option<Origins>,
    /// The keys of the ways in which the objects of each cycle are held: all of them by the cycle.
    by_cycle: HashMap<u32, u64>,
}

impl Ways<'_, '_> {
    /// Returns the key of the way in which a node is held.
    fn key(&mut self, node: NodeId) -> u64 {
        let analysis = self.analysis;
        if let Some(path) = path_to(analysis, node) {
            return self.insert(node, path);
        }
        let origins = self.origins.get_or_insert_with(|| Origins::new(analysis));
        let cycle = origins.cycle_of(analysis, node);
        if let Some(known) = cycle.and_then(|cycle| self.by_cycle.get(&cycle)) {
            return *known;
        }
        let path = origins.path(analysis, node);
        let key = self.insert(node, path);
        self.by_cycle.extend(cycle.map(|cycle| (cycle, key)));
        key
    }

    fn insert(&mut self, node: NodeId, path: Path) -> u64 {
        let level = self.analysis.reach.level(node);
        let mut hops = path.hops.clone();
        if let Origin::Cycle(cycle) = &path.origin {
            hops.extend(cycle);
        }
        let key = signature(self.analysis, level as u8, &path.label, &hops);
        self.ways.entry(key).or_insert(Way {
            path,
            objects: 0,
            bytes: 0,
            first: node,
        });
        key
    }
}

#[cfg(test)]
mod tests {
    use super::{Origin, Path, paths_to, ways};
    use crate::analysis::Analysis;
    use crate::analysis::path::Confidence;
    use crate::analysis::synthetic::graph;
    use crate::graph::{Graph, NodeId};

    /// Two games in cycles with players, each of which has a hat; the third game is forgotten.
    fn games(root: &str) -> Graph {
        let game = "Game: 1, Player: 1, Hat: 1, Game +16 Player, Player +0 Hat,";
        let cycle = format!("{game} Player +8 Game,");
        graph(&format!("{cycle} {root} {cycle} {game}"))
    }

    fn nodes(path: &Path) -> Vec<NodeId> {
        path.hops.iter().map(|hop| hop.node).collect()
    }

    #[test]
    fn path_to_what_a_leaked_cycle_holds_begins_at_the_cycle() {
        for (stale, confidence) in [
            ("", Confidence::Certain),
            ("stack Player,", Confidence::Likely),
        ] {
            let graph = games(stale);
            let analysis = Analysis::new(&graph);
            for (node, expected) in [(0, vec![0]), (1, vec![1]), (2, vec![1, 2])] {
                let paths = paths_to(&analysis, node, 20);
                assert_eq!(paths.len(), 1 + graph.roots.len(), "{paths:?}");
                assert_eq!(nodes(&paths[0]), expected);
                assert_eq!(paths[0].confidence, confidence);
                let Origin::Cycle(cycle) = &paths[0].origin else {
                    panic!("{paths:?}");
                };
                let cycle = cycle.iter().map(|hop| (hop.node, hop.offset));
                assert_eq!(cycle.collect::<Vec<_>>(), [(0, Some(16)), (1, Some(8))]);
            }
        }
    }

    #[test]
    fn path_to_what_leaks_without_a_cycle_says_so() {
        let graph = games("");
        let paths = paths_to(&Analysis::new(&graph), 8, 20);
        assert_eq!(paths.len(), 1, "{paths:?}");
        assert_eq!(paths[0].origin, Origin::Leak);
        assert_eq!(nodes(&paths[0]), [6, 7, 8]);
    }

    #[test]
    fn objects_in_cycles_of_one_kind_are_held_in_one_way() {
        let graph = games("");
        let analysis = Analysis::new(&graph);
        for type_id in 0..3 {
            let found = ways(&analysis, type_id);
            let found = found.iter().map(|way| {
                let is_cycle = matches!(way.path.origin, Origin::Cycle(_));
                (way.objects, is_cycle)
            });
            assert_eq!(found.collect::<Vec<_>>(), [(2, true), (1, false)]);
        }
    }

    #[test]
    fn objects_that_wait_for_their_destructors_are_no_leaks() {
        let graph = graph("Game: 0, Player: 1, Dead: 0 1, Game +0 Player");
        let analysis = Analysis::new(&graph);
        for (node, label) in [(1, "a destructor"), (2, "destroyed")] {
            let paths = paths_to(&analysis, node, 20);
            assert_eq!(paths.len(), 1, "{paths:?}");
            assert_eq!(paths[0].origin, Origin::Nothing);
            assert!(paths[0].label.starts_with(label), "{paths:?}");
        }
    }
}
