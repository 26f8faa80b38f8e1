//! What is done, once and for all: each workload is an entry in the table and in
//! criterion's groups.

use dashmap::DashMap;
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, Weak, autorelease, autoreleasepool};
pub use releasepool_benches::objects::*;
use releasepool_benches::workload::{Workload, timed, timed_half};
use std::collections::HashMap;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::{self, ThreadId};

/// Turns of a loop around something that takes a few nanoseconds.
pub const LOOP: u64 = 1_000;

// --- create, autorelease, drain ------------------------------------------------

pub fn by_create<P: Payload>(batch: u64) -> Workload {
    Workload::new("pool.create", batch, move || {
        let mut pool = AutoreleasePool::new();
        timed(move || {
            for seed in 0..batch {
                black_box(pool.create(P::new(seed)));
            }
            pool.drain();
        })
    })
}

pub fn by_autorelease<P: Payload>(batch: u64) -> Workload {
    Workload::new("pool.autorelease(Ref::new)", batch, move || {
        let mut pool = AutoreleasePool::new();
        timed(move || {
            for seed in 0..batch {
                black_box(pool.autorelease(black_box(Ref::new(P::new(seed)))));
            }
            pool.drain();
        })
    })
}

pub fn implicitly<P: Payload>(batch: u64) -> Workload {
    Workload::new("autorelease(Ref::new), pool opened", batch, move || {
        timed(move || {
            let pool = AutoreleasePool::new();
            for seed in 0..batch {
                autorelease(black_box(Ref::new(P::new(seed))));
            }
            drop(pool);
        })
    })
}

pub fn rc_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("Rc in a Vec", batch, |seed| Rc::new(P::new(seed)))
}

pub fn triomphe_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("triomphe::Arc in a Vec", batch, |seed| {
        triomphe::Arc::new(P::new(seed))
    })
}

pub fn ref_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("Ref in a Vec", batch, |seed| Ref::new(P::new(seed)))
}

/// The pool alone: references to one object, so that no memory is allocated and
/// nothing is destroyed. Other objects lie between, as they do in real pools.
pub fn clones_in_a_pool(batch: u64) -> Workload {
    Workload::new("pool.autorelease(r.clone())", batch, move || {
        let objects = [Ref::new(Plain::new(1)), Ref::new(Plain::new(2))];
        let mut pool = AutoreleasePool::new();
        timed(move || {
            for _ in 0..batch / 2 {
                for object in &objects {
                    black_box(pool.autorelease(object.clone()));
                }
            }
            pool.drain();
        })
    })
}

pub fn clones_in_a_vec(batch: u64) -> Workload {
    Workload::new("Arc clones in a Vec", batch, move || {
        let objects = [Arc::new(Plain::new(1)), Arc::new(Plain::new(2))];
        let mut vec = Vec::with_capacity(batch as usize);
        timed(move || {
            for _ in 0..batch / 2 {
                for object in &objects {
                    vec.push(black_box(object.clone()));
                }
            }
            black_box(&mut vec).clear();
        })
    })
}

pub type Pending = Vec<Arc<Plain>>;

/// The patch that is known for making pools safe: those of all threads in a map
/// behind a mutex.
pub fn behind_a_mutex(batch: u64) -> Workload {
    static POOLS: LazyLock<Mutex<HashMap<ThreadId, Pending>>> = LazyLock::new(Mutex::default);
    fn with<R>(me: ThreadId, f: impl FnOnce(&mut Pending) -> R) -> R {
        f(POOLS.lock().expect("no panic").entry(me).or_default())
    }
    Workload::new("Arc, pools behind a mutex", batch, move || {
        let me = thread::current().id();
        timed(move || {
            for seed in 0..batch {
                let object = Arc::new(Plain::new(seed));
                with(me, |pending| pending.push(object));
            }
            let mut drained = with(me, std::mem::take);
            drained.clear();
            with(me, |pending| *pending = drained);
        })
    })
}

/// The same by a sharded map.
pub fn by_dashmap(batch: u64) -> Workload {
    static POOLS: LazyLock<DashMap<ThreadId, Pending>> = LazyLock::new(DashMap::new);
    Workload::new("Arc, DashMap entry per operation", batch, move || {
        let me = thread::current().id();
        timed(move || {
            for seed in 0..batch {
                let object = Arc::new(Plain::new(seed));
                POOLS.entry(me).or_default().push(object);
            }
            let mut drained = std::mem::take(&mut *POOLS.entry(me).or_default());
            drained.clear();
            *POOLS.entry(me).or_default() = drained;
        })
    })
}

// --- one operation in a loop ---------------------------------------------------

