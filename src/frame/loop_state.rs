//! What a loop and those who post to it share.
//!
//! There is no queue of its own: a post is a message in the inbox of the loop's
//! thread. Beside it stand the [in_flight](super::in_flight), as a loop may be closed before its
//! thread ends, and the [timers](super::timers) of what is to be done later.

use super::call::PendingCall;
use super::in_flight::InFlightPosts;
use super::timers::{Delayed, PostId, Timers};
use crate::event::{Event, EventKind};
use crate::object::destroy::in_destructor;
use crate::pool::budget::Budget;
use crate::pool::guard::{AutoreleasePool, named_scope};
use crate::pool::thread_pools::{self, ThreadPools};
use crate::sync::{Lock, catch_unwind};
use crate::thread::handle::{Closed, ThreadHandle};
use crate::thread::inbox::{Kind, Message};
use crate::thread::orphans::ORPHANS;
use crate::thread::record::{current_key, current_label};
use crate::unwind::report;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct LoopState {
    pub(super) thread: ThreadHandle,
    pub(super) in_flight: InFlightPosts,
    timers: Lock<Timers>,
}

/// A closure that is to run now.
pub(super) enum Task {
    Posted(Message),
    Delayed(Delayed),
}

impl Task {
    pub(super) fn run(self) {
        match self {
            Self::Posted(message) => message.run(),
            Self::Delayed(f) => f(),
        }
    }
}

/// What a round came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    pub(super) closures: usize,
    pub(super) panics: usize,
}

/// For everybody.
impl LoopState {
    pub(super) fn new(thread: ThreadHandle) -> Self {
        Self {
            thread,
            in_flight: InFlightPosts::new(),
            timers: Lock::new(Timers::default()),
        }
    }

    pub(super) fn post<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), Closed<F>> {
        let Some(post_in_flight) = self.in_flight.begin_post() else {
            return Err(Closed(f));
        };
        let posted = self.thread.post_quietly(Kind::Post, f)?;
        // Before the bell is rung, as its hook is foreign code.
        drop(post_in_flight);
        posted.finish();
        Ok(())
    }

    pub(super) fn post_after<F: FnOnce() + Send + 'static>(
        &self,
        delay: Duration,
        f: F,
    ) -> Result<PostId, Closed<F>> {
        let Some(post_in_flight) = self.in_flight.begin_post() else {
            return Err(Closed(f));
        };
        let post = Box::new(f);
        let (id, first) = self.timers.lock().insert(delay, post);
        // Before the bell is rung, as its hook is foreign code.
        drop(post_in_flight);
        if first {
            self.wake();
        }
        Ok(id)
    }

    pub(super) fn cancel(&self, id: PostId) -> bool {
        let cancelled = self.timers.lock().cancel(id);
        // Dropped when unlocked: its destructor is foreign code.
        cancelled.is_some()
    }

    pub(super) fn call<F, R>(&self, f: F) -> Result<R, Closed<F>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let target = self.thread.key();
        if current_key() == Some(target) {
            return if self.in_flight.is_closed() {
                Err(Closed(f))
            } else {
                Ok(f())
            };
        }
        let call = Arc::new(PendingCall::new(f));
        let message = call.clone();
        let refused = self.post(move || message.run(target)).is_err();
        call.wait(|| refused || self.is_closed())
    }

    /// Asks for a frame.
    pub(super) fn request_frame(&self) {
        let first = self.timers.lock().request_frame();
        if first {
            self.wake();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.in_flight.is_closed() || !self.thread.is_alive()
    }

    pub(super) fn wake(&self) {
        self.thread.0.waker.ring();
    }
}

/// For the loop, on its thread.
impl LoopState {
    /// Sleeps until there is a message, something is due or asked for, or it is shut; not at
    /// all if drains have left something. RemoteFreeList whether it is still open.
    pub(super) fn sleep(&self) -> bool {
        // Messages that come when it is awake may wake it once more, in vain.
        while self.arm_inboxes() {
            // In this order: whoever changes one of these after we have looked rings
            // after that, so the sleep below ends at once.
            let due = {
                let timers = self.timers.lock();
                if timers.has_work_now() || self.in_flight.is_closed() {
                    break;
                }
                timers.next_due()
            };
            self.thread.0.waker.sleep(due);
        }
        !self.in_flight.is_closed()
    }

