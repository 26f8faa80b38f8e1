//! Getting rid of objects that another thread destroys: the sender's part.

use crate::objects::{Dropping as Object, Payload};
use crate::workload::{Workload, timed_half};
use basedrop::{Collector, Shared};
use releasepool::{HandoffPool, PoolManager, Ref, ThreadHandle, autoreleasepool};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Objects that are handed over at a time.
pub const BATCH: u64 = 1_000;

/// basedrop's. Its garbage, that of all threads, is thrown away by whoever measures.
pub(crate) fn collector() -> MutexGuard<'static, Collector> {
    static COLLECTOR: LazyLock<Mutex<Collector>> = LazyLock::new(|| Mutex::new(Collector::new()));
    COLLECTOR.lock().unwrap_or_else(PoisonError::into_inner)
}

fn me() -> ThreadHandle {
    let me = PoolManager::global().current_thread();
    me.expect("this thread is not being torn down")
}

/// What the sender does: it has the objects and gets rid of them. To itself, so that
/// nobody disturbs it; they are destroyed before the next turn, which is not timed.
pub fn handoff() -> Workload {
    Workload::new("HandoffPool, drain_on", BATCH, || {
        let to = me();
        let mut pool = HandoffPool::new();
        let prepare = || {
            autoreleasepool(|_| ());
            objects(Ref::new)
        };
        timed_half(prepare, move |objects| {
            for object in objects {
                pool.autorelease(object);
            }
            pool.drain_on(&to);
        })
    })
}

/// One message for each object.
pub fn release_each() -> Workload {
    Workload::new("ThreadHandle::release each", BATCH, || {
        let to = me();
        let prepare = || {
            autoreleasepool(|_| ());
            objects(Ref::new)
        };
        timed_half(prepare, move |objects| {
            for object in objects {
                to.release(object);
            }
        })
    })
}

fn objects<R>(new: impl Fn(Object) -> R) -> Vec<R> {
    (0..BATCH).map(|seed| new(Object::new(seed))).collect()
}

/// As most programs do it.
pub fn channel_each() -> Workload {
    Workload::new("Arc, crossbeam channel", BATCH, || {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let prepare = move || {
            receiver.try_iter().for_each(drop);
            objects(Arc::new)
        };
        timed_half(prepare, move |objects| {
            for object in objects {
                sender.send(object).expect("there is a receiver");
            }
        })
    })
}

/// What one would write in its stead: a vector of them in one message.
pub fn channel_of_vectors() -> Workload {
    Workload::new("Arc, crossbeam channel of Vec", BATCH, || {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let prepare = move || {
            receiver.try_iter().for_each(drop);
            objects(Arc::new)
        };
        timed_half(prepare, move |objects| {
            let mut batch = Vec::new();
            for object in objects {
                batch.push(object);
            }
            sender.send(batch).expect("there is a receiver");
        })
    })
}

/// To the collector.
pub fn basedrop_each() -> Workload {
    Workload::new("basedrop Shared, dropped", BATCH, || {
        let handle = collector().handle();
        let prepare = move || {
            collector().collect();
            objects(|object| Shared::new(&handle, object))
        };
        timed_half(prepare, drop)
    })
}

/// Not handed over at all.
pub fn here() -> Workload {
    Workload::new("Arc, dropped here", BATCH, || {
        timed_half(|| objects(Arc::new), drop)
    })
}
