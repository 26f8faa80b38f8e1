//! The part of a thread's exit that empties and gives up its pools.

use super::engine::{drain, run_last, serve_as, work_off};
use super::outcome::Outcome;
use super::pending;
use super::turns::Serves;
use crate::event::{Event, EventKind};
use crate::object::header::header;
use crate::pool::stack::budget::{Limit, Meter};
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::catch_unwind;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::Record;
use crate::unwind::{FirstPanic, Payload, report};
use std::ptr;
use std::sync::Arc;

/// How many drains an exit makes to keep up with destructors that feed its pools, besides those of the
/// pools that are open when it begins.
const DRAINS: usize = 100_000;

/// Drains root and token pools until they stay empty, closes the inbox, and hands the closures that
/// no loop has accepted to the orphans. Leaves open guard pools alone: references that forgotten
/// pools have lent may live for ever. Calls `set_exited` when the thread must not find the pools
/// any more, except for pools that it opens since. Returns the events that are due, which the caller emits
/// last: their hook is foreign code.
///
/// Afterwards `pools` is detached, and counts as open its guards' pools, and one more for the caller.
///
/// Does not unwind, as nothing could catch the panic.
pub(in crate::pool) fn exit(
    pools: &ThreadPools,
    record: &Arc<Record>,
    set_exited: fn(&ThreadPools),
) -> Vec<Event> {
    pools.exiting.set(true);
    let mut exit = PoolsExit {
        pools,
        record,
        drains: DRAINS
            + pools
                .stacks()
                .map(|stack| stack.tokens().count() + 2)
                .sum::<usize>(),
        served: 0,
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
    while pools.run_posted(|call| ORPHANS.adopt(call)).is_some() {}
    for stack in pools.stacks() {
        exit.leak(&stack.root);
        stack.root.entries.clear(&pools.pages);
    }
    pools.reviews.leave(&pools.attention);
    pools.stacks().for_each(PoolStack::fall_back_to_root);
    let guards = pools.open_guards();
    // Normally none.
    let tokens: usize = pools.stacks().map(|stack| stack.tokens().count()).sum();
    pools.detach(guards + tokens + 1);
    if guards > 0 {
        pools.list();
    }
    set_exited(pools);
    for stack in pools.stacks() {
        stack.retire(record.key());
    }
    let mut events = exit.events;
    if guards > 0 {
        events.push(Event::new(EventKind::OpenAtExit, record.label()).count(guards));
    }
    events
}

/// The exit of a thread's pools, in progress.
struct PoolsExit<'x> {
    pools: &'x ThreadPools,
    record: &'x Record,
    /// How many more drains the exit makes.
    drains: usize,
    /// Generations of duties that the exit has served.
    served: u32,
    events: Vec<Event>,
}

impl PoolsExit<'_> {
    /// Empties all root and token pools once. Returns whether there was anything to do: if so,
    /// foreign code may have filled other pools, even if no entry was released.
    fn empty_all(&mut self) -> bool {
        let mut any = self.serve();
        for stack in self.pools.stacks() {
            while let Some(pool) = stack.last_token() {
                any = true;
                let panic = stack.popping(pool, || self.empty(pool));
                // Destructors may have pushed other pools.
                let closing = stack.last_token().is_some_and(|last| ptr::eq(last, pool));
                if closing && pool.life.is_draining() {
                    stack.abandon_token(pool);
                } else if closing {
                    stack.close_token(pool, false);
                }
                // Reports the panic last: the hook is foreign code, which may pop and push pools.
                panic.into_iter().for_each(report);
            }
            if stack.backlog.len() > 0 {
                any = true;
                self.empty_backlog(stack).into_iter().for_each(report);
            }
            if !stack.root.entries.is_empty() {
                any = true;
                self.empty(&stack.root).into_iter().for_each(report);
            }
        }
        any
    }

    /// Serves the thread's duties, for a limited number of generations. Returns whether there was anything
    /// to do.
    fn serve(&mut self) -> bool {
        if self.served as usize >= DRAINS {
            return false;
        }
        let mut panics = FirstPanic::default();
        let meter = Meter::unlimited(Limit::SOME);
        let served = serve_as(Serves::Exit, Some(self.pools), meter, &mut panics);
        panics.into_first().into_iter().for_each(report);
        self.served += served.generations;
        served.generations > 0
    }

    /// Runs the closures of loops that destructors in this exit have created and dropped, or
    /// forgotten. Returns whether there were any.
    fn run_posts(&mut self) -> bool {
        self.drains = self.drains.saturating_sub(1);
        self.drains > 0 && self.pools.run_posts_of_loops()
    }

    /// Calls `drain`, unless the exit has made too many drains. Returns whether the rest has to be
    /// leaked, and the first panic.
    fn drain(&mut self, drain: impl FnOnce() -> Outcome) -> (bool, Option<Payload>) {
        if self.drains == 0 {
            return (true, None);
        }
        self.drains -= 1;
        match catch_unwind(drain) {
            Ok(outcome) => (outcome.is_cut, outcome.panic),
            // Drains do not unwind. Catching a panic is a precaution, as a panic here would abort
            // the process.
            Err(payload) => (false, Some(payload)),
        }
    }

    /// Empties a pool; after too many drains, by leaking its entries. Returns the first panic.
    fn empty(&mut self, pool: &PoolState) -> Option<Payload> {
        let (is_cut, panic) = self.drain(|| drain(pool, Limit::SOME));
        if is_cut {
            self.leak(pool);
        }
        panic
    }

    /// Empties a backlog; after too many drains, by leaking it. Objects that destructors autorelease
    /// go to the root pool. Returns the first panic.
    fn empty_backlog(&mut self, stack: &PoolStack) -> Option<Payload> {
        let meter = Meter::unlimited(Limit::SOME);
        let (is_cut, panic) = self.drain(|| work_off(stack, meter, Serves::Nothing));
        if is_cut {
            let leaked = pending::leak(stack);
            let event = Event::new(EventKind::CutOff, self.record.label());
            self.events.push(event.pool("backlog").count(leaked));
        }
        panic
    }

    /// Leaks and reports the entries that are left in a pool, normally none.
    fn leak(&mut self, pool: &PoolState) {
        // SAFETY: no entry is taken out here.
        let Some(last) = unsafe { pool.entries.newest_first() }.next() else {
            return;
        };
        // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
        let name = unsafe { header(last) }.type_info.type_name();
        let leaked = pool.entries.clear(&self.pools.pages);
        let event = Event::new(EventKind::CutOff, self.record.label());
        self.events
            .push(event.pool(pool.name()).of_type(name).count(leaked));
    }

    /// Closes the thread's inboxes, and runs the releases that are left in them.
    fn close_inbox(&self) {
        self.pools.close_posted();
        let mut panics = FirstPanic::default();
        let messages = self.record.releases.inbox().close();
        run_last(self.pools, self.record, messages, &mut panics);
        panics.into_first().into_iter().for_each(report);
    }
}
