//! The meaning of a graph: which references are strong, what holds each node, and what leaks.
//!
//! Two things say whether an object is held: *arithmetic*, which compares its counts with the words
//! that refer to it, and *reachability* from roots. Arithmetic comes first: a stale word on a stack
//! makes garbage reachable, but does not change a count.
//!
//! * [`links`]: the words of a node, and the words that refer to it;
//! * [`strength`]: which words are strong references;
//! * [`Balance`]: how many references of an object no word explains;
//! * [`reach`]: what holds each node, from the most certain kind of root to the least;
//! * [`cycles`], [`retained`]: strongly connected components, retained sizes;
//! * [`verdict`]: the kinds of leaks, and groups of leaks that are alike;
//! * [`path`]: why an object is alive; [`paths`] finds paths from roots, and from what leaks;
//! * [`leaks`]: finds leaks, and groups them by the types along their paths;
//! * [`owners`]: what holds plain allocations;
//! * [`containers`]: objects and bytes by type, and what holds many of a type; [`diff`]: what has
//!   grown between two graphs.

pub mod containers;
pub mod cycles;
pub mod diff;
pub mod leaks;
pub mod links;
pub mod owners;
pub mod path;
pub mod paths;
#[cfg(test)]
mod random_tests;
pub mod reach;
pub mod retained;
pub mod strength;
#[cfg(test)]
pub(crate) mod synthetic;
pub mod verdict;

use crate::graph::{Graph, NodeId, NodeKind, Object, Root, RootKind};
use links::Links;
use reach::{Level, Reach, Step};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    /// Analyses a graph. Takes linear time.
    pub fn new(graph: &'g Graph) -> Self {
        let links = Links::new(graph);
        let strengths = strength::classify(graph, &links);
        let mut analysis = Self {
            graph,
            links,
            strengths,
            reach: Reach::default(),
        };
        analysis.reach = reach(&analysis);
        analysis
    }

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

/// The references of an object, and the words that may be them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Balance {
    /// Strong references, by the object's count.
    pub strong: i64,
    /// Weak references, by the object's count.
    pub weak: i64,
    /// Strong references that the library's own structures have: pools, inboxes and the like.
    #[serde(rename = "pools")]
    pub counted: i64,
    /// Words in nodes that are strong references.
    pub strong_words: i64,
    /// Words in nodes that are weak references.
    pub weak_words: i64,
    /// Words in nodes that may be strong, weak or neither.
    pub unknown_words: i64,
    /// Words in static and thread-local variables.
    pub variable_words: i64,
    /// Words outside of nodes and of variables, and words in destroyed objects; any may be stale.
    pub other_words: i64,
}

impl Balance {
    /// Counts the words that refer to an object.
    pub fn new(analysis: &Analysis<'_>, node: NodeId, object: &Object) -> Self {
        let mut balance = Self {
            strong: object.strong.into(),
            weak: object.weak.into(),
            ..Self::default()
        };
        // A word in an object that is destroyed or being destroyed may be stale.
        let is_gone = |edge: u32| {
            let from = analysis.graph.edges[edge as usize].from;
            analysis.object(from).is_some_and(|from| !from.alive)
        };
        for edge in analysis.links.incoming(node) {
            match analysis.strengths[*edge as usize] {
                Strength::Strong => balance.strong_words += 1,
                Strength::Weak => balance.weak_words += 1,
                Strength::Unknown => balance.unknown_words += 1,
                Strength::Uncounted => balance.other_words += i64::from(is_gone(*edge)),
            }
        }
        for root in analysis.links.roots(node) {
            let root = &analysis.graph.roots[*root as usize];
            match root.kind {
                _ if root.counted > 0 => balance.counted += i64::from(root.counted),
                RootKind::Static | RootKind::ThreadLocal => balance.variable_words += 1,
                _ => balance.other_words += 1,
            }
        }
        balance
    }

    /// Returns how many strong references at most are explained neither by words in nodes nor by
    /// the library. Words of unknown strength count as weak as long as weak references are left.
    pub fn outside_at_most(&self) -> i64 {
        let weak_left = (self.weak - self.weak_words).max(0);
        let maybe_strong = (self.unknown_words - weak_left).max(0);
        (self.strong - self.counted - self.strong_words - maybe_strong).max(0)
    }

