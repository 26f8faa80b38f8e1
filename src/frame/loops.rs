//! The loops of the process; and the end of a thread with loops, which closes its frame loops and runs
//! the closures that they accepted.

use super::loop_state::{LOOPS, LoopKind, LoopState, Task, run_in_pool};
use crate::pool::drain::this_thread;
use crate::pool::stack::budget::Budget;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::thread::current::{HookOf, current_key, set_exit_hook};
use crate::thread::key::ThreadKey;
use crate::thread::record::Record;
use crate::thread::registry::REGISTRY;
use crate::thread::thread_handle::ThreadHandle;
use std::sync::Arc;

/// Registers a frame loop, so that the end of this thread closes it unless it is closed before.
pub(super) fn register(state: &Arc<LoopState>) {
    LOOPS.add(state);
    set_exit_hook(HookOf::Loops, close_all);
}

/// Returns the frame loops of a thread that have not ended.
fn of_thread(key: ThreadKey) -> Vec<Arc<LoopState>> {
    let mut all = LOOPS.all();
    all.retain(|state| {
        state.kind == LoopKind::Frames && state.thread.key() == key && !state.has_ended()
    });
    all
}

/// Closes all loops of the thread, then runs the posts that loops dropped inside a destructor have
/// left to the thread. Panics are reported, not propagated.
fn close_all(record: &Arc<Record>) {
    run_in_pool("last frame", Budget::All, || {
        let own = of_thread(record.key());
        own.iter().for_each(|state| state.close(Task::run));
        this_thread::with(|pools| {
            pools.map(ThreadPools::run_posts_of_loops);
        });
    });
}

/// Closes the frame loops of the calling thread, and asks all other loops to end; does not wait.
pub(crate) fn ask_all() {
    let own = current_key().map(of_thread).unwrap_or_default();
    if !own.is_empty() {
        run_in_pool("last frame", Budget::All, || {
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
        // A looper has ended when its thread has.
        let thread = || REGISTRY.get(state.thread.key()).is_some();
        let (kind, lives) = match state.kind {
            LoopKind::Frames => ("frame loop", !state.has_ended()),
            LoopKind::Looper => ("looper", thread()),
            LoopKind::Reclaimer => ("reclaimer", thread()),
        };
        lives.then(|| (kind, state.thread.clone()))
    };
    LOOPS.all().into_iter().filter_map(living).collect()
}
