//! Handing objects to another thread for destruction: the sender's part.
//!
//! The sender sends to itself, so that no other thread disturbs it. The objects are destroyed before
//! the next turn, which is not timed.

use crate::objects::{Dropping as Object, Payload};
use crate::workload::{Role, Workload, timed_half};
use basedrop::Collector;
use releasepool::{HandoffPool, PoolManager, Ref, ThreadHandle, autoreleasepool};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Objects in a batch.
const BATCH: u64 = 1_000;

/// Locks basedrop's collector, which the measured threads run for all.
pub(crate) fn collector() -> MutexGuard<'static, Collector> {
    static COLLECTOR: LazyLock<Mutex<Collector>> = LazyLock::new(|| Mutex::new(Collector::new()));
    COLLECTOR.lock().unwrap_or_else(PoisonError::into_inner)
}

fn this_thread() -> ThreadHandle {
    let handle = PoolManager::global().current_thread();
    handle.expect("the thread has not ended")
}

fn objects<R>(new: impl Fn(Object) -> R) -> Vec<R> {
    (0..BATCH).map(|seed| new(Object::new(seed))).collect()
}

fn drained_objects() -> Vec<Ref<Object>> {
    autoreleasepool(|_| ());
    objects(Ref::new)
}

/// Returns ways to hand a batch of objects over: by one message for all, by one for each, by a channel of
/// vectors; and their destruction on the sender itself. The scenario `handoff` has more.
pub fn handed_over() -> [Workload; 4] {
    let together = Workload::new("HandoffPool, drain_on", BATCH, || {
        let to = this_thread();
        let mut pool = HandoffPool::new();
        timed_half(drained_objects, move |objects| {
            for object in objects {
                pool.autorelease(object);
            }
            pool.drain_on(&to);
        })
    });
    let each = Workload::new("ThreadHandle::release each", BATCH, || {
        let to = this_thread();
        timed_half(drained_objects, move |objects| {
            for object in objects {
                to.release(object);
            }
        })
    });
    let vectors = Workload::new("Arc, crossbeam channel of Vec", BATCH, || {
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
            sender.send(batch).expect("the receiver exists");
        })
    });
    let here = Workload::new("Arc, dropped here", BATCH, || {
        timed_half(|| objects(Arc::new), drop)
    });
    [
        together,
        each.role(Role::Ours),
        vectors,
        here.role(Role::Reference),
    ]
}
