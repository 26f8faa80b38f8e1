//! The loops of the process; and the end of a thread with loops, which closes its frame loops and runs
//! the closures that they accepted.

use super::loop_state::{FRAMES, LOOPS, LoopState, Task, run_in_pool};
use crate::pool::drain::this_thread;
use crate::pool::stack::budget::Budget;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::elapsed;
use crate::thread::current::{HookOf, current_key, set_exit_hook};
use crate::thread::key::ThreadKey;
use crate::thread::record::Record;
use crate::thread::registry::REGISTRY;
use crate::thread::thread_handle::ThreadHandle;
use std::sync::Arc;
use std::time::Duration;

/// Registers a frame loop, so that the end of this thread closes it unless it is closed before.
pub(super) fn register(state: &Arc<LoopState>) {
    LOOPS.add(state);
    set_exit_hook(HookOf::Loops, close_all);
}

/// Returns the frame loops of a thread that have not ended.
fn of_thread(key: ThreadKey) -> Vec<Arc<LoopState>> {
    let mut all = LOOPS.all();
    all.retain(|state| state.kind == FRAMES && state.thread.key() == key && !state.has_ended());
    all
}

/// Closes all frame loops of the thread. Then runs the posts left to the thread by loops that were
/// dropped inside a destructor. Panics are reported, not propagated.
fn close_all(record: &Arc<Record>) {
    run_in_pool("last frame", Budget::All, || {
        let own = of_thread(record.key());
        own.iter().for_each(|state| state.close(Task::run));
        this_thread::with(|pools| {
            pools.map(ThreadPools::run_posts_of_loops);
        });
    });
}

/// Closes the frame loops of the calling thread: runs their last posts in one pool, and drains that
/// until the time `until` at most. Asks all other loops to end, and does not wait for them.
pub(crate) fn ask_all(until: Duration) {
    let own = current_key().map(of_thread).unwrap_or_default();
    if !own.is_empty() {
        let left = Budget::Time(until.saturating_sub(elapsed()));
        run_in_pool("last frame", left, || {
            own.iter().for_each(|state| state.close(Task::run));
        });
    }
    let others = LOOPS.all().into_iter();
    let open = others.filter(|state| !state.in_flight.is_closed());
    open.for_each(|state| state.ask_to_close());
}

/// Returns kind and thread of each loop that has not ended.
pub(crate) fn living() -> Vec<(&'static str, ThreadHandle)> {
    let living = |state: Arc<LoopState>| {
        let lives = match state.kind {
            FRAMES => !state.has_ended(),
            // A looper has ended when its thread has.
            _ => REGISTRY.get(state.thread.key()).is_some(),
        };
        lives.then(|| (state.kind, state.thread.clone()))
    };
    LOOPS.all().into_iter().filter_map(living).collect()
}
