//! The kinds of leaks and of hints, and groups of leaks that are alike.

use super::path::Hop;
use crate::graph::{NodeId, RootKind};
use serde::{Deserialize, Serialize};

/// Why the objects of a group leak, or may leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The objects hold each other, all references to them are inside the cycle, and no word
    /// outside refers to them.
    #[serde(rename = "cycle")]
    ProvenCycle,
    /// The objects hold each other, and all references to them are inside the cycle; words on
    /// stacks refer to them, but are not counted.
    CountedCycle,
    /// The objects hold each other, and their counts are higher than the number of words found that
    /// refer to them.
    CycleWithoutHolder,
    /// Plain allocations hold each other, such as a cycle of `Rc`s, and hold objects.
    AllocationCycle,
    /// Nothing refers to the objects: a reference was forgotten, or foreign code has it.
    NoHolder,
    /// The objects are held, but their counts are higher than the number of words that were found.
    MoreReferences,
    /// A plain allocation holds the objects, and nothing refers to that allocation.
    Allocation,
    /// Only a pool whose guard or handle was forgotten holds the objects.
    ForgottenPool,
    /// The thread that must destroy the objects has ended.
    Kept,
    /// Only an open pool with many entries holds the objects.
    Pool,
    /// The objects wait for a thread that does not drain its pools.
    Inbox,
    /// The objects wait for further budgeted drains.
    Backlog,
    /// The objects wait for any thread to drain its pools.
    Orphan,
    /// A single container holds very many of the objects.
    Container,
}

impl Verdict {
    /// Returns whether this is only a hint: a large pool, for example, may be about to be drained.
    pub fn is_hint(self) -> bool {
        matches!(
            self,
            Self::Pool | Self::Inbox | Self::Backlog | Self::Orphan | Self::Container
        )
    }

    /// Returns a sentence for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::ProvenCycle => {
                "a cycle: the objects hold each other, and nothing else refers to them"
            }
            Self::CountedCycle => {
                "a cycle: every counted reference is inside it; words on stacks refer to it, \
                 but they are not counted"
            }
            Self::CycleWithoutHolder => {
                "a cycle that also has references without a holder: forgotten, or foreign code's"
            }
            Self::AllocationCycle => {
                "a cycle of plain allocations, such as Rcs, that holds objects"
            }
            Self::NoHolder => {
                "references without a holder: forgotten (mem::forget, into_raw), or foreign code's"
            }
            Self::MoreReferences => {
                "more references than holders: at least one was forgotten, or is foreign code's"
            }
            Self::Allocation => "held by an allocation to which nothing refers",
            Self::ForgottenPool => {
                "held only by a pool that was forgotten, so that nothing drains it"
            }
            Self::Kept => "kept for ever: the home thread has ended",
            Self::Pool => "held only by an open pool, which has many entries: is it ever drained?",
            Self::Inbox => "sent to a thread, where many messages wait: does it drain its pools?",
            Self::Backlog => {
                "left by budgeted drains, in a large backlog: are the budgets too small?"
            }
            Self::Orphan => {
                "waiting for any thread's next drain, with many others: does any drain?"
            }
            Self::Container => "a container that holds very many objects of one type",
        }
    }

    pub(super) fn of(kind: RootKind) -> Option<Self> {
        match kind {
            RootKind::Pool => Some(Self::Pool),
            RootKind::ForgottenPool => Some(Self::ForgottenPool),
            RootKind::Inbox => Some(Self::Inbox),
            RootKind::Backlog => Some(Self::Backlog),
            RootKind::Orphan => Some(Self::Orphan),
            RootKind::Kept => Some(Self::Kept),
            _ => None,
        }
    }
}

/// Leaks of one kind, with the same types along their paths.
#[derive(Clone, Debug)]
pub struct Group {
    /// Why the objects of the group leak.
    pub verdict: Verdict,
    /// The pool, inbox or the like that holds the objects; empty if there is none.
    pub label: String,
    /// The path or cycle of the first leak.
    pub path: Vec<Hop>,
    /// How many leaks, objects and bytes there are.
    pub figures: Figures,
    /// The nodes that stand for the first leaks.
    pub samples: Vec<NodeId>,
}

/// The figures of a group of leaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// How many leaks there are.
    pub leaks: u64,
    /// Objects that are part of the leaks themselves.
    pub objects: u64,
    /// Bytes of these objects, and of plain allocations that are part of the leaks.
    pub bytes: u64,
    /// Objects that would be destroyed if the leaks were fixed.
    pub retained_objects: u64,
    /// Bytes that would be freed.
    pub retained_bytes: u64,
    /// References without a holder.
    pub missing: u64,
}
