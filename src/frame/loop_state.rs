//! What a loop and those who post to it share.
//!
//! There is no queue of its own: a post is a message in the inbox of the loop's
//! thread. Beside it stand the [gate](super::in_flight), as a loop may be closed before its
//! thread ends, and the [agenda](super::timers) of what is to be done later.

use super::call::Call;
use super::in_flight::InFlightPosts;
use super::timers::{Delayed, PostId, Timers};
use crate::event::{Event, EventKind};
use crate::object::destroy::in_destructor;
use crate::pool::budget::Budget;
use crate::pool::guard::{AutoreleasePool, named_scope};
use crate::pool::thread_pools::{self, ThreadPools};
use crate::sync::{Lock, catch_unwind};
use crate::thread::current::{current_key, current_label};
use crate::thread::handle::{Closed, ThreadHandle};
use crate::thread::inbox::{Message, MessageKind};
use crate::thread::orphans::ORPHANS;
use crate::unwind::report;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct LoopState {
    pub(super) thread: ThreadHandle,
    pub(super) gate: InFlightPosts,
    agenda: Lock<Timers>,
}

/// A closure that is to run now.
pub(super) enum Task {
    Sent(Message),
    Delayed(Delayed),
}

impl Task {
    pub(super) fn run(self) {
        match self {
            Self::Sent(message) => message.run(),
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
            gate: InFlightPosts::new(),
            agenda: Lock::new(Timers::default()),
        }
    }

    pub(super) fn post<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), Closed<F>> {
        let Some(inside) = self.gate.enter() else {
            return Err(Closed(f));
        };
        let posted = self.thread.post_quietly(MessageKind::LoopClosure, f)?;
        // Before the bell is rung, as its hook is foreign code.
        drop(inside);
        posted.finish();
        Ok(())
    }

    pub(super) fn post_after<F: FnOnce() + Send + 'static>(
        &self,
        delay: Duration,
        f: F,
    ) -> Result<PostId, Closed<F>> {
        let Some(inside) = self.gate.enter() else {
            return Err(Closed(f));
        };
        let post = Box::new(f);
        let (id, first) = self.agenda.lock().insert(delay, post);
        // Before the bell is rung, as its hook is foreign code.
        drop(inside);
        if first {
            self.ring();
        }
        Ok(id)
    }

    pub(super) fn cancel(&self, id: PostId) -> bool {
        let cancelled = self.agenda.lock().cancel(id);
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
            return if self.gate.is_shut() {
                Err(Closed(f))
            } else {
                Ok(f())
            };
        }
        let call = Arc::new(Call::new(f));
        let message = call.clone();
        let refused = self.post(move || message.run(target)).is_err();
        call.wait(|| refused || self.is_closed())
    }

    /// Asks for a frame.
    pub(super) fn request(&self) {
        let first = self.agenda.lock().request();
        if first {
            self.ring();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.gate.is_shut() || !self.thread.is_alive()
    }

    pub(super) fn ring(&self) {
        self.thread.0.waker.wake();
    }
}

/// For the loop, on its thread.
impl LoopState {
    /// Sleeps until there is a message, something is due or asked for, or it is shut; not at
    /// all if drains have left something. Returns whether it is still open.
    pub(super) fn sleep(&self) -> bool {
        // Messages that come when it is awake may wake it once more, in vain.
        while self.arm_inboxes() {
            // In this order: whoever changes one of these after we have looked rings
            // after that, so the sleep below ends at once.
            let due = {
                let agenda = self.agenda.lock();
                if agenda.is_pressing() || self.gate.is_shut() {
                    break;
                }
                agenda.next_due()
            };
            self.thread.0.waker.sleep(due);
        }
        !self.gate.is_shut()
    }

    /// Has the next message ring, unless there is something to do already; returns whether it will.
    fn arm_inboxes(&self) -> bool {
        let is_idle = thread_pools::with(|local| local.is_none_or(is_idle));
        is_idle && self.thread.0.arm(!in_destructor())
    }

    /// Has the next push ring; rings at once if there is something to do already. For
    /// loops that wait in a foreign event loop.
    pub(super) fn arm(&self) {
        if !self.arm_inboxes() || self.agenda.lock().is_pressing() {
            self.ring();
        }
    }

    pub(super) fn disarm(&self) {
        self.thread.0.disarm();
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
        self.agenda.lock().next_due()
    }

    /// A frame begins: what was asked for until now is granted.
    pub(super) fn grant(&self) {
        self.agenda.lock().granted();
    }

    /// Returns whether a frame has something to do but to make releases, which go to the backlog.
    pub(super) fn needs_frame(&self) -> bool {
        // A loop whose thread ends cannot sleep any more.
        collected() > 0 || self.agenda.lock().is_pressing() || !self.thread.is_alive()
    }

    /// Runs the closures that are here and due at its beginning, each by `each`. Panics
    /// are reported. The releases that came with them go to the backlog.
    pub(super) fn round(&self, each: impl Fn(Task)) -> Round {
        let mut round = Round::default();
        // Never in the middle of somebody's release; they wait.
        if in_destructor() {
            return round;
        }
        let here = collected();
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
            let next = || local?.run_posted(|call| run(Task::Sent(call)));
            std::iter::from_fn(next).take(here).for_each(drop);
        });
        round
    }

    /// Takes out the delayed posts that are due now, in order; each when it is asked for, so that
    /// an earlier one can cancel it.
    fn pop_due(&self) -> impl Iterator<Item = Delayed> + '_ {
        let horizon = self.agenda.lock().horizon();
        std::iter::from_fn(move || self.agenda.lock().pop_due(horizon))
    }

    /// Refuses posts from now on, runs those that were accepted and are due, and drops
    /// the others with an event. Inside a destructor or drain, nothing runs: what is accepted and
    /// due stays with the thread.
    pub(super) fn close(&self, each: impl Fn(Task)) {
        self.gate.shut();
        self.gate.wait_until_empty();
        if in_destructor() {
            self.leave_to_the_thread();
        } else {
            self.round(each);
        }
        let left = self.agenda.lock().take_all();
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
    fn leave_to_the_thread(&self) {
        let message = |f| self.thread.announced(MessageKind::LoopClosure, f).1;
        // A thread that has exited has no loop with anything that is due.
        thread_pools::with(|local| local.map(|local| local.put_first(self.pop_due().map(message))));
    }
}

/// Returns whether nothing waits that was taken out, or that drains have left to the next one.
fn is_idle(local: &ThreadPools) -> bool {
    // Drains inside a destructor leave alone what others have sent.
    let for_others = || local.has_claimed() || ORPHANS.has_releases();
    let has_backlog = local.first.backlog.len() > 0 || !in_destructor() && for_others();
    local.posted() == 0 && !has_backlog
}

/// Takes out the closures that were posted; returns how many are out. Releases stay where they are:
/// they come after the closures, and within a budget.
fn collected() -> usize {
    thread_pools::with(|local| {
        local.map_or(0, |local| {
            local.collect_posted();
            local.posted()
        })
    })
}

/// A pool around `f` that is then drained within a budget, and the backlog with it.
/// No panic gets out: they are reported.
pub(super) fn work(name: &'static str, budget: Budget, f: impl FnOnce()) {
    let work = |pool: &mut AutoreleasePool| {
        f();
        pool.drain_coarsely(budget);
    };
    if let Err(payload) = catch_unwind(|| named_scope(name, work)) {
        report(payload);
    }
}
