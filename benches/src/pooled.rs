//! Workloads of temporary objects that a pool owns and releases; and the alternatives.

use crate::objects::{self, Counted, Payload, Plain, arc_in_a_vec, free_list_and_array, in_a_vec};
use crate::workload::{Role, Workload, timed};
use dashmap::DashMap;
use releasepool::memory::BlockAllocator;
use releasepool::{AutoreleasePool, Ref, autorelease};
use std::collections::HashMap;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::{self, ThreadId};

/// Returns a pool that allocates its objects in blocks.
pub fn by_create<P: Payload>(batch: u64) -> Workload {
    let workload = Workload::timed("pool.create", batch, AutoreleasePool::new, move |pool| {
        for seed in 0..batch {
            black_box(pool.create(P::new(seed)));
        }
        pool.drain();
    });
    workload.role(Role::Ours)
}

/// Returns a workload that opens and closes a new pool for each object.
pub fn by_new_pools<P: Payload>() -> Workload {
    let name = "pool.create, a new pool each";
    let make = || ();
    Workload::timed(name, 1, make, move |()| {
        black_box(AutoreleasePool::new().create(P::new(1)));
    })
}

/// A value of another type and size than [`Plain`], without a destructor.
struct Other([u64; 14]);

/// Returns a pool of objects in blocks, which are of two types in turn and have no destructor.
pub fn by_create_of_two_types(batch: u64) -> Workload {
    let name = "pool.create, of two types in turn";
    Workload::timed(name, batch, AutoreleasePool::new, move |pool| {
        for seed in 0..batch / 2 {
            black_box(pool.create(Plain::new(seed)));
            black_box(pool.create(Other([seed; 14])).0[0]);
        }
        pool.drain();
    })
}

/// Returns the alternative for one thread: a vector of both types.
pub fn arcs_of_two_types(batch: u64) -> Workload {
    enum Either {
        Plain { _arc: Arc<Plain> },
        Other { _arc: Arc<Other> },
    }
    let name = "Arc in a Vec of enums";
    let make = move || Vec::with_capacity(batch as usize);
    Workload::timed(name, batch, make, move |vec| {
        for seed in 0..batch / 2 {
            let _arc = black_box(Arc::new(Plain::new(seed)));
            vec.push(Either::Plain { _arc });
            let _arc = black_box(Arc::new(Other([seed; 14])));
            vec.push(Either::Other { _arc });
        }
        black_box(vec).clear();
    })
}

/// Returns a pool of objects from the global allocator.
pub fn by_autorelease<P: Payload>(batch: u64) -> Workload {
    let name = "pool.autorelease(Ref::new)";
    let workload = Workload::timed(name, batch, AutoreleasePool::new, move |pool| {
        for seed in 0..batch {
            black_box(pool.autorelease(black_box(Ref::new(P::new(seed)))));
        }
        pool.drain();
    });
    workload.role(Role::Ours)
}

/// Returns a pool of objects from the global allocator; the function `autorelease` finds the pool.
pub fn implicitly<P: Payload>(batch: u64) -> Workload {
    let turn = move |(): &mut ()| {
        let pool = AutoreleasePool::new();
        for seed in 0..batch {
            autorelease(black_box(Ref::new(P::new(seed))));
        }
        drop(pool);
    };
    let name = "autorelease(Ref::new), pool opened";
    Workload::timed(name, batch, || (), turn)
}

/// Returns a vector of `Rc`s, which are not counted atomically.
pub fn rc_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("Rc in a Vec", batch, |seed| Rc::new(P::new(seed))).role(Role::Reference)
}

/// Returns a vector of triomphe's `Arc`s, which have no weak references.
pub fn triomphe_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("triomphe::Arc in a Vec", batch, |seed| {
        triomphe::Arc::new(P::new(seed))
    })
}

/// Returns a vector of references to objects in blocks, without a pool.
pub fn in_blocks<P: Payload>(batch: u64) -> Workload {
    static BLOCKS: LazyLock<BlockAllocator> = LazyLock::new(BlockAllocator::process);
    in_a_vec("Ref::new_in in a Vec", batch, |seed| {
        Ref::new_in(P::new(seed), &BLOCKS)
    })
    .role(Role::Ours)
}

/// Returns a vector of releasepool's references, without a pool.
pub fn ref_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("Ref in a Vec", batch, |seed| Ref::new(P::new(seed)))
}

/// Returns a pool of references to two objects, which allocates and destroys nothing, so that it
/// shows the cost of the pool alone. The objects alternate, as consecutive entries of a pool
/// usually refer to different objects.
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

/// Returns the alternative to [`clones_in_a_pool`]: a vector of `Arc`s.
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

type Pending = Vec<Arc<Plain>>;

/// Returns the well-known way to make Cocos2d-x's pools thread-safe: a map of each thread's pool,
/// behind a mutex.
pub fn behind_a_mutex(batch: u64) -> Workload {
    static POOLS: LazyLock<Mutex<HashMap<ThreadId, Pending>>> = LazyLock::new(Mutex::default);
    fn with<R>(me: ThreadId, f: impl FnOnce(&mut Pending) -> R) -> R {
        f(POOLS
            .lock()
            .expect("no thread panicked")
            .entry(me)
            .or_default())
    }
    let me = || thread::current().id();
    Workload::timed("Arc, pools behind a mutex", batch, me, move |me| {
        for seed in 0..batch {
            let object = Arc::new(Plain::new(seed));
            with(*me, |pending| pending.push(object));
        }
        let mut drained = with(*me, std::mem::take);
        drained.clear();
        with(*me, |pending| *pending = drained);
    })
}

/// Returns a sharded map of each thread's pool.
pub fn by_dashmap(batch: u64) -> Workload {
    static POOLS: LazyLock<DashMap<ThreadId, Pending>> = LazyLock::new(DashMap::new);
    let me = || thread::current().id();
    Workload::timed("Arc, DashMap entry per operation", batch, me, move |me| {
        for seed in 0..batch {
            let object = Arc::new(Plain::new(seed));
            POOLS.entry(*me).or_default().push(object);
        }
        let mut drained = std::mem::take(&mut *POOLS.entry(*me).or_default());
        drained.clear();
        *POOLS.entry(*me).or_default() = drained;
    })
}

/// Checks that all ways to create objects destroy each of them once.
///
/// # Panics
/// If one does not.
pub fn check() {
    const BATCH: u64 = 1_000;
    for way in [
        by_create::<Counted>(BATCH),
        by_autorelease::<Counted>(BATCH),
        in_blocks::<Counted>(BATCH),
        arc_in_a_vec::<Counted>(BATCH),
    ] {
        objects::check(&way, 0);
    }
    // The free list is filled with objects beforehand.
    objects::check(&free_list_and_array::<Counted>(BATCH), BATCH);
}
