//! Records, for each node, the best kind of root that holds the node.

use crate::graph::{NodeId, RootKind};

/// The best kind of root by which a node is held; better ones come first.
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
    /// Only words on stacks or in memory of no known allocator, which no count confirms.
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
    /// Returns the level of what a root of this kind holds.
    pub(super) fn of(kind: RootKind) -> Self {
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

/// The kinds of roots that hold each node.
#[derive(Default)]
pub struct Reach {
    levels: Vec<Level>,
    steps: Vec<u32>,
}

impl Reach {
    /// Returns the result of a search that has not begun: nothing holds any node.
    pub(super) fn nothing(nodes: usize) -> Self {
        Self {
            levels: vec![Level::Nothing; nodes],
            steps: vec![NO_STEP; nodes],
        }
    }

    /// Notes what holds a node, unless the search has reached it before; returns whether the node
    /// is new.
    pub(super) fn add(&mut self, node: NodeId, level: Level, step: Option<Step>) -> bool {
        let is_new = self.levels[node as usize] == Level::Nothing;
        if is_new {
            self.levels[node as usize] = level;
            self.steps[node as usize] = match step {
                None => NO_STEP,
                Some(Step::Root(root)) => root | IS_ROOT,
                Some(Step::Edge(edge)) => edge,
            };
        }
        is_new
    }

    /// Returns what holds the node.
    pub fn level(&self, node: NodeId) -> Level {
        self.levels[node as usize]
    }

    /// Returns whether something holds the node other than words that no count confirms, forgotten
    /// pools and kept values.
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
