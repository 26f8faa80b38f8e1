//! Between threads.

use crate::bomb;
use crate::ledger::{fail, same};
use crate::payload::{Item, OnDrop, Thing, Tree};
use crate::stage::post;
use crate::worker::Worker;
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, unsize};
use std::thread;
use std::time::Duration;

/// A root, for the UI thread's display.
pub fn show(worker: &mut Worker) {
    if !worker.stage.has_room() {
        thread::sleep(Duration::from_millis(1));
        return;
    }
    let pool = AutoreleasePool::new();
    let width = worker.dice.in_range(1..4) as usize;
    let depth = worker.dice.in_range(1..4) as usize;
    let root = pool.autorelease(Tree::new(width, depth));
    let weak = unsize!(PoolRef::downgrade(root) => dyn Thing);
    worker.stage.put_weak(&mut worker.dice, weak);
    let root = unsize!(PoolRef::retain(root) => dyn Thing);
    worker.stage.show(root);
    if worker.dice.once_in(50) && bomb::may(1) {
        let id = worker.stage.number();
        post(&worker.stage.ui, move || bomb::explode(id));
    }
}

pub fn release_to_ui(worker: &mut Worker) {
    let item = Ref::new(Item::new(9));
    worker.stage.ui.release(item.clone());
    // Destructors that run there use pools there.
    let busy = OnDrop::new(|| AutoreleasePool::new().create(Item::new(1)).look());
    worker.stage.ui.release(Ref::new(shared(busy)));
    same("a number after its release", item.number(), 9);
}

/// `OnDrop` has a cell, and cannot be shared by itself.
fn shared<F: FnOnce() + Send>(on_drop: OnDrop<F>) -> std::sync::Mutex<OnDrop<F>> {
    std::sync::Mutex::new(on_drop)
}

/// To another worker, who may be leaving just now, or be gone for long.
pub fn to_some_thread(worker: &mut Worker) {
    let Some(handle) = worker.stage.some_handle(&mut worker.dice) else {
        return;
    };
    for n in 0..worker.dice.in_range(1..10) {
        handle.release(Ref::new(Item::new(n)));
    }
    let item = Ref::new(Item::new(10));
    post(&handle, move || item.look());
    if worker.dice.once_in(4) {
        run_inbox();
    }
}

/// What others have sent here.
pub fn run_inbox() {
    if let Err(Some(id)) = bomb::defuse(|| PoolManager::global().run_inbox()) {
        fail(format!("bomb {id} was in a worker's inbox"));
    }
}

pub fn look_up(worker: &mut Worker) {
    let manager = PoolManager::global();
    let Some(me) = manager.current_thread() else {
        return fail("a worker has no key");
    };
    same(
        "this thread by key",
        manager.thread(me.key()).as_ref(),
        Some(&me),
    );
    let id = thread::current().id();
    same(
        "this thread by id",
        manager.thread_by_id(id).as_ref(),
        Some(&me),
    );
    if !manager.threads().contains(&me) {
        fail("this thread is not listed");
    }
    let snapshot = manager.snapshot();
    if snapshot.thread(me.key()).is_none() {
        fail("this thread is not in the snapshot");
    }
    if let Some(handle) = worker.stage.some_handle(&mut worker.dice) {
        let was_alive = handle.is_alive();
        let found = manager.thread(handle.key());
        if let (Some(found), false) = (&found, was_alive) {
            // The inbox is closed a little before the thread is taken off the list.
            same("a thread found by its key", found, &handle);
        }
    }
}
