//! Handing objects to another thread for destruction: the sender's part.
//!
//! The sender sends to itself, so that no other thread disturbs it. The objects are destroyed before
//! the next turn, which is not timed.

use crate::objects::{Dropping as Object, Payload};
use crate::workload::{Role, Workload, timed_half};
use basedrop::Collector;
use releasepool::{HandoffPool, PoolManager, Ref, autoreleasepool};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Objects in a batch.
const BATCH: u64 = 1_000;

/// Locks basedrop's collector, which the measured threads run for all.
pub(crate) fn collector() -> MutexGuard<'static, Collector> {
    static COLLECTOR: LazyLock<Mutex<Collector>> = LazyLock::new(|| Mutex::new(Collector::new()));
    COLLECTOR.lock().unwrap_or_else(PoisonError::into_inner)
}

fn objects<R>(new: impl Fn(Object) -> R) -> Vec<R> {
    (0..BATCH).map(|seed| new(Object::new(seed))).collect()
}

/// Returns ways to hand a batch of objects over: by one message for all, by a channel of
/// vectors; and their destruction on the sender itself. The scenario `handoff` has more.
pub fn handed_over() -> [Workload; 3] {
    let together = Workload::new("HandoffPool, drain_on", BATCH, || {
        let to = PoolManager::global().current_thread();
        let to = to.expect("the thread has not ended");
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
    [together, vectors, here.role(Role::Reference)]
}
