//! Deep trees that are dropped.

use crate::pools::{BLOCKS, GLOBAL};
use crate::scenario::{Scenario, contestants};
use releasepool::Ref;
use releasepool::memory::BlockAllocator;
use releasepool_benches::objects::{Payload, Plain};
use releasepool_benches::table::{Row, Target};
use releasepool_benches::workload::{Workload, timed_half};
use std::rc::Rc;
use std::sync::Arc;
use triomphe::Arc as Triomphe;

/// Nodes from the root to the deepest one.
const DEPTH: u64 = 20_000;
/// All nodes: each of the nodes down to the deepest has a leaf, too.
const NODES: u64 = 2 * DEPTH;

/// Builds a tree. `new` creates a node from a seed, the next node and a leaf.
fn grow<L>(new: impl Fn(u64, Option<L>, Option<L>) -> L) -> Option<L> {
    let mut root = None;
    for seed in 0..DEPTH {
        let leaf = new(seed, None, None);
        root = Some(new(seed, root, Some(leaf)));
    }
    root
}

/// Returns a workload that drops trees which `make` builds.
fn trees<L: 'static>(make: impl Fn() -> Option<L> + Copy + Send + Sync + 'static) -> Workload {
    Workload::new("", NODES, move || timed_half(make, drop))
}

/// A node without a destructor.
struct RefNode<P: 'static> {
    _value: P,
    _next: Option<Ref<Self>>,
    _leaf: Option<Ref<Self>>,
}

impl<P: Payload> RefNode<P> {
    fn new(seed: u64, _next: Option<Ref<Self>>, _leaf: Option<Ref<Self>>) -> Self {
        Self {
            _value: P::new(seed),
            _next,
            _leaf,
        }
    }
}

fn in_blocks<P: Payload>() -> Workload {
    trees(|| {
        let blocks = BlockAllocator::process();
        grow(|seed, next, leaf| Ref::new_in(RefNode::<P>::new(seed, next, leaf), &blocks))
    })
}

fn refs<P: Payload>() -> Workload {
    trees(|| grow(|seed, next, leaf| Ref::new(RefNode::<P>::new(seed, next, leaf))))
}

/// Defines a node of an alternative. Its destructor, written by hand, drops the next node in a loop,
/// as recursion would overflow the stack.
macro_rules! by_hand {
    ($node:ident, $trees:ident, $pointer:ident, $taken:expr) => {
        struct $node<P: Payload> {
            _value: P,
            next: Option<$pointer<Self>>,
            _leaf: Option<$pointer<Self>>,
        }

        impl<P: Payload> Drop for $node<P> {
            fn drop(&mut self) {
                let mut next = self.next.take();
                while let Some(mut node) = next.and_then($taken) {
                    next = node.next.take();
                }
            }
        }

        fn $trees<P: Payload>() -> Workload {
            trees(|| {
                grow(|seed, next, _leaf| {
                    $pointer::new($node::<P> {
                        _value: P::new(seed),
                        next,
                        _leaf,
                    })
                })
            })
        }
    };
}

by_hand!(ArcNode, arcs, Arc, Arc::into_inner);
by_hand!(RcNode, rcs, Rc, Rc::into_inner);
by_hand!(BoxNode, boxes, Box, Some);
by_hand!(TriompheNode, triomphes, Triomphe, |node| {
    Triomphe::try_unwrap(node).ok()
});

/// Returns the rows that compare trees from the global allocator with the alternative that comes closest.
pub fn rows() -> [Row; 2] {
    let ours = refs::<Plain>().named("Ref");
    let by_hand = triomphes::<Plain>().named("triomphe::Arc, by hand");
    [1, 2].map(|threads| {
        let row = Row::new("deep trees dropped, global allocator", threads, &ours);
        row.against(Target::AtMost(1.0), threads, &by_hand)
    })
}

pub fn scenario() -> Scenario {
    const BY_HAND: &str = "a hand-written destructor drops the next node in a loop";
    Scenario {
        id: "trees",
        title: "Deep trees dropped",
        what: "Each thread builds a tree of 40,000 nodes, 20,000 deep, each with a leaf and a next \
               node, which is not timed. Then it drops the root. An operation is the destruction of \
               one node.",
        helpers: 0,
        contestants: contestants! {
            Ours BLOCKS, "no hand-written destructor" => in_blocks::<P>();
            Ours GLOBAL, "no hand-written destructor" => refs::<P>();
            Reference "Rc", BY_HAND => rcs::<P>();
            Reference "Box", BY_HAND => boxes::<P>();
            Peer "Arc", BY_HAND => arcs::<P>();
            Peer "triomphe", BY_HAND => triomphes::<P>();
        },
    }
}
