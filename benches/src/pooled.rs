//! Objects that are made, left to a pool, and released by it; and what others do instead.

use crate::objects::{Payload, Plain, in_a_vec};
use crate::workload::{Workload, timed};
use dashmap::DashMap;
use releasepool::{AutoreleasePool, Ref, autorelease};
use std::collections::HashMap;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::{self, ThreadId};

/// In blocks.
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

/// By the global allocator.
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

/// The same, by the function that finds the pool itself.
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

/// Counts that are not atomic.
pub fn rc_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("Rc in a Vec", batch, |seed| Rc::new(P::new(seed)))
}

/// Without weak references.
pub fn triomphe_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("triomphe::Arc in a Vec", batch, |seed| {
        triomphe::Arc::new(P::new(seed))
    })
}

/// The library's references without its pools.
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

/// What that is compared with.
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
