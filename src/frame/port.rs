//! What a loop and those who post to it share.
//!
//! There is no queue of its own: a post is a message in the inbox of the loop's
//! thread. Beside it stand the [gate](super::gate), as a loop may be closed before its
//! thread ends, and the [agenda](super::agenda) of what is to be done later.

use super::agenda::{Agenda, Delayed, PostId};
use super::call::Call;
use super::gate::Gate;
use crate::event::{Event, EventKind};
use crate::object::destroy::in_destructor;
use crate::pool::budget::Budget;
use crate::pool::guard::{AutoreleasePool, named_scope};
use crate::pool::local::{self, Local};
use crate::sync::{Lock, catch_unwind};
use crate::thread::handle::{Closed, ThreadHandle};
use crate::thread::inbox::{Kind, Message};
use crate::thread::orphans::ORPHANS;
use crate::thread::record::{current_key, current_label};
use crate::unwind::report;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Port {
    pub(super) thread: ThreadHandle,
    pub(super) gate: Gate,
    agenda: Lock<Agenda>,
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
impl Port {
    pub(super) fn new(thread: ThreadHandle) -> Self {
        Self {
            thread,
            gate: Gate::new(),
            agenda: Lock::new(Agenda::default()),
        }
    }

    pub(super) fn post<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), Closed<F>> {
        let Some(inside) = self.gate.enter() else {
            return Err(Closed(f));
        };
        let posted = self.thread.post_quietly(Kind::Post, f)?;
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
        if !self.thread.is_alive() {
            return Err(Closed(f));
        }
        let post = Box::new(f);
        let (id, first) = self.agenda.lock().insert(delay, post);
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
        self.thread.0.bell.ring();
    }
}

/// For the loop, on its thread.
impl Port {
    fn has_posted(&self) -> bool {
        local::with(|local| local.is_some_and(|local| local.posted() > 0))
    }

    /// Sleeps until there is mail, something is due or asked for, or it is shut; not at
    /// all if drains have left something.
    pub(super) fn sleep(&self) {
        let record = &*self.thread.0;
        while !self.has_posted() && !has_backlog() && record.arm(!in_destructor()) {
            // In this order: whoever changes one of these after we have looked rings
            // after that, so the sleep below ends at once.
            let (pressing, due) = {
                let agenda = self.agenda.lock();
                (agenda.is_pressing(), agenda.next_due())
            };
            let awake = pressing || self.gate.is_shut();
            if !awake {
                record.bell.sleep(due);
            }
            record.disarm();
            if awake {
                break;
            }
        }
    }

    /// Has the next push ring; rings at once if there is something to do already. For
    /// loops that wait in a foreign event loop.
    pub(super) fn arm(&self) {
        let armed = !self.has_posted() && !has_backlog() && self.thread.0.arm(!in_destructor());
        let pressing = self.agenda.lock().is_pressing();
        if !armed || pressing {
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

    /// Whether a frame has something to do but to make releases, which go to the backlog.
    pub(super) fn needs_frame(&self) -> bool {
        collect();
        // A loop whose thread ends cannot sleep any more.
        self.has_posted() || self.agenda.lock().is_pressing() || !self.thread.is_alive()
    }

    /// Runs the closures that are here and due at its beginning, each by `each`. Panics
    /// are reported. The releases that came with them go to the backlog.
    pub(super) fn round(&self, each: impl Fn(Task)) -> Round {
        let mut round = Round::default();
        // Never in the middle of somebody's release; they wait.
        if !in_destructor() {
            collect();
            self.run_closures(&mut round, each);
        }
        round
    }

    fn run_closures(&self, round: &mut Round, each: impl Fn(Task)) {
        let mut run = |task| {
            round.closures += 1;
            if let Err(payload) = catch_unwind(|| each(task)) {
                round.panics += 1;
                report(payload);
            }
        };
        local::with(|local| {
            let here = local.map_or(0, Local::posted);
            let horizon = self.agenda.lock().horizon();
            loop {
                let due = self.agenda.lock().pop_due(horizon);
                let Some(due) = due else { break };
                run(Task::Delayed(due));
            }
            let Some(local) = local else { return };
            for _ in 0..here {
                // Fewer, if one of them has run the inbox.
                if local.run_posted(|call| run(Task::Sent(call))).is_none() {
                    break;
                }
            }
        });
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

impl Port {
    /// Leaves what is due to the thread, for whoever runs its closures next, before those that were
    /// posted.
    fn leave_to_the_thread(&self) {
        let horizon = self.agenda.lock().horizon();
        let due = std::iter::from_fn(|| self.agenda.lock().pop_due(horizon));
        local::with(|local| match local {
            Some(local) => local.put_first(due.map(|f| self.thread.announced(Kind::Post, f).1)),
            // The thread has exited: nothing else is going to run here.
            None => due.for_each(|f| {
                if let Err(payload) = catch_unwind(f) {
                    report(payload);
                }
            }),
        });
    }
}

/// Whether drains have left something that the next one goes on with.
fn has_backlog() -> bool {
    local::with(|local| {
        local.is_some_and(|local| {
            // Drains inside a destructor leave alone what others have sent.
            let for_others = || local.has_claimed() || ORPHANS.has_releases();
            local.first.backlog.len() > 0 || !in_destructor() && for_others()
        })
    })
}

/// Takes out the closures that were posted. Releases stay where they are: they come after the
/// closures, and within a budget.
fn collect() {
    local::with(|local| {
        if let Some(local) = local {
            local.collect_posted();
        }
    });
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
