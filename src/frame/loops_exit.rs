//! Closes the frame loops of a thread at its end, runs the closures that they accepted, and gives up the
//! thread's reference to the reclaimer of the process.

use super::later::forget_reclaimer;
use super::loop_state::{LoopState, Task, run_in_pool};
use crate::pool::drain::this_thread;
use crate::pool::stack::budget::Budget;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::cell::Cell;
use crate::sync::local;
use crate::thread::current::set_first_exit_hook;
use crate::thread::record::Record;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Weak};

local! {
    /// The frame loops of this thread. Taken out while it changes: the global allocator is foreign code, and may
    /// make loops. The thread's exit empties the list.
    static LOOPS: ManuallyDrop<Cell<Loops>> = ManuallyDrop::new(Cell::new(Loops::EMPTY));
}

/// A list of loops. Those that are gone are removed now and then.
struct Loops {
    all: Vec<Weak<LoopState>>,
    /// The length at which those that are gone are removed.
    prune_at: usize,
}

impl Loops {
    const EMPTY: Self = Self {
        all: Vec::new(),
        prune_at: 4,
    };

    /// Adds a loop. Looks for loops that are gone only once the list is twice as long as what the last look has
    /// left: so the time for many loops is linear in their number, also if none is ever gone.
    fn add(&mut self, state: Weak<LoopState>) {
        if self.all.len() >= self.prune_at {
            self.all.retain(|state| state.strong_count() > 0);
            self.prune_at = (2 * self.all.len()).max(Self::EMPTY.prune_at);
        }
        self.all.push(state);
    }
}

/// Registers a loop, so that the end of this thread closes it unless it is closed before.
pub(super) fn register(state: &Arc<LoopState>) {
    LOOPS.with(|place| {
        let mut loops = place.replace(Loops::EMPTY);
        loops.add(Arc::downgrade(state));
        // The allocator may have made others meanwhile.
        loop {
            let others = place.replace(loops);
            if others.all.is_empty() {
                break;
            }
            loops = place.replace(Loops::EMPTY);
            others.all.into_iter().for_each(|state| loops.add(state));
        }
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
    let loops = LOOPS.with(|place| place.replace(Loops::EMPTY));
    run_in_pool("last frame", Budget::All, || {
        for state in loops.all.iter().filter_map(Weak::upgrade) {
            state.close(Task::run);
        }
        this_thread::with(|pools| {
            pools.map(ThreadPools::run_posts_of_loops);
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::current::current;
    use crate::thread::thread_handle::ThreadHandle;

    /// Adds `n` loops; returns how many entries of the list that has looked at.
    fn steps(n: usize, mut made: impl FnMut(Arc<LoopState>)) -> usize {
        let record = current().unwrap();
        let mut loops = Loops::EMPTY;
        let mut steps = 0;
        for _ in 0..n {
            let before = loops.all.len();
            if before >= loops.prune_at {
                steps += before;
            }
            let state = Arc::new(LoopState::new(ThreadHandle(record.clone())));
            loops.add(Arc::downgrade(&state));
            made(state);
        }
        let kept = loops.all.iter().filter_map(Weak::upgrade).count();
        assert!(loops.all.len() - kept <= kept.max(4), "all others are gone");
        steps
    }

    #[test]
    fn many_loops_take_linear_time_whether_they_are_kept_or_gone() {
        const MANY: usize = 2_000;
        let mut kept = Vec::new();
        assert!(steps(MANY, |state| kept.push(state)) < 2 * MANY);
        assert!(steps(MANY, drop) < 2 * MANY);
    }
}
