//! The end of a thread that has frame loops, or has had: what they accepted runs there.

use super::loop_state::{LoopState, Task, work};
use crate::pool::budget::Budget;
use crate::pool::this_thread;
use crate::pool::thread_pools::ThreadPools;
use crate::sync::cell::RefCell;
use crate::sync::local;
use crate::thread::current::set_first_exit_hook;
use crate::thread::record::Record;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Weak};

local! {
    /// The loops of this thread. Never borrowed while other code runs; emptied at the thread's
    /// exit.
    static LOOPS: ManuallyDrop<RefCell<Vec<Weak<LoopState>>>> =
        ManuallyDrop::new(RefCell::new(Vec::new()));
}

/// Has the thread's end close this loop, if it has not been closed by then.
pub(super) fn enter(port: &Arc<LoopState>) {
    LOOPS.with(|loops| {
        let mut loops = loops.borrow_mut();
        loops.retain(|port| port.strong_count() > 0);
        loops.push(Arc::downgrade(port));
    });
    set_first_exit_hook(close_all);
}

/// Closes all loops of the thread, and runs what others have accepted that were dropped inside a
/// destructor. No panic gets out.
fn close_all(_: &Arc<Record>) {
    let loops = LOOPS.with(|loops| loops.take());
    work("last frame", Budget::All, || {
        for port in loops.iter().filter_map(Weak::upgrade) {
            port.close(Task::run);
        }
        this_thread::with(|local| {
            local.map(ThreadPools::run_posts_of_loops);
        });
    });
}