    /// Has the next message ring, unless there is something to do already; returns whether it will.
    fn arm_inboxes(&self) -> bool {
        let is_idle = thread_pools::with(|local| local.is_none_or(is_idle));
        is_idle && self.thread.0.arm(!in_destructor())
    }

    /// Has the next push ring; rings at once if there is something to do already. For
    /// loops that wait in a foreign event loop.
    pub(super) fn arm(&self) {
        if !self.arm_inboxes() || self.timers.lock().has_work_now() {
            self.wake();
        }
    }

    pub(super) fn disarm(&self) {
        self.thread.0.disarm();
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
        self.timers.lock().next_due()
    }

    /// A frame begins: what was asked for until now is clear_request.
    pub(super) fn clear_request(&self) {
        self.timers.lock().clear_request();
    }

    /// RemoteFreeList whether a frame has something to do but to make releases, which go to the backlog.
    pub(super) fn needs_frame(&self) -> bool {
        // A loop whose thread ends cannot sleep any more.
        collect_closures() > 0 || self.timers.lock().has_work_now() || !self.thread.is_alive()
    }

    /// Runs the closures that are here and due at its beginning, each by `each`. Panics
    /// are reported. The releases that came with them go to the backlog.
    pub(super) fn round(&self, each: impl Fn(Task)) -> Round {
        let mut round = Round::default();
        // Never in the middle of somebody's release; they wait.
        if in_destructor() {
            return round;
        }
        let here = collect_closures();
        let mut run = |task| {
            round.closures += 1;
            if let Err(payload) = catch_unwind(|| each(task)) {
                round.panics += 1;
                report(payload);
            }
        };
        self.pop_due().for_each(|f| run(Task::Delayed(f)));
        thread_pools::with(|local| {
            // Fewer, if one of them has run the inbox.
            let next = || local?.run_posted(|call| run(Task::Posted(call)));
            std::iter::from_fn(next).take(here).for_each(drop);
        });
        round
    }

    /// Takes out the delayed posts that are due now, in order; each when it is asked for, so that
    /// an earlier one can cancel it.
    fn pop_due(&self) -> impl Iterator<Item = Delayed> + '_ {
        let cutoff = self.timers.lock().cutoff();
        std::iter::from_fn(move || self.timers.lock().pop_due(cutoff))
    }

    /// Refuses posts from now on, runs those that were accepted and are due, and drops
    /// the others with an event. InFlightPost a destructor or drain, nothing runs: what is accepted and
    /// due stays with the thread.
    pub(super) fn close(&self, each: impl Fn(Task)) {
        self.in_flight.close();
        self.in_flight.wait_until_empty();
        if in_destructor() {
            self.leave_to_thread();
        } else {
            self.round(each);
        }
        let left = self.timers.lock().take_all();
        if left.len() > 0 {
            let event = Event::new(EventKind::PostsDropped, current_label());
            event.count(left.len()).emit();
            for post in left {
                if let Err(payload) = catch_unwind(|| drop(post)) {
                    report(payload);
                }
            }
        }
    }
}

impl LoopState {
    /// Leaves what is due to the thread, for whoever runs its closures next, before those that were
    /// posted.
    fn leave_to_thread(&self) {
        let message = |f| self.thread.announced(Kind::Post, f).1;
        // A thread that has exited has no loop with anything that is due.
        thread_pools::with(|local| local.map(|local| local.put_first(self.pop_due().map(message))));
    }
}

/// RemoteFreeList whether nothing waits that was taken out, or that drains have left to the next one.
fn is_idle(local: &ThreadPools) -> bool {
    // Drains inside a destructor leave alone what others have sent.
    let for_others = || local.has_claimed() || ORPHANS.has_releases();
    let has_backlog = local.first.backlog.len() > 0 || !in_destructor() && for_others();
    local.posted() == 0 && !has_backlog
}

/// Takes out the closures that were posted; returns how many are out. Releases stay where they are:
/// they come after the closures, and within a budget.
fn collect_closures() -> usize {
    thread_pools::with(|local| {
        local.map_or(0, |local| {
            local.collect_posted();
            local.posted()
        })
    })
}

/// A pool around `f` that is then drained within a budget, and the backlog with it.
/// No panic gets out: they are reported.
pub(super) fn run_in_pool(name: &'static str, budget: Budget, f: impl FnOnce()) {
    let scope = |pool: &mut AutoreleasePool| {
        f();
        pool.drain_coarsely(budget);
    };
    if let Err(payload) = catch_unwind(|| named_scope(name, scope)) {
        report(payload);
    }
}
