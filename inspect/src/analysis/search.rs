//! Finds what holds each node: a search from each kind of root, the most telling ones first.

use super::Analysis;
use super::balance::Balance;
use super::links::Links;
use super::reach::{Level, Reach, Step};
use super::strength;
use crate::graph::{Graph, NodeId, NodeKind, Object, Root, RootKind};

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
}

/// Returns whether the first two words of an allocation may be the counts of an `Arc` or `Rc`, with
/// more references than the words in nodes.
fn counts_more_than(graph: &Graph, node: NodeId, words: usize) -> Option<bool> {
    const PLAUSIBLE: std::ops::RangeInclusive<u64> = 1..=1 << 24;
    let [strong, weak] = *graph.first_words.get(node as usize - graph.objects)?;
    let counts = PLAUSIBLE.contains(&strong) && PLAUSIBLE.contains(&weak);
    // One weak reference stands for all the strong ones.
    Some(counts && strong + weak - 1 > words as u64)
}

/// Returns the level at which the root holds its node; `None` if a count says that it does not.
fn level_of(analysis: &Analysis<'_>, root: &Root, outside: bool) -> Option<Level> {
    let graph = analysis.graph;
    let level = Level::of(root.kind);
    // An object that the library has without a reference is destroyed, or about to be: nothing else
    // has it.
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

/// Searches from all roots.
fn reach(analysis: &Analysis<'_>) -> Reach {
    let graph = analysis.graph;
    let mut starts: [Vec<u32>; Level::ALL.len()] = Default::default();
    let mut last = (NodeId::MAX, false);
    for (at, root) in graph.roots.iter().enumerate() {
        if root.counted == 0 && last.0 != root.to {
            let object = analysis.object(root.to);
            let outside =
                object.is_some_and(|o| Balance::new(analysis, root.to, o).outside_at_most() > 0);
            last = (root.to, outside);
        }
        if let Some(level) = level_of(analysis, root, last.1) {
            starts[level as usize].push(at as u32);
        }
    }
    let mut reach = Reach::nothing(graph.nodes.len());
    let mut queue = Vec::new();
    for level in Level::ALL {
        if level == Level::Stack {
            // The thread that destroys an object has it on its stack, unless the library has it.
            let is_dying = |node: &NodeId| {
                let roots = analysis.links.roots(*node).iter();
                let mut roots = roots.map(|root| graph.roots[*root as usize].kind);
                analysis.object(*node).is_some_and(Object::is_dying)
                    && !roots.any(RootKind::is_list)
            };
            queue.extend((0..graph.objects as NodeId).filter(is_dying));
            queue.retain(|node| reach.add(*node, level, None));
        }
        for root in &starts[level as usize] {
            let to = graph.roots[*root as usize].to;
            if reach.add(to, level, Some(Step::Root(*root))) {
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
