//! Foreign objects in pools, and references to them that are given up to other workers.

use crate::ledger::{LEDGER, fail, same};
use crate::payload::Item;
use crate::stage::Queue;
use crate::worker::Worker;
use releasepool::{AutoreleasePool, Budget, Foreign, RemoteRelease};
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;

// SAFETY: has one reference, which `release` gives up.
unsafe impl Foreign for Item {
    unsafe fn retain(_: NonNull<Self>) {
        fail("nobody retains items");
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: `foreign` leaked the box; this is its only reference.
        unsafe { Box::from_raw(this.as_ptr()) }.number();
    }
}

/// Makes a foreign object, with one reference, which any thread may release.
fn foreign(number: u64) -> NonNull<Item> {
    NonNull::from(Box::leak(Box::new(Item::new(number))))
}

/// Has a pool keep foreign objects, and takes some of them back.
pub fn adopt(worker: &mut Worker) {
    let mut pool = AutoreleasePool::new();
    for number in 0..worker.rng.u64(1..50) {
        let item = foreign(number);
        // SAFETY: a new object's only reference; the object is alive until it is released.
        let lent = unsafe { pool.adopt(item).as_non_null().as_ref() };
        same("a foreign object's number", lent.number(), number);
        if worker.once_in(3) {
            // SAFETY: the object is of this type, and the reference is then ours.
            unsafe {
                if !pool.take_back(item) {
                    fail("a pool's newest entry is not taken back");
                }
                Item::release(item);
            }
        }
    }
    if worker.once_in(2) {
        pool.drain_within(Budget::Count(10));
    }
}

/// Gives foreign objects up to a worker, which may have ended.
pub fn give_up(worker: &mut Worker) {
    let Some(to) = worker.stage.some_queue(&mut worker.rng) else {
        return;
    };
    for number in 0..worker.rng.u64(1..100) {
        let item = foreign(number);
        // SAFETY: a new object's only reference.
        if unsafe { to.push(item) } {
            LEDGER.given_up.add(1);
        } else {
            // SAFETY: the queue has refused it.
            unsafe { Item::release(item) };
        }
    }
}

/// Releases what others have given up to this worker.
pub fn release(worker: &mut Worker) {
    let stage = &worker.stage;
    let queue = worker.queue.get_or_insert_with(|| {
        let me = thread::current().id();
        let queue: Arc<Queue> = Arc::new(RemoteRelease::new(Box::new(move || {
            me == thread::current().id()
        })));
        stage.put_queue(queue.clone());
        queue
    });
    match queue.drain() {
        Ok(released) => LEDGER.released.add(released as u64),
        Err(error) => fail(error.to_string()),
    }
}

/// Ends this worker's queue, to which others may give something up at the same time.
pub fn close(worker: &mut Worker) {
    let Some(queue) = worker.queue.take() else {
        return;
    };
    match queue.close() {
        Ok(released) => LEDGER.released.add(released as u64),
        Err(error) => fail(error.to_string()),
    }
}
