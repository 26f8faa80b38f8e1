//! Draining within a budget.
//!
//! A pool's entries go to the end of the stack's backlog, and the drain releases from the front as
//! far as the budget goes. Only budgeted drains release from a backlog, among them those of the
//! thread's exit and of `shutdown`. Nested releases queue instead of recursing, so that they count;
//! those that are left when the budget is spent go to the front.
//!
//! What other threads have sent, and orphans, are not part of a backlog: they stay messages, which
//! count until they have run, and take turns with it. So does the work to get at them.

use super::backlog::Item;
use super::budget::{Budget, Drained, Meter};
use super::chain::Barrier;
use super::checks;
use super::drain::{Draining, ROUNDS, WARN_AT, drain_asked};
use super::entries::Entries;
use super::epoch;
use super::page_chain::PageChain;
use super::pool_stack::{ChainFrame, PoolStack, PoolState};
use super::remote_release;
use super::thread_pools::ThreadPools;
use super::watch;
use crate::event::{Event, EventKind};
use crate::ledger::{self, CHECKS, ReleasedBy};
use crate::object::count::Released;
use crate::object::destroy::{ReleaseScope, destroy_dead};
use crate::object::header::{Thin, checked, header};
use crate::object::thread_bound;
use crate::sync::catch_unwind;
use crate::thread::claimed::Next;
use crate::thread::current::{current_label, tally_destroyed};
use crate::thread::inbox::{Message, MessageKind};
use crate::thread::orphans::{ORPHANS, OrphanClaim};
use crate::unwind::{FirstPanic, Payload};

/// How many of the thread's own releases are made for each orphan, and for each turn of those that
/// other threads have sent.
const TURN: usize = 16;

/// Moves the entries of a pool to the backlog, and releases from that within the budget. What
/// destructors autorelease goes to the pool, which is current meanwhile, and so to the backlog.
/// Returns the first panic, too.
pub(crate) fn drain_pool(pool: &PoolState, meter: Meter) -> (Drained, Option<Payload>) {
    // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
    let stack = unsafe { &*pool.stack.get() };
    pool.unpin();
    pool.set_budgeted(true);
    let mut drain = BudgetedDrain::new(stack, pool, meter);
    let outermost = drain.scope.serves_thread();
    drain.delivers_remote = outermost;
    let result = drain.run(true);
    if outermost && ledger::awaits_drain() {
        ledger::drained();
    }
    result
}

/// Releases from a backlog alone within the budget. What destructors autorelease goes to the root
/// pool. Returns the first panic.
pub(crate) fn drain(stack: &PoolStack, budget: Budget) -> Option<Payload> {
    BudgetedDrain::new(stack, &stack.root, Meter::coarse(budget))
        .run(false)
        .1
}

/// A budgeted drain in progress.
struct BudgetedDrain<'d> {
    stack: &'d PoolStack,
    pools: &'d ThreadPools,
    /// The pool that is current meanwhile.
    pool: &'d PoolState,
    scope: ReleaseScope,
    /// True if this drain also makes remote releases.
    delivers_remote: bool,
    meter: Meter,
    panics: FirstPanic,
    /// How many of the releases are left that other threads had sent when the drain began. Those
    /// that arrive meanwhile are left for later, as they may arrive for ever.
    remote_left: u64,
    /// The orphans that were there when the drain began.
    orphans: Option<OrphanClaim>,
    ran_orphans: bool,
    /// How often destructors have added entries to the pool.
    generation: u32,
}

impl<'d> BudgetedDrain<'d> {
    fn new(stack: &'d PoolStack, pool: &'d PoolState, meter: Meter) -> Self {
        let scope = ReleaseScope::enter_queueing();
        Self {
            delivers_remote: false,
            remote_left: 0,
            stack,
            pools: stack.thread_pools(),
            pool,
            scope,
            meter,
            panics: FirstPanic::default(),
            orphans: None,
            ran_orphans: false,
            generation: 0,
        }
    }

    fn run(mut self, collect: bool) -> (Drained, Option<Payload>) {
        let mut orphans_left = 0;
        {
            let frame = ChainFrame::new(true);
            let _current = Barrier::raise(self.stack, &frame, self.pool);
            let _draining = Draining::begin(self.pool);
            if collect {
                self.collect();
            }
            if self.delivers_remote {
                if ORPHANS.has_deferred() {
                    epoch::advance(Some(&self.pools.participants));
                }
                // With no budget left, the claim would only be given back.
                self.orphans = (!self.meter.is_spent()).then(|| ORPHANS.claim());
                self.remote_left = self.pools.remote_releases() as u64;
                if let Some(record) = self.pools.record() {
                    self.pools.claimed.take_in(record.releases.inbox());
                }
            }
            let mut rounds = 0;
            while !self.meter.is_spent() {
                if self.turn() {
                    if collect {
                        self.collect();
                    }
                } else if rounds < ROUNDS && self.made_ready() {
                    rounds += 1;
                } else {
                    break;
                }
            }
            if self.stack.stats.is_asked() && self.scope.serves_thread() {
                drain_asked(self.pool, self.stack, None, &self.scope, &mut self.panics);
                if collect {
                    self.collect();
                }
            }
            self.keep_queued();
            if self
                .orphans
                .take()
                .is_some_and(|orphans| !orphans.is_empty())
            {
                orphans_left = ORPHANS.ready();
            }
        }
        self.stack.stats.backlog_is(self.stack.backlog.len());
        let mut remaining = self.stack.backlog.len();
        if self.delivers_remote {
            remaining += self.pools.remote_releases() + orphans_left + self.pools.reviews.noted();
        }
        watch::backlog(self.stack, self.pool);
        (self.meter.report(remaining), self.panics.into_first())
    }

