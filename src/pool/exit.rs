//! What a thread's end does with its pools.

use super::backlog;
use super::budget::Budget;
use super::pool_stack::PoolStack;
use super::state::PoolState;
use super::thread_pools::{self, ThreadPools};
use super::{drain, remote_release, token};
use crate::event::{Event, EventKind};
use crate::object::destroy::ReleaseScope;
use crate::object::header::header;
use crate::sync::catch_unwind;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::Record;
use crate::unwind::{FirstPanic, Payload, report};
use std::ptr;
use std::sync::Arc;

/// Generations of destructors that may feed the pools of an ending thread, and
/// drains that it makes to keep up with them.
const LIMIT: u32 = 100_000;

/// Drains root and token pools until nothing comes any more, closes the inbox,
/// and hands on the closures that nobody asked for. Open guard pools are left
/// alone: references out of forgotten ones may live for ever.
///
/// No panic gets out, as it would have nowhere to go.
pub(crate) fn exit(record: &Arc<Record>) {
    let Some(attached) = thread_pools::attached() else {
        return;
    };
    // SAFETY: freed only by `detach`, below.
    let local = unsafe { attached.as_ref() };
    local.exiting.set(true);
    let mut exit = Exit {
        local,
        record,
        drains: 0,
        events: Vec::new(),
    };
    let mut inbox_open = true;
    loop {
        if exit.empty_all() || exit.run_posts() {
            continue;
        }
        if !inbox_open {
            break;
        }
        inbox_open = false;
        exit.close_inbox();
    }
    while local.run_posted(|call| ORPHANS.adopt(call)).is_some() {}
    for stack in stacks(local) {
        exit.leak(&stack.root);
        stack.root.entries.clear(&local.pages);
    }
    thread_pools::set_exited();
    for stack in stacks(local) {
        stack.retire(record.key());
    }
    let guards = local.open_guards();
    let mut events = exit.events;
    if guards > 0 {
        events.push(Event::new(EventKind::OpenAtExit, record.label()).count(guards));
    }
    // SAFETY: the thread does not find the block any more; only guards do.
    unsafe { ThreadPools::detach(attached, guards) };
    // Last, as the hook is foreign code: to it the thread has no pools any more.
    events.into_iter().for_each(Event::emit);
}

fn stacks(local: &ThreadPools) -> impl Iterator<Item = &PoolStack> {
    (0..).map_while(|n| local.nth_stack(n))
}

struct Exit<'x> {
    local: &'x ThreadPools,
    record: &'x Record,
    drains: u32,
    events: Vec<Event>,
}

impl Exit<'_> {
    /// Empties all root and token pools once. Whether there was anything: foreign code
    /// may then have filled others, even if no entry was released.
    fn empty_all(&mut self) -> bool {
        let mut any = self.local.has_claimed();
        if let Some(payload) = remote_release::deliver_left(self.local) {
            report(payload);
        }
        for stack in stacks(self.local) {
            while let Some(head) = stack.last_token() {
                any = true;
                let panic = self.empty(head);
                // Destructors may have pushed others.
                let closing = stack.last_token().is_some_and(|last| ptr::eq(last, head));
                if closing {
                    token::close(stack, head);
                }
                // Only now, as foreign code hears of it, which may pop and push.
                panic.into_iter().for_each(report);
            }
            if stack.backlog.len() > 0 {
                any = true;
                self.empty_backlog(stack);
            }
            if !stack.root.entries.is_empty() {
                any = true;
                self.empty(&stack.root).into_iter().for_each(report);
            }
        }
        any
    }

    /// Runs the closures of loops that were made and dropped, or forgotten, by what this exit has
    /// destroyed. Returns whether there were any.
    fn run_posts(&mut self) -> bool {
        self.drains += 1;
        self.drains < LIMIT && self.local.run_posts_of_loops()
    }

    /// Empties a pool; after too many drains, by leaking. Gives the first panic.
    fn empty(&mut self, head: &PoolState) -> Option<Payload> {
        if self.drains >= LIMIT {
            self.leak(head);
            return None;
        }
        self.drains += 1;
        match catch_unwind(|| drain::drain(head, Some(LIMIT))) {
            Ok(outcome) => {
                if outcome.cut.is_some() {
                    self.leak(head);
                }
                outcome.panic
            }
            // A drain lets none out; but here one would end the process.
            Err(payload) => Some(payload),
        }
    }

    /// Empties a backlog; after too many drains, by leaking. Destructors feed the root pool.
    fn empty_backlog(&mut self, stack: &PoolStack) {
        if self.drains >= LIMIT {
            let leaked = backlog::leak(stack);
            let event = Event::new(EventKind::CutOff, self.record.label());
            return self.events.push(event.pool("backlog").count(leaked));
        }
        self.drains += 1;
        // No more than is there, as destructors may go on feeding it by budgeted drains.
        let budget = Budget::Count(stack.backlog.len());
        let panic = match catch_unwind(|| backlog::drain(stack, budget)) {
            Ok(panic) => panic,
            Err(payload) => Some(payload),
        };
        panic.into_iter().for_each(report);
    }

    /// Gives up what is left in a pool, normally nothing.
    fn leak(&mut self, head: &PoolState) {
        // SAFETY: nothing is taken out here.
        let Some(last) = unsafe { head.entries.newest_first() }.next() else {
            return;
        };
        // SAFETY: alive by the entry's reference.
        let name = unsafe { header(last) }.type_info.type_name();
        let leaked = head.entries.clear(&self.local.pages);
        let event = Event::new(EventKind::CutOff, self.record.label());
        self.events
            .push(event.pool(head.name()).of_type(name).count(leaked));
    }

    fn close_inbox(&self) {
        self.local.close_posted();
        let mut panics = FirstPanic::default();
        {
            let scope = ReleaseScope::enter();
            for message in self.record.releases.inbox().close() {
                // What its destructor autoreleases must not end in a pool that was forgotten.
                stacks(self.local).for_each(PoolStack::fall_back_to_root);
                remote_release::run_own(self.local, self.record, message, &scope, &mut panics);
            }
        }
        if let Some(payload) = panics.into_first() {
            report(payload);
        }
    }
}
