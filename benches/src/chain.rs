//! The destruction of a chain of nodes, compared with the same nodes without the chain.

use crate::workload::{Role, Workload, timed_half};
use releasepool::Ref;
use std::sync::Arc;

/// Nodes of a long chain.
pub const CHAIN: u64 = 1_000_000;

struct Node<L> {
    _next: Option<L>,
    _rest: [u64; 5],
}

impl<L> Node<L> {
    fn new(next: Option<L>, seed: u64) -> Self {
        Self {
            _next: next,
            _rest: [seed; 5],
        }
    }
}

struct Link {
    _to: Ref<Node<Link>>,
}

impl Link {
    fn to(next: Option<Self>, seed: u64) -> Self {
        let _to = Ref::new(Node::new(next, seed));
        Self { _to }
    }
}

/// Returns the destruction of a chain of `Ref`s. Here, as in all workloads of this module, nodes
/// are destroyed from the newest to the oldest, and only their destruction is timed.
pub fn chain(nodes: u64) -> Workload {
    Workload::new("Ref, each node in the next", nodes, move || {
        let build = move || (0..nodes).fold(None, |first, seed| Some(Link::to(first, seed)));
        timed_half(build, drop)
    })
}

fn unlinked<R: 'static>(
    name: &'static str,
    nodes: u64,
    new: impl Fn(u64) -> R + Copy + Send + Sync + 'static,
) -> Workload {
    Workload::new(name, nodes, move || {
        let build = move || {
            let mut all: Vec<_> = (0..nodes).map(new).collect();
            all.reverse();
            all
        };
        timed_half(build, drop)
    })
}

/// Returns the destruction of as many `Ref`s in a vector.
pub fn ref_nodes(nodes: u64) -> Workload {
    unlinked("Ref nodes in a Vec", nodes, |seed| Link::to(None, seed)).role(Role::Ours)
}

/// Returns the destruction of as many `Arc`s in a vector.
pub fn arc_nodes(nodes: u64) -> Workload {
    struct Shared {
        _to: Arc<Node<Shared>>,
    }
    unlinked("Arc nodes in a Vec", nodes, |seed| Shared {
        _to: Arc::new(Node::new(None, seed)),
    })
}
