//! The end of a thread that has frame loops, or has had: what they accepted runs there.

use super::loop_state::{LoopState, Task, run_in_pool};
use crate::pool::budget::Budget;
use crate::pool::thread_pools::{self, ThreadPools};
use crate::sync::cell::RefCell;
use crate::sync::local;
use crate::thread::record::{Record, set_first_exit_hook};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Weak};

local! {
    /// The loops of this thread. Never borrowed while other code runs; emptied at the thread's
    /// exit.
    static LOOPS: ManuallyDrop<RefCell<Vec<Weak<LoopState>>>> =
        ManuallyDrop::new(RefCell::new(Vec::new()));
}

/// Has the thread's end close this loop, if it has not been closed by then.
pub(super) fn register(state: &Arc<LoopState>) {
    LOOPS.with(|loops| {
        let mut loops = loops.borrow_mut();
        loops.retain(|state| state.strong_count() > 0);
        loops.push(Arc::downgrade(state));
    });
    set_first_exit_hook(close_all);
}

/// Closes all loops of the thread, and runs what others have accepted that were dropped inside a
/// destructor. No panic gets out.
fn close_all(_: &Arc<Record>) {
    let loops = LOOPS.with(|loops| loops.take());
    run_in_pool("last frame", Budget::All, || {
        for state in loops.iter().filter_map(Weak::upgrade) {
            state.close(Task::run);
        }
        thread_pools::with(|local| {
            local.map(ThreadPools::run_posts_of_loops);
        });
    });
}
