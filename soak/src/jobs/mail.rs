//! Releases and closures for the UI thread, and inbox hooks.

use crate::bomb;
use crate::ledger::{fail, same};
use crate::payload::{Item, OnDrop, Thing, Tree};
use crate::stage::{PATIENCE, post};
use crate::worker::Worker;
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, unsize};
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::Duration;

/// Makes a tree and sends it to the UI thread, which displays it.
pub fn show(worker: &mut Worker) {
    if !worker.stage.has_room() {
        thread::sleep(Duration::from_millis(1));
        return;
    }
    let pool = AutoreleasePool::new();
    let width = worker.rng.usize(1..4);
    let depth = worker.rng.usize(1..4);
    let root = pool.autorelease(Tree::new(width, depth));
    let root = unsize!(PoolRef::retain(root) => dyn Thing);
    worker.stage.show(root);
    if worker.once_in(50) && bomb::may(1) {
        let id = worker.stage.number();
        post(&worker.stage.ui, move || bomb::explode(id));
    }
}

/// Releases objects on the UI thread.
pub fn release_to_ui(worker: &mut Worker) {
    let item = Ref::new(Item::new(9));
    worker.stage.ui.release(item.clone());
    // Its destructor uses a pool, on the UI thread.
    let busy = OnDrop::new(|| AutoreleasePool::new().create(Item::new(1)).look());
    worker.stage.ui.release(Ref::new(shared(busy)));
    same("a number after its release", item.number(), 9);
}

/// Makes an `OnDrop` shareable, which it is not because of its cell.
fn shared<F: FnOnce() + Send>(on_drop: OnDrop<F>) -> std::sync::Mutex<OnDrop<F>> {
    std::sync::Mutex::new(on_drop)
}

/// Runs what other threads have sent to this one.
pub fn run_inbox() {
    if let Err(Some(id)) = bomb::defuse(|| PoolManager::global().run_inbox()) {
        fail(format!("bomb {id} was in a worker's inbox"));
    }
}

/// Sleeps, as a foreign event loop does, until a hook says that something waits for this thread.
pub fn hook(worker: &mut Worker) {
    // Rare, because the UI thread looks at its inbox once in a frame.
    if !worker.once_in(20) {
        return;
    }
    let manager = PoolManager::global();
    let (wake, woken) = channel();
    let _hook = manager.set_inbox_hook(move || _ = wake.send(()));
    let (answer, answered) = channel();
    if let Some(me) = manager.current_thread() {
        let answer = move || post(&me, move || _ = answer.send(()));
        post(&worker.stage.ui, answer);
    }
    while answered.try_recv() == Err(TryRecvError::Empty) {
        if woken.recv_timeout(PATIENCE).is_err() {
            return fail("an inbox hook was not called");
        }
        run_inbox();
    }
}