    /// Returns how many strong references no word at all explains.
    pub fn without_word(&self) -> i64 {
        let inside = self.counted + self.strong_words + self.unknown_words;
        (self.strong - inside - self.variable_words - self.other_words).max(0)
    }

    /// Returns whether words in nodes suffice for all references, and the library has none of them.
    pub fn is_covered(&self) -> bool {
        self.counted == 0
            && self.strong_words + self.unknown_words >= self.strong
            && self.strong_words + self.weak_words + self.unknown_words >= self.strong + self.weak
    }
}

/// Returns whether the first two words of an allocation may be counts of an `Arc` or `Rc` with more
/// references than `words`, the number of words in nodes that refer to the allocation.
fn counts_more_than(graph: &Graph, node: NodeId, words: usize) -> Option<bool> {
    const PLAUSIBLE: std::ops::RangeInclusive<u64> = 1..=1 << 24;
    let [strong, weak] = *graph.first_words.get(node as usize - graph.objects)?;
    let counts = PLAUSIBLE.contains(&strong) && PLAUSIBLE.contains(&weak);
    // All strong references together count as one weak reference.
    Some(counts && strong + weak - 1 > words as u64)
}

/// Returns the level at which the root holds its node; `None` if it does not hold it. An uncertain
/// root holds an object only if `outside`: the counts leave a reference for words outside of nodes.
fn level_of(analysis: &Analysis<'_>, root: &Root, outside: bool) -> Option<Level> {
    let graph = analysis.graph;
    let level = Level::of(root.kind);
    // A list of the library may have an object without counting a reference: then the object is
    // dead, and nothing else holds it.
    if root.counted > 0 || level <= Level::ThreadLocal || root.kind.is_list() {
        return Some(level);
    }
    let uncertain = matches!(level, Level::Anonymous | Level::Stack);
    match graph.nodes[root.to as usize].kind {
        NodeKind::Object(_) => outside.then_some(level),
        NodeKind::Plain if !uncertain => Some(level),
        NodeKind::Plain => {
            let words = analysis.links.incoming(root.to).len();
            let holds = words == 0 || counts_more_than(graph, root.to, words) == Some(true);
            Some(if holds { level } else { Level::Suspect })
        }
    }
}

/// Finds the best root that holds each node: searches from all roots, level by level.
fn reach(analysis: &Analysis<'_>) -> Reach {
    let graph = analysis.graph;
    // The level of stacks exists even without a root: dying objects are added to it below.
    let mut starts = BTreeMap::from([(Level::Stack, Vec::new())]);
    let mut last = (NodeId::MAX, false);
    for (at, root) in graph.roots.iter().enumerate() {
        if root.counted == 0 && last.0 != root.to {
            let object = analysis.object(root.to);
            let outside =
                object.is_some_and(|o| Balance::new(analysis, root.to, o).outside_at_most() > 0);
            last = (root.to, outside);
        }
        if let Some(level) = level_of(analysis, root, last.1) {
            starts.entry(level).or_default().push(at as u32);
        }
    }
    let mut reach = Reach::nothing(graph.nodes.len());
    let mut queue = Vec::new();
    for (level, roots) in starts {
        if level == Level::Stack {
            // A dying object is held by its destroyer's stack, unless a list of the library has it.
            let is_dying = |node: &NodeId| {
                let roots = analysis.links.roots(*node).iter();
                let mut roots = roots.map(|root| graph.roots[*root as usize].kind);
                analysis.object(*node).is_some_and(Object::is_dying)
                    && !roots.any(RootKind::is_list)
            };
            queue.extend((0..graph.objects as NodeId).filter(is_dying));
            queue.retain(|node| reach.add(*node, level, None));
        }
        for root in roots {
            let to = graph.roots[root as usize].to;
            if reach.add(to, level, Some(Step::Root(root))) {
                queue.push(to);
            }
        }
        let mut at = 0;
        while let Some(node) = queue.get(at).copied() {
            at += 1;
            for edge in analysis.holds(node) {
                let to = graph.edges[edge].to;
                if reach.add(to, level, Some(Step::Edge(edge as u32))) {
                    queue.push(to);
                }
            }
        }
        queue.clear();
    }
    reach
}
