//! One leak, before leaks that are alike are grouped.

use crate::analysis::signature::Hop;
use crate::analysis::verdict::Verdict;
use crate::graph::NodeId;

/// One leak.
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    /// An index into [`Graph::labels`](crate::graph::Graph::labels).
    pub(super) label: Option<u32>,
    pub(super) path: Vec<Hop>,
    /// The node that stands for all of the leak.
    pub(super) leader: NodeId,
    /// Objects and bytes of the leak itself, without what it retains.
    pub(super) objects: u64,
    pub(super) bytes: u64,
    /// References without a holder.
    pub(super) missing: u64,
}

impl Finding {
    /// Returns whether the leak is what waits for a drain.
    pub(super) fn is_waiting(&self) -> bool {
        use Verdict as V;
        matches!(self.verdict, V::Pool | V::Inbox | V::Backlog | V::Orphan)
    }
}
