//! How many references of an object no word explains.

use super::Analysis;
use super::strength::Strength;
use crate::graph::{NodeId, Object, RootKind};
use serde::{Deserialize, Serialize};

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
    /// Words elsewhere outside of nodes, and in objects that are destroyed, which may be stale.
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
        // Its destructor may run.
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

    /// Returns how many strong references nothing in nodes or in the library explains, at most:
    /// words of which nothing is known are weak as far as there are weak references.
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

    /// Returns whether the words in nodes are as many as the references of both kinds.
    pub fn is_covered(&self) -> bool {
        self.counted == 0
            && self.strong_words + self.unknown_words >= self.strong
            && self.strong_words + self.weak_words + self.unknown_words >= self.strong + self.weak
    }
}
