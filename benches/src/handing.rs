//! Handing objects to another thread for destruction: the sender's part.
//!
//! The sender sends to itself, so that no other thread disturbs it. The objects are destroyed before
//! the next turn, which is not timed.

use crate::objects::{Dropping as Object, Payload};
use crate::workload::{Role, Workload, timed_half};
use basedrop::{Collector, Shared};
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

/// Returns one message for a batch of objects.
pub fn handoff() -> Workload {
    Workload::new("HandoffPool, drain_on", BATCH, || {
        let to = this_thread();
        let mut pool = HandoffPool::new();
        timed_half(drained_objects, move |objects| {
            for object in objects {
                pool.autorelease(object);
            }
            pool.drain_on(&to);
        })
    })
}

/// Returns one message for each object.
pub fn release_each() -> Workload {
    let workload = Workload::new("ThreadHandle::release each", BATCH, || {
        let to = this_thread();
        timed_half(drained_objects, move |objects| {
            for object in objects {
                to.release(object);
            }
        })
    });
    workload.role(Role::Ours)
}

/// Returns a channel of `R`, of which `send` sends as many as it wants.
fn channel<R: 'static>(
    name: &str,
    send: fn(&crossbeam_channel::Sender<R>, Vec<Arc<Object>>),
) -> Workload {
    Workload::new(name, BATCH, move || {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let prepare = move || {
            receiver.try_iter().for_each(drop);
            objects(Arc::new)
        };
        timed_half(prepare, move |objects| send(&sender, objects))
    })
}

/// Returns a channel of objects, the usual alternative.
pub fn channel_each() -> Workload {
    channel("Arc, crossbeam channel", |sender, objects| {
        for object in objects {
            sender.send(object).expect("the receiver exists");
        }
    })
}

/// Returns a channel of vectors, one for each batch.
pub fn channel_of_vectors() -> Workload {
    channel("Arc, crossbeam channel of Vec", |sender, objects| {
        let mut batch = Vec::new();
        for object in objects {
            batch.push(object);
        }
        sender.send(batch).expect("the receiver exists");
    })
}

/// Returns basedrop's queue to the collector.
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

/// Returns the destruction on the sender itself.
pub fn here() -> Workload {
    let workload = Workload::new("Arc, dropped here", BATCH, || {
        timed_half(|| objects(Arc::new), drop)
    });
    workload.role(Role::Reference)
}