    /// Claims what slots have given up, if some of it has become ready now, and this drain has run
    /// orphans: what it released may have held the epoch. Returns whether some has.
    fn made_ready(&mut self) -> bool {
        let Some(orphans) = &mut self.orphans else {
            return false;
        };
        if !self.ran_orphans
            || !ORPHANS.has_deferred()
            || !epoch::advance_until_ready(Some(&self.pools.participants))
        {
            return false;
        }
        *orphans = ORPHANS.claim();
        true
    }

    /// Moves the pool's entries to the end of the backlog.
    fn collect(&mut self) {
        if !self.pool.entries.is_empty() {
            self.generation += 1;
            if self.generation == WARN_AT {
                let event = Event::new(EventKind::EndlessDrain, current_label());
                event.pool(self.pool.name()).count(WARN_AT as usize).emit();
            }
            let entries = self.pool.entries.take_all();
            self.stack.backlog.put_last(Item::Entries(entries));
        }
    }

    /// Makes some releases of each source in turn; returns whether there were any.
    fn turn(&mut self) -> bool {
        let orphan = self.run_orphan();
        let until = self.meter.released().saturating_add(TURN);
        let mut own = false;
        while !self.is_done(until) {
            let Some(first) = self.stack.backlog.take_first() else {
                break;
            };
            own = true;
            self.release_item(first, until);
        }
        let until = self.meter.released().saturating_add(TURN);
        let remote = self.delivers_remote && self.run_remote(until);
        let until = self.meter.released().saturating_add(TURN);
        let unnoticed = self.delivers_remote && self.run_review(until);
        orphan || own || remote || unnoticed
    }

    fn is_done(&self, until: usize) -> bool {
        self.meter.is_spent() || self.meter.released() >= until
    }

    /// Makes the releases of an orphaned message within the budget; returns whether there was one.
    fn run_orphan(&mut self) -> bool {
        let Some(mut orphans) = self.orphans.take() else {
            return false;
        };
        let until = self.meter.released().saturating_add(TURN);
        let any = ORPHANS.run_part(&mut orphans, |message| self.run_message(message, until).1);
        self.orphans = Some(orphans);
        self.ran_orphans |= any;
        any
    }

    /// Makes releases that other threads have sent, up to a total of `until` or until the budget is
    /// spent. Returns whether there were any.
    fn run_remote(&mut self, until: usize) -> bool {
        let Some(record) = self.pools.record() else {
            return false;
        };
        let mut any = false;
        while self.remote_left > 0 && !self.is_done(until) {
            match self.pools.claimed.next(record.releases.inbox()) {
                Next::Run(message) => {
                    let pools = self.pools;
                    let (n, left) = pools.while_running(|| self.run_message(message, until));
                    record.releases.done(n.into());
                    self.remote_left = self.remote_left.saturating_sub(n.into());
                    left.into_iter()
                        .for_each(|m| self.pools.claimed.put_back(m));
                }
                Next::Again => self.meter.step(),
                Next::Nothing => break,
            }
            any = true;
        }
        any
    }

    /// Releases objects that have died unnoticed, up to a total of `until` or until the budget is
    /// spent. Returns whether there were any. The others wait for the next outermost drain.
    fn run_review(&mut self, until: usize) -> bool {
        let mut any = false;
        while self.pools.reviews.is_asked() && !self.is_done(until) {
            let Some(object) = self.pools.reviews.next_dead() else {
                break;
            };
            self.release_handle(object);
            any = true;
        }
        any
    }

    /// Makes the releases of a message, up to a total of `until` or until the budget is spent.
    /// Returns how many it made, and what is left of the message.
    fn run_message(&mut self, message: Message, until: usize) -> (u32, Option<Message>) {
        match message.kind() {
            MessageKind::Release => {
                self.release_handle(remote_release::take(message));
                (1, None)
            }
            MessageKind::DestroyAtHome | MessageKind::DestroyAnywhere => {
                self.destroy_queued(thread_bound::dead_object(message));
                (1, None)
            }
            MessageKind::ReleaseMany => {
                let entries = PageChain::entries(&message);
                let mut made = 0;
                while !self.is_done(until) && !entries.is_empty() {
                    made += self.release_entry(entries);
                }
                message.lighten(made);
                if !entries.is_empty() {
                    return (made, Some(message));
                }
                // SAFETY: a message of that kind, which we own.
                let entries = unsafe { PageChain::take(message.into_raw()) };
                entries.clear(&self.pools.pages);
                (made, None)
            }
            MessageKind::Closure
            | MessageKind::LoopClosure
            | MessageKind::FrameClosure
            | MessageKind::OrphanBatch => {
                unreachable!("these are no releases")
            }
        }
    }