pub fn looped<S: 'static>(
    name: &'static str,
    make: impl Fn() -> S + Send + Sync + 'static,
    operation: impl Fn(&S) + Copy + Send + Sync + 'static,
) -> Workload {
    Workload::new(name, LOOP, move || {
        let state = make();
        timed(move || {
            for _ in 0..LOOP {
                operation(&state);
            }
        })
    })
}

/// All inside one outer pool.
pub fn empty_pools() -> [Workload; 3] {
    [
        looped("AutoreleasePool::new, drop", AutoreleasePool::new, |_| {
            drop(black_box(AutoreleasePool::new()));
        }),
        looped("autoreleasepool(|_| {})", AutoreleasePool::new, |_| {
            autoreleasepool(|pool| {
                black_box(pool);
            });
        }),
        looped("push, pop by token", AutoreleasePool::new, |_| {
            let manager = PoolManager::global();
            let released = manager.pop(black_box(manager.push()));
            black_box(released.is_ok());
        }),
    ]
}

pub fn plain() -> Plain {
    Plain::new(1)
}

pub fn clone_and_drop<R: Clone + 'static>(
    name: &'static str,
    make: impl Fn() -> R + Send + Sync + 'static,
) -> Workload {
    looped(name, make, |r| drop(black_box(r.clone())))
}

pub fn clones() -> [Workload; 4] {
    [
        clone_and_drop("Ref", || Ref::new(plain())),
        clone_and_drop("Arc", || Arc::new(plain())),
        clone_and_drop("triomphe::Arc", || triomphe::Arc::new(plain())),
        clone_and_drop("Rc", || Rc::new(plain())),
    ]
}

pub fn new_and_drop<P: Payload>() -> [Workload; 4] {
    [
        looped("Ref", || (), |()| drop(black_box(Ref::new(P::new(1))))),
        looped("Arc", || (), |()| drop(black_box(Arc::new(P::new(1))))),
        looped(
            "triomphe::Arc",
            || (),
            |()| {
                drop(black_box(triomphe::Arc::new(P::new(1))));
            },
        ),
        looped("Rc", || (), |()| drop(black_box(Rc::new(P::new(1))))),
    ]
}

pub fn downgrades() -> [Workload; 2] {
    [
        looped(
            "Ref",
            || Ref::new(plain()),
            |r| {
                drop(black_box(Ref::downgrade(r)));
            },
        ),
        looped(
            "Arc",
            || Arc::new(plain()),
            |r| {
                drop(black_box(Arc::downgrade(r)));
            },
        ),
    ]
}

pub fn upgrades() -> [Workload; 2] {
    let ours = || {
        let r = Ref::new(plain());
        (Ref::downgrade(&r), r)
    };
    let theirs = || {
        let r = Arc::new(plain());
        (Arc::downgrade(&r), r)
    };
    [
        looped("Ref", ours, |(w, _): &(Weak<Plain>, _)| {
            drop(black_box(w.upgrade()));
        }),
        looped("Arc", theirs, |(w, _)| drop(black_box(w.upgrade()))),
    ]
}

/// A reference out of a pool, kept for a moment.
pub fn retain() -> Workload {
    Workload::new("PoolRef::retain, drop", LOOP, || {
        timed(|| {
            let pool = AutoreleasePool::new();
            let lent = pool.create(plain());
            for _ in 0..LOOP {
                drop(black_box(PoolRef::retain(lent)));
            }
        })
    })
}

// --- a chain -------------------------------------------------------------------

pub const CHAIN: u64 = 1_000_000;

pub struct Node<L> {
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

pub struct Link {
    _to: Ref<Node<Link>>,
}

impl Link {
    fn to(next: Option<Self>, seed: u64) -> Self {
        let _to = Ref::new(Node::new(next, seed));
        Self { _to }
    }
}

/// The nodes die in the order from the newest to the oldest in every one of
/// these; only their releases are timed.
pub fn chain(nodes: u64) -> Workload {
    Workload::new("Ref, each node in the next", nodes, move || {
        let build = move || {
            let mut first = None;
            for seed in 0..nodes {
                first = Some(Link::to(first, seed));
            }
            first
        };
        timed_half(build, drop)
    })
}

pub fn unlinked<R: 'static>(
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

pub fn ref_nodes(nodes: u64) -> Workload {
    unlinked("Ref nodes in a Vec", nodes, |seed| Link::to(None, seed))
}

pub fn arc_nodes(nodes: u64) -> Workload {
    struct Shared {
        _to: Arc<Node<Shared>>,
    }
    unlinked("Arc nodes in a Vec", nodes, |seed| Shared {
        _to: Arc::new(Node::new(None, seed)),
    })
}
