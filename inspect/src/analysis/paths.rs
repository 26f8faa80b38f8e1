//! Why a node is alive: shortest paths from roots, or from leaks, which are cycles or nodes that
//! nothing refers to.

use super::cycles::{Components, Search, judge, unheld};
use super::path::{Beginning, Confidence, Hop, Origin, Path, canonical, confidence, signature};
use super::reach::{Level, Step};
use super::verdict::Verdict;
use super::{Analysis, Balance};
use crate::graph::{NodeId, Object};
use std::collections::{HashMap, HashSet};

/// Values in place of the edge to a node: the search did not meet the node, or began there.
const UNSEEN: u32 = u32::MAX;
const BEGINNING: u32 = u32::MAX - 1;

/// Shortest paths to all nodes that no root holds, from components that no other component holds.
pub struct Origins {
    components: Components,
    /// The last edge of the path to each node.
    steps: Vec<u32>,
    search: Search,
    /// A cycle for each component from which a path was asked for.
    cycles: HashMap<u32, Vec<Hop>>,
}

impl Origins {
    /// Finds the paths. Takes linear time.
    pub fn new(analysis: &Analysis<'_>) -> Self {
        let graph = analysis.graph;
        let components = unheld(analysis);
        let sources = (0..components.len()).filter(|at| components.is_source(analysis, *at));
        let mut queue: Vec<NodeId> = sources
            .flat_map(|at| components.members(at).iter().copied())
            .collect();
        let mut steps = vec![UNSEEN; graph.nodes.len()];
        for node in &queue {
            steps[*node as usize] = BEGINNING;
        }
        let mut at = 0;
        while let Some(node) = queue.get(at).copied() {
            at += 1;
            for edge in analysis.holds(node) {
                let to = graph.edges[edge].to;
                if steps[to as usize] == UNSEEN {
                    steps[to as usize] = edge as u32;
                    queue.push(to);
                }
            }
        }
        Self {
            components,
            steps,
            search: Search::new(graph.nodes.len()),
            cycles: HashMap::new(),
        }
    }

    /// Returns the component of a node, if that is a cycle that nothing else holds.
    pub fn cycle_of(&self, analysis: &Analysis<'_>, node: NodeId) -> Option<u32> {
        let component = self.components.of[node as usize];
        let is_beginning = self.steps[node as usize] == BEGINNING;
        (is_beginning && self.components.is_cycle(analysis, component as usize))
            .then_some(component)
    }

    /// Returns a path to a node that no root holds. If the path begins at a cycle, the cycle is a
    /// shortest one through the node at which the first path from its component began.
    pub fn path(&mut self, analysis: &Analysis<'_>, node: NodeId) -> Path {
        let graph = analysis.graph;
        let mut hops = vec![Hop::end(node)];
        let mut first = node;
        while let Some(edge) = graph.edges.get(self.steps[first as usize] as usize) {
            hops.push(Hop::along(*edge));
            first = edge.from;
        }
        hops.reverse();
        if let Some(component) = self.cycle_of(analysis, first) {
            let (components, search) = (&self.components, &mut self.search);
            let cycle = self.cycles.entry(component).or_insert_with(|| {
                let inside = |node: NodeId| components.of[node as usize] == component;
                let mut cycle = search.cycle(analysis, first, inside).unwrap_or_default();
                canonical(analysis, &mut cycle);
                cycle
            });
            let members = components.members(component as usize);
            return from_cycle(analysis, members, cycle.clone(), hops);
        }
        from_node(analysis, hops)
    }
}

/// Returns a path from a cycle that nothing else holds.
fn from_cycle(
    analysis: &Analysis<'_>,
    members: &[NodeId],
    found: Vec<Hop>,
    hops: Vec<Hop>,
) -> Path {
    let verdict = judge(analysis, members).map(|(verdict, _)| verdict);
    let (label, confidence) = match verdict {
        Some(Verdict::ProvenCycle) => (
            "a cycle, which nothing else refers to: make one of these references a Weak",
            Confidence::Certain,
        ),
        Some(Verdict::AllocationCycle) => (
            "a cycle of plain allocations, such as Rcs, which nothing else refers to: make one of \
             these references weak",
            Confidence::Certain,
        ),
        Some(Verdict::CycleWithoutHolder) => (
            "a cycle, which also has references without a holder (see `leaks`): make one of these \
             references a Weak",
            Confidence::Certain,
        ),
        Some(_) => (
            "a cycle, which nothing else refers to but words on stacks that are not counted: make \
             one of these references a Weak",
            Confidence::Likely,
        ),
        None => (
            "a cycle, to which words on stacks refer; they may be stale, or references",
            Confidence::Doubtful,
        ),
    };
    Path::new((Origin::Cycle(found), label, confidence), hops)
}

/// Returns a path whose first node is in no cycle and has no holder; stale words may refer to it.
fn from_node(analysis: &Analysis<'_>, hops: Vec<Hop>) -> Path {
    let first = hops.first().expect("a path has hops").node;
    let suspect = analysis.reach.level(first) == Level::Suspect;
    let beginning = match analysis.object(first) {
        Some(object) if object.is_dying() => destructor(),
        Some(object) if !object.alive => (
            Origin::Nothing,
            "destroyed: weak references keep the memory only",
            Confidence::Certain,
        ),
        _ if suspect => (
            Origin::Nothing,
            "no root leads here but words on stacks, which may be stale",
            Confidence::Doubtful,
        ),
        object if leaks(analysis, first, object, hops.len()) => (
            Origin::Leak,
            "no root leads here; it leaks (see `leaks`)",
            Confidence::Certain,
        ),
        _ => (Origin::Nothing, "no root leads here", Confidence::Doubtful),
    };
    Path::new(beginning, hops)
}

/// Returns the beginning of a path that leads from an object whose destructor runs.
fn destructor() -> Beginning {
    (
        Origin::Nothing,
        "a destructor that runs or waits",
        Confidence::Likely,
    )
}

/// Returns whether `first`, a node that nothing holds, counts as a leak, as in the command `leaks`:
/// if it is an object with references that no word explains, or an allocation that holds something.
fn leaks(analysis: &Analysis<'_>, first: NodeId, object: Option<&Object>, hops: usize) -> bool {
    object.map_or(hops > 1, |object| {
        Balance::new(analysis, first, object).without_word() > 0
    })
}

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

/// Returns shortest paths to the node from different roots: at most `limit`, sorted by certainty,
/// then length. If no root holds the node, the first path begins at what leaks.
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

/// Returns shortest paths to the node from roots and from nodes that nothing refers to, except
/// `known`.
fn ends_of(
    analysis: &Analysis<'_>,
    node: NodeId,
    known: Option<NodeId>,
    limit: usize,
) -> Vec<Path> {
    let graph = analysis.graph;
    // The search goes backwards: `next` has each node's edge to the next node of its path.
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
    /// Bytes of these objects, without what the objects hold.
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

/// The ways found so far.
struct Ways<'a, 'g> {
    analysis: &'a Analysis<'g>,
    ways: HashMap<u64, Way>,
    /// Paths to nodes that no root holds; made when the first such node is met.
    origins: Option<Origins>,
    /// For each cycle, the key of the one way in which all its objects are held.
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
    use super::{Confidence, Origin, Path, paths_to, ways};
    use crate::analysis::Analysis;
    use crate::analysis::synthetic::graph;
    use crate::graph::{Graph, NodeId};

    /// Returns a graph with two games in cycles with players, each of which has a hat, and a third
    /// game that is forgotten.
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
