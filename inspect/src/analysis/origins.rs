//! Paths to nodes that no root holds: they begin at a cycle, or at a node that nothing refers to.

use super::Analysis;
use super::balance::Balance;
use super::cycles::{Components, unheld};
use super::cycles::{Search, judge};
use super::path::{Beginning, Confidence, Origin, Path};
use super::path::{Hop, canonical};
use super::reach::Level;
use super::verdict::Verdict;
use crate::graph::{NodeId, Object};
use std::collections::HashMap;

/// Where no step leads to a node: it was not met, or it is where the search began.
const UNSEEN: u32 = u32::MAX;
const BEGINNING: u32 = u32::MAX - 1;

/// Shortest paths to all nodes that no root holds, from the components that nothing else holds.
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

    /// Returns the number of the cycle that a node is part of, if nothing else holds that cycle.
    pub fn cycle_of(&self, analysis: &Analysis<'_>, node: NodeId) -> Option<u32> {
        let component = self.components.of[node as usize];
        let is_beginning = self.steps[node as usize] == BEGINNING;
        (is_beginning && self.components.is_cycle(analysis, component as usize))
            .then_some(component)
    }

    /// Returns a path to a node that no root holds. If it begins at a cycle, that is a shortest one
    /// through the node at which the first path from that cycle began.
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

/// Returns a path whose first node nothing holds, and which is not part of a cycle.
pub(super) fn from_node(analysis: &Analysis<'_>, hops: Vec<Hop>) -> Path {
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

/// Returns what a path begins at that leads from an object which is being destroyed.
pub(super) fn destructor() -> Beginning {
    (
        Origin::Nothing,
        "a destructor that runs or waits",
        Confidence::Likely,
    )
}

/// Returns whether a node that nothing holds counts as a leak, as `leaks` does: if it is an object
/// that has references, or an allocation that holds one.
fn leaks(analysis: &Analysis<'_>, first: NodeId, object: Option<&Object>, hops: usize) -> bool {
    object.map_or(hops > 1, |object| {
        Balance::new(analysis, first, object).without_word() > 0
    })
}
