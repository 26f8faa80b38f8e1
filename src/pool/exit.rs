//! What the exit of a thread does with its pools.

use super::budget::Budget;
use super::pool_stack::{PoolStack, PoolState};
use super::thread_pools::ThreadPools;
use super::{budgeted_drain, drain, pending, remote_release};
use crate::event::{Event, EventKind};
use crate::ledger;
use crate::object::destroy::ReleaseScope;
use crate::object::header::header;
use crate::sync::catch_unwind;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::Record;
use crate::unwind::{FirstPanic, Payload, report};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// How many generations of destructors may feed the pools of a thread that exits, and how many
/// drains it makes to keep up with them. An object that has died unnoticed counts as a drain.
const LIMIT: u32 = 100_000;

/// Drains root and token pools until they stay empty, closes the inbox, and hands the closures that
/// were not asked for to the orphans. Leaves open guard pools alone: references that forgotten ones
/// lent may live for ever. Calls `set_exited` when the thread must not find the pools any more.
///
/// Does not unwind, as nothing could catch the panic.
///
/// # Safety
/// `attached` is the calling thread's; after `set_exited` nothing but open guards finds it.
pub(super) unsafe fn exit(attached: NonNull<ThreadPools>, record: &Arc<Record>, set_exited: fn()) {
    // SAFETY: freed only by `detach`, below.
    let pools = unsafe { attached.as_ref() };
    pools.exiting.set(true);
    let mut exit = PoolsExit {
        pools,
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
    while pools.run_posted(|call| ORPHANS.adopt(call)).is_some() {}
    for stack in stacks(pools) {
        exit.leak(&stack.root);
        stack.root.entries.clear(&pools.pages);
    }
    pools.reviews.leave();
    set_exited();
    for stack in stacks(pools) {
        stack.retire(record.key());
    }
    let guards = pools.open_guards();
    let mut events = exit.events;
    if guards > 0 {
        events.push(Event::new(EventKind::OpenAtExit, record.label()).count(guards));
    }
    // SAFETY: only open guards find it any more, by the contract, and `pools` is not used below.
    unsafe { ThreadPools::detach(attached, guards) };
    // Last, as the hook is foreign code: to it the thread has no pools any more.
    events.into_iter().for_each(Event::emit);
    ledger::drained_last();
}

fn stacks(pools: &ThreadPools) -> impl Iterator<Item = &PoolStack> {
    (0..).map_while(|n| pools.nth_stack(n))
}

/// The exit of a thread's pools, in progress.
struct PoolsExit<'x> {
    pools: &'x ThreadPools,
    record: &'x Record,
    drains: u32,
    events: Vec<Event>,
}

impl PoolsExit<'_> {
    /// Empties all root and token pools once. Returns whether there was anything: foreign code may
    /// then have filled others, even if no entry was released.
    fn empty_all(&mut self) -> bool {
        let mut any = self.pools.has_claimed();
        if let Some(payload) = remote_release::deliver_left(self.pools) {
            report(payload);
        }
        if self.drains < LIMIT && self.pools.reviews.noted() > 0 {
            any = true;
            let (released, panic) = self.pools.reviews.deliver_left();
            self.drains += 1 + released;
            panic.into_iter().for_each(report);
        }
        for stack in stacks(self.pools) {
            while let Some(pool) = stack.last_token() {
                any = true;
                let panic = self.empty(pool);
                // Destructors may have pushed others.
                let closing = stack.last_token().is_some_and(|last| ptr::eq(last, pool));
                if closing {
                    stack.close_token(pool);
                }
                // Only now, as the hook is foreign code, which may pop and push.
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

    /// Runs the closures of loops that were created and dropped, or forgotten, by the objects that
    /// this exit has destroyed. Returns whether there were any.
    fn run_posts(&mut self) -> bool {
        self.drains += 1;
        self.drains < LIMIT && self.pools.run_posts_of_loops()
    }

    /// Empties a pool; after too many drains, by leaking its entries. Returns the first panic.
    fn empty(&mut self, pool: &PoolState) -> Option<Payload> {
        if self.drains >= LIMIT {
            self.leak(pool);
            return None;
        }
        self.drains += 1;
        match catch_unwind(|| drain::drain(pool, Some(LIMIT))) {
            Ok(outcome) => {
                if outcome.cut.is_some() {
                    self.leak(pool);
                }
                outcome.panic
            }
            // Drains do not unwind; but a panic here would abort the process.
            Err(payload) => Some(payload),
        }
    }

    /// Empties a backlog; after too many drains, by leaking it. What destructors autorelease goes to
    /// the root pool.
    fn empty_backlog(&mut self, stack: &PoolStack) {
        if self.drains >= LIMIT {
            let leaked = pending::leak(stack);
            let event = Event::new(EventKind::CutOff, self.record.label());
            return self.events.push(event.pool("backlog").count(leaked));
        }
        self.drains += 1;
        // No more than is there, as destructors may feed it for ever by budgeted drains.
        let budget = Budget::Count(stack.backlog.len());
        let panic = match catch_unwind(|| budgeted_drain::drain(stack, budget)) {
            Ok(panic) => panic,
            Err(payload) => Some(payload),
        };
        panic.into_iter().for_each(report);
    }

    /// Leaks what is left in a pool, normally nothing, and reports it.
    fn leak(&mut self, pool: &PoolState) {
        // SAFETY: nothing is taken out here.
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
        {
            let scope = ReleaseScope::enter();
            for message in self.record.releases.inbox().close() {
                // What its destructor autoreleases must not go to a pool that was forgotten.
                stacks(self.pools).for_each(PoolStack::fall_back_to_root);
                remote_release::run_own(self.pools, self.record, message, &scope, &mut panics);
            }
        }
        if let Some(payload) = panics.into_first() {
            report(payload);
        }
    }
}
