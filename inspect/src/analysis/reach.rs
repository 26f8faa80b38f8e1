//! What holds each node: a search from each kind of root, the most telling ones first.

use super::Analysis;
use super::balance::Balance;
use crate::graph::{Graph, NodeId, NodeKind, Object, Root, RootKind};

/// The best kind of root by which a node is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// A static variable.
    Static,
    /// A thread-local variable.
    ThreadLocal,
    /// Memory of no known allocator.
    Anonymous,
    /// A stack or a register.
    Stack,
    /// Only open pools.
    Pool,
    /// Only messages that wait.
    Inbox,
    /// Only backlogs of budgeted drains.
    Backlog,
    /// Only what waits for any thread's next drain.
    Orphan,
    /// Only words on stacks, which no count confirms.
    Suspect,
    /// Only values that are kept, as their home has ended.
    Kept,
    /// Only pools that were forgotten.
    ForgottenPool,
    /// Nothing.
    #[default]
    Nothing,
}

impl Level {
    /// All levels at which a search begins, in their order.
    const ALL: [Self; 11] = [
        Self::Static,
        Self::ThreadLocal,
        Self::Anonymous,
        Self::Stack,
        Self::Pool,
        Self::Inbox,
        Self::Backlog,
        Self::Orphan,
        Self::Suspect,
        Self::Kept,
        Self::ForgottenPool,
    ];

    fn of(kind: RootKind) -> Self {
        match kind {
            RootKind::Pool => Self::Pool,
            RootKind::ForgottenPool => Self::ForgottenPool,
            RootKind::Inbox => Self::Inbox,
            RootKind::Backlog => Self::Backlog,
            RootKind::Orphan => Self::Orphan,
            RootKind::Kept => Self::Kept,
            RootKind::Static => Self::Static,
            RootKind::ThreadLocal => Self::ThreadLocal,
            RootKind::Anonymous => Self::Anonymous,
            RootKind::Register | RootKind::Stack => Self::Stack,
        }
    }
}

/// How a search came to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// By a root: its index.
    Root(u32),
    /// By an edge: its index.
    Edge(u32),
}

const NO_STEP: u32 = u32::MAX;
const IS_ROOT: u32 = 1 << 31;

/// What holds each node.
#[derive(Default)]
pub struct Reach {
    levels: Vec<Level>,
    steps: Vec<u32>,
}

impl Reach {
    /// Returns what holds the node.
    pub fn level(&self, node: NodeId) -> Level {
        self.levels[node as usize]
    }

    /// Returns whether the node is held by more than words that no count confirms, and not only by
    /// what is forgotten or kept.
    pub fn is_held(&self, node: NodeId) -> bool {
        self.level(node) < Level::Suspect
    }

    /// Returns the last step of a shortest path to the node from the best kind of root.
    pub fn step(&self, node: NodeId) -> Option<Step> {
        match self.steps[node as usize] {
            NO_STEP => None,
            step if step & IS_ROOT != 0 => Some(Step::Root(step & !IS_ROOT)),
            step => Some(Step::Edge(step)),
        }
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
    // What the library has without a reference is destroyed, or about to be: nothing else has it.
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
pub fn reach(analysis: &Analysis<'_>) -> Reach {
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
    let mut reach = Reach {
        levels: vec![Level::Nothing; graph.nodes.len()],
        steps: vec![NO_STEP; graph.nodes.len()],
    };
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
            queue.retain(|node| reach.levels[*node as usize] == Level::Nothing);
            for node in &queue {
                reach.levels[*node as usize] = level;
            }
        }
        for root in &starts[level as usize] {
            let to = graph.roots[*root as usize].to as usize;
            if reach.levels[to] == Level::Nothing {
                reach.levels[to] = level;
                reach.steps[to] = root | IS_ROOT;
                queue.push(to as NodeId);
            }
        }
        let mut at = 0;
        while let Some(node) = queue.get(at).copied() {
            at += 1;
            for edge in analysis.holds(node) {
                let to = graph.edges[edge].to as usize;
                if reach.levels[to] == Level::Nothing {
                    reach.levels[to] = level;
                    reach.steps[to] = edge as u32;
                    queue.push(to as NodeId);
                }
            }
        }
        queue.clear();
    }
    reach
}