    /// Makes the releases of one item, up to a total of `until` or until the budget is spent; the
    /// rest goes back to the front.
    fn release_item(&mut self, mut item: Item, until: usize) {
        loop {
            match &mut item {
                Item::Entries(entries) => {
                    let n = self.release_entry(entries);
                    self.stack.stats.released.add(u64::from(n));
                }
                Item::Dead(objects) => {
                    objects
                        .pop()
                        .into_iter()
                        .for_each(|o| self.destroy_queued(o));
                }
            }
            // At once: nothing else would give the pages back.
            if item.len() == 0 {
                if let Item::Entries(entries) = item {
                    entries.clear(&self.pools.pages);
                }
                return;
            }
            if self.is_done(until) {
                return self.stack.backlog.put_first(item);
            }
        }
    }

    /// Releases an entry, or several of the same object. Returns how many; 0 if there is none.
    fn release_entry(&mut self, entries: &Entries) -> u32 {
        if CHECKS {
            let newest = entries.newest(&self.pools.pages);
            newest
                .into_iter()
                .for_each(|thin| checks::entry(thin, || "backlog"));
        }
        let at_most = self.meter.at_most();
        let Some((thin, n)) = entries.take_some(&self.pools.pages, at_most) else {
            return 0;
        };
        self.release(thin, n);
        n
    }

    /// Releases a reference that was no pool's.
    fn release_handle(&mut self, thin: Thin) {
        ledger::released(thin, 1, ReleasedBy::Handle);
        self.release(thin, 1);
    }

    /// Releases `n` references to an object, which the caller gives up.
    fn release(&mut self, thin: Thin, n: u32) {
        self.meter.count(n as usize);
        // SAFETY: alive by the references, which are ours (invariant 5 of `pool`).
        let object = unsafe { header(thin) };
        let type_info = object.type_info;
        // SAFETY: as above.
        match unsafe { checked(thin, object.count.release_many(n)) } {
            Released::Alive => self.meter.quick(),
            Released::Unique if self.scope.deep => {
                // SAFETY: `release_many` says that this was the last strong reference.
                unsafe { self.scope.queue_unique(thin) };
                self.meter.quick();
            }
            Released::Last if self.scope.deep => {
                // SAFETY: `release_many` says that this was the last strong reference.
                unsafe { self.scope.destroy_last(thin) };
                self.meter.quick();
            }
            Released::Unique if !type_info.has_destructor => {
                tally_destroyed(1);
                // SAFETY: `release_many` says that this was the last strong reference.
                unsafe { (type_info.destroy)(thin) };
                self.meter.quick();
            }
            Released::Unique => self.run_destructor(thin, || {
                tally_destroyed(1);
                // SAFETY: `release_many` says that this was the last strong reference.
                unsafe { (type_info.destroy)(thin) };
            }),
            // SAFETY: `release_many` says that this was the last strong reference.
            Released::Last => self.run_destructor(thin, || unsafe { destroy_dead(thin) }),
        }
    }

    /// Destroys an object that was queued, and those that its destructor queues.
    fn destroy_queued(&mut self, thin: Thin) {
        self.meter.count(1);
        // SAFETY: it has no strong reference, and the queue owned it.
        self.run_destructor(thin, || unsafe { destroy_dead(thin) });
    }

    /// Runs a destructor by `run`, then those of the objects that it has queued, which go before
    /// anything older.
    fn run_destructor(&mut self, thin: Thin, run: impl FnOnce()) {
        self.measured(thin, run);
        while !self.meter.is_spent() {
            let Some(thin) = self.scope.next_dead() else {
                return;
            };
            self.meter.count(1);
            // SAFETY: it has no strong reference, and the queue owned it.
            self.measured(thin, || unsafe { destroy_dead(thin) });
        }
    }

    /// Runs a destructor by `run`, and catches and times it.
    fn measured(&mut self, thin: Thin, run: impl FnOnce()) {
        // SAFETY: not destroyed yet.
        let type_info = unsafe { header(thin) }.type_info;
        let meter = &mut self.meter;
        if let Err(payload) = catch_unwind(|| meter.time(type_info, run)) {
            self.panics.note(payload);
        }
    }

    /// Puts objects that have been queued and not destroyed at the front of the backlog.
    fn keep_queued(&self) {
        let dead = self.scope.take_dead();
        if !dead.is_empty() {
            self.stack.backlog.put_first(Item::Dead(dead));
        }
    }
}
