//! Closes the frame loops of a thread at its end, runs the closures that they accepted, and gives up the
//! thread's reference to the reclaimer of the process.

use super::later::forget_reclaimer;
use super::loop_state::{LoopState, Task, run_in_pool};
use crate::pool::drain::this_thread;
use crate::pool::stack::budget::Budget;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::cell::RefCell;
use crate::sync::local;
use crate::thread::current::set_first_exit_hook;
use crate::thread::record::Record;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Weak};

local! {
    /// The frame loops of this thread. No foreign code runs while the list is borrowed. The
    /// thread's exit empties the list.
    static LOOPS: ManuallyDrop<RefCell<Vec<Weak<LoopState>>>> =
        ManuallyDrop::new(RefCell::new(Vec::new()));
}

/// Registers a loop, so that the end of this thread closes it unless it is closed before.
pub(super) fn register(state: &Arc<LoopState>) {
    LOOPS.with(|loops| {
        let mut loops = loops.borrow_mut();
        loops.retain(|state| state.strong_count() > 0);
        loops.push(Arc::downgrade(state));
    });
    set_hook();
}

/// Has the calling thread's exit call [`close_all`].
pub(super) fn set_hook() {
    set_first_exit_hook(close_all);
}

/// Closes all loops of the thread, then runs the posts that loops dropped inside a destructor have
/// left to the thread. Panics are reported, not propagated.
fn close_all(_: &Arc<Record>) {
    forget_reclaimer();
    let loops = LOOPS.with(|loops| loops.take());
    run_in_pool("last frame", Budget::All, || {
        for state in loops.iter().filter_map(Weak::upgrade) {
            state.close(Task::run);
        }
        this_thread::with(|pools| {
            pools.map(ThreadPools::run_posts_of_loops);
        });
    });
}
