//! Single operations in a loop: strong and weak references, and empty pools; and the destruction of a chain
//! of nodes, compared with the same nodes without the chain.

use crate::objects::{Payload, Plain};
use crate::workload::{Role, Workload, repeated, timed_half};
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, autoreleasepool};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

/// Iterations of a loop around an operation that takes a few nanoseconds.
const LOOP: u64 = 1_000;

/// Returns a workload that repeats an operation on a value that `make` creates.
fn looped<S: 'static>(
    name: &'static str,
    make: impl Fn() -> S + Send + Sync + 'static,
    operation: impl Fn(&S) + Copy + Send + Sync + 'static,
) -> Workload {
    repeated(name, LOOP, make, move |state, _| operation(state))
}

/// Returns the ways to open and close an empty pool, inside an outer pool.
pub fn empty_pools() -> [Workload; 3] {
    let outer = AutoreleasePool::new;
    [
        looped("AutoreleasePool::new, drop", outer, |_| {
            drop(black_box(AutoreleasePool::new()));
        }),
        looped("autoreleasepool(|_| {})", outer, |_| {
            autoreleasepool(|pool| {
                black_box(pool);
            });
        }),
        looped("push, pop by token", outer, |_| {
            let manager = PoolManager::global();
            let released = manager.pop(black_box(manager.push()));
            black_box(released.is_ok());
        }),
    ]
}

/// Returns a pool for each object, inside an outer pool, and the alternative: a mark in a vector of
/// `Arc`s.
pub fn one_object_each<P: Payload>() -> [Workload; 2] {
    let create = |_: &AutoreleasePool| {
        autoreleasepool(|pool| {
            black_box(pool.create(P::new(1)));
        });
    };
    let marks = Workload::timed("a mark in a Vec of Arcs", LOOP, Vec::new, |vec| {
        for _ in 0..LOOP {
            let mark = black_box(&*vec).len();
            vec.push(black_box(Arc::new(P::new(1))));
            black_box(&mut *vec).truncate(mark);
        }
    });
    [
        looped("autoreleasepool, pool.create", AutoreleasePool::new, create),
        marks,
    ]
}

fn clone_and_drop<R: Clone + 'static>(name: &'static str, new: fn(Plain) -> R) -> Workload {
    let make = move || new(Plain::new(1));
    looped(name, make, |r| drop(black_box(r.clone())))
}

/// Returns the clone and drop of a reference: first releasepool's, as in all functions here, then
/// the alternatives.
pub fn clones() -> [Workload; 4] {
    [
        clone_and_drop("Ref", Ref::new),
        clone_and_drop("Arc", Arc::new),
        clone_and_drop("triomphe::Arc", triomphe::Arc::new),
        clone_and_drop("Rc", Rc::new).role(Role::Reference),
    ]
}

/// Returns the creation and destruction of one object at a time.
pub fn new_and_drop<P: Payload>() -> [Workload; 4] {
    fn one<R>(name: &'static str, new: impl Fn() -> R + Copy + Send + Sync + 'static) -> Workload {
        looped(name, || (), move |()| drop(black_box(new())))
    }
    [
        one("Ref", || Ref::new(P::new(1))),
        one("Arc", || Arc::new(P::new(1))),
        one("triomphe::Arc", || triomphe::Arc::new(P::new(1))),
        one("Rc", || Rc::new(P::new(1))).role(Role::Reference),
    ]
}

fn new_ref() -> Ref<Plain> {
    Ref::new(Plain::new(1))
}

fn new_arc() -> Arc<Plain> {
    Arc::new(Plain::new(1))
}

/// Returns the creation and drop of a weak reference.
pub fn downgrades() -> [Workload; 2] {
    [
        looped("Ref", new_ref, |r| drop(black_box(Ref::downgrade(r)))),
        looped("Arc", new_arc, |r| drop(black_box(Arc::downgrade(r)))),
    ]
}

/// Returns the upgrade of a weak reference and the drop of the strong one.
pub fn upgrades() -> [Workload; 2] {
    let ours = || {
        let r = new_ref();
        (Ref::downgrade(&r), r)
    };
    let arc = || {
        let r = new_arc();
        (Arc::downgrade(&r), r)
    };
    [
        looped("Ref", ours, |(weak, _)| drop(black_box(weak.upgrade()))),
        looped("Arc", arc, |(weak, _)| drop(black_box(weak.upgrade()))),
    ]
}

/// Returns the conversion of a pool's reference to a counted one, and its drop.
pub fn retain() -> Workload {
    let turn = |(): &mut ()| {
        let pool = AutoreleasePool::new();
        let lent = pool.create(Plain::new(1));
        for _ in 0..LOOP {
            drop(black_box(PoolRef::retain(lent)));
        }
    };
    Workload::timed("PoolRef::retain, drop", LOOP, || (), turn)
}

// --- chains --------------------------------------------------------------------

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
