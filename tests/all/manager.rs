//! `PoolManager`: several managers, snapshots, `quiesce` and `shutdown`.

mod managers;
mod quiesce;
mod shutdown;
mod totals;

use crate::support::{LONG, fresh, global, on_drop, wait_until};
use releasepool::Ref;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};

/// Starts a thread that runs the process's orphans. The destructor of one of them does not return
/// before it is told to.
pub fn thread_that_runs_an_orphan(told: Receiver<()>) -> JoinHandle<bool> {
    let manager = global();
    let gone = fresh(|| manager.current_thread().unwrap());
    wait_until(|| !gone.is_alive());
    let (tell, begun) = channel();
    let told = std::sync::Mutex::new(told);
    gone.release(Ref::new(on_drop(move || {
        tell.send(()).unwrap();
        told.lock().unwrap().recv().unwrap();
    })));
    let busy = thread::spawn(|| global().quiesce(LONG));
    begun.recv().unwrap();
    busy
}
