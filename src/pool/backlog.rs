//! What drains within a budget have left for later.
//!
//! Each thread has a backlog for each manager, first in, first out. Only budgeted
//! drains work at it, the end of the thread, and `shutdown`. Nested releases queue
//! instead of recursing, so that they count; what of them is left when the budget is
//! spent goes to the front.
//!
//! What other threads have sent, and orphans, are no part of a backlog: they stay messages, which
//! count until they have run, and take turns with it. So does the work to get at them.

use super::budget::{Budget, Drained, Meter};
use super::drain::{Draining, ROUNDS, WARN_AT, drain_asked};
use super::entries::Entries;
use super::epoch;
use super::handoff::PageChain;
use super::page::PageCache;
use super::pool_stack::{Barrier, PoolStack};
use super::remote_release;
use super::state::{Frame, PoolState};
use super::thread_pools::ThreadPools;
use super::watch;
use crate::event::{Event, EventKind};
use crate::object::count::Released;
use crate::object::destroy::{ReleaseScope, destroy_dead};
use crate::object::header::{Thin, checked, header};
use crate::object::thread_bound;
use crate::sync::catch_unwind;
use crate::sync::cell::{Cell, UnsafeCell};
use crate::thread::claimed::Next;
use crate::thread::current::{current_label, tally_destroyed};
use crate::thread::inbox::{Message, MessageKind};
use crate::thread::orphans::{ORPHANS, OrphanClaim};
use crate::unwind::{FirstPanic, Payload};
use std::collections::VecDeque;

/// How many of the thread's own releases come for each orphan, and of those that others have
/// sent.
const TURN: usize = 16;

/// Items that a backlog has room for, whatever waits in it.
const ITEMS: usize = 64;

/// Something to be done later.
enum Item {
    /// The entries of a pool.
    Entries(Entries),
    /// Objects without a strong reference, whose destructors have not run.
    Dead(Vec<Thin>),
}

impl Item {
    fn len(&self) -> usize {
        match self {
            Self::Entries(entries) => entries.len(),
            Self::Dead(objects) => objects.len(),
        }
    }
}

/// See the module.
pub(crate) struct Backlog {
    /// Never borrowed while other code runs.
    items: UnsafeCell<VecDeque<Item>>,
    len: Cell<usize>,
    /// See [`super::watch::backlog`].
    pub(super) next_mark: Cell<usize>,
}

impl Backlog {
    pub(super) fn new() -> Self {
        Self {
            items: UnsafeCell::new(VecDeque::new()),
            len: Cell::new(0),
            next_mark: Cell::new(0),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    fn put_last(&self, item: Item) {
        self.len.set(self.len.get() + item.len());
        // SAFETY: the thread's own; nothing else runs meanwhile.
        self.items
            .with_mut(|items| unsafe { (*items).push_back(item) });
    }

    fn put_first(&self, item: Item) {
        self.len.set(self.len.get() + item.len());
        // SAFETY: as in `put_last`.
        self.items
            .with_mut(|items| unsafe { (*items).push_front(item) });
    }

    fn take_first(&self) -> Option<Item> {
        self.items.with_mut(|items| {
            // SAFETY: as in `put_last`.
            let items = unsafe { &mut *items };
            let item = items.pop_front()?;
            self.len.set(self.len.get() - item.len());
            // A burst must not keep its memory for ever.
            if items.capacity() > ITEMS && items.len() < items.capacity() / 4 {
                items.shrink_to(items.capacity() / 2);
            }
            Some(item)
        })
    }

    /// Gives up what is left, by leaking it; returns how many that is.
    fn leak(&self, pages: &PageCache) -> usize {
        let leaked = self.len();
        while let Some(item) = self.take_first() {
            if let Item::Entries(entries) = item {
                entries.clear(pages);
            }
        }
        leaked
    }

    /// Hands `f` the objects that wait, first those that go next, as long as it returns
    /// `true`. `f` runs no foreign code.
    fn look_through(&self, mut f: impl FnMut(Thin) -> bool) {
        self.items.with(|items| {
            // SAFETY: as in `put_last`.
            for item in unsafe { &*items } {
                let goes_on = match item {
                    // SAFETY: `f` takes nothing out.
                    Item::Entries(entries) => unsafe { entries.newest_first().all(&mut f) },
                    Item::Dead(objects) => objects.iter().rev().all(|&thin| f(thin)),
                };
                if !goes_on {
                    break;
                }
            }
        });
    }

    fn contains(&self, thin: Thin) -> bool {
        let names = |item: &Item| match item {
            Item::Entries(entries) => entries.contains(thin),
            Item::Dead(_) => false,
        };
        // SAFETY: as in `put_last`.
        self.items
            .with(|items| unsafe { &*items }.iter().any(names))
    }
}

/// Returns whether the backlog of this stack, or what budgeted drains have taken out of the inbox,
/// has an entry for this object. Linear.
pub(crate) fn contains(stack: &PoolStack, thin: Thin) -> bool {
    let names = |message: &Message| match message.kind() {
        MessageKind::ReleaseMany => PageChain::entries(message).contains(thin),
        MessageKind::Release => remote_release::named(message) == thin,
        MessageKind::DestroyAtHome
        | MessageKind::DestroyAnywhere
        | MessageKind::Closure
        | MessageKind::LoopClosure
        | MessageKind::OrphanBatch => false,
    };
    stack.backlog.contains(thin) || !stack.local().claimed.none(names)
}

/// Hands `f` the objects that wait in the backlog of this stack, and in what budgeted drains have
/// taken out of the inbox, as long as it returns `true`. `f` runs no foreign code.
pub(super) fn look_through(stack: &PoolStack, f: &mut dyn FnMut(Thin) -> bool) {
    let mut goes_on = true;
    let mut look = |thin| {
        goes_on = goes_on && f(thin);
        goes_on
    };
    stack.backlog.look_through(&mut look);
    stack.local().claimed.none(|message| match message.kind() {
        MessageKind::ReleaseMany => {
            // SAFETY: `look` takes nothing out.
            !unsafe { PageChain::entries(message).newest_first() }.all(&mut look)
        }
        MessageKind::Release => !look(remote_release::named(message)),
        MessageKind::DestroyAtHome | MessageKind::DestroyAnywhere => !look(message.as_raw().cast()),
        MessageKind::Closure | MessageKind::LoopClosure | MessageKind::OrphanBatch => false,
    });
}

/// Gives up, by leaking it, what budgeted drains have left; returns how many that is.
pub(super) fn leak(stack: &PoolStack) -> usize {
    let local = stack.local();
    let mut leaked = stack.backlog.leak(&local.pages);
    // What is left of it in the inbox goes the way of all that comes late.
    if let Some(record) = local.record() {
        let claimed = local.claimed.leak();
        record.releases.done(claimed);
        leaked += claimed as usize;
    }
    leaked
}

/// Moves what is in a pool to the backlog, and works at that within the budget.
/// Destructors feed the pool, which is current meanwhile, and with it the backlog.
pub(crate) fn drain_pool(head: &PoolState, meter: Meter) -> (Drained, Option<Payload>) {
    // SAFETY: an open pool's stack is there.
    let stack = unsafe { &*head.stack.get() };
    head.unpin();
    head.set_frugal(true);
    let mut work = Work::new(stack, head, meter);
    work.for_others = work.scope.serves_thread();
    work.run(true)
}

/// Works at a backlog alone within the budget. Destructors feed the root pool. Returns the first
/// panic.
pub(crate) fn drain(stack: &PoolStack, budget: Budget) -> Option<Payload> {
    Work::new(stack, &stack.root, Meter::coarse(budget))
        .run(false)
        .1
}

/// A budgeted drain.
struct Work<'d> {
    stack: &'d PoolStack,
    local: &'d ThreadPools,
    /// The pool that is current meanwhile.
    head: &'d PoolState,
    scope: ReleaseScope,
    /// Whether it is for this drain to do what other threads have sent.
    for_others: bool,
    meter: Meter,
    panics: FirstPanic,
    /// How many releases other threads had sent when it began. Those that come meanwhile are for
    /// later, as they may come for ever.
    remote_left: u64,
    /// The orphans that were there; as above.
    orphans: Option<OrphanClaim>,
    ran_orphans: bool,
    /// How often destructors have fed the pool.
    generation: u32,
}

impl<'d> Work<'d> {
    fn new(stack: &'d PoolStack, head: &'d PoolState, meter: Meter) -> Self {
        let scope = ReleaseScope::enter_queueing();
        Self {
            for_others: false,
            remote_left: 0,
            stack,
            local: stack.local(),
            head,
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
            let frame = Frame::new(true);
            let _current = Barrier::raise(self.stack, &frame, self.head);
            let _draining = Draining::begin(self.head);
            if collect {
                self.collect();
            }
            if self.for_others {
                if ORPHANS.has_deferred() {
                    epoch::advance();
                }
                // With nothing left to spend, it would only be given back.
                self.orphans = (!self.meter.is_spent()).then(|| ORPHANS.claim());
                self.remote_left = self.local.remote_releases() as u64;
                if let Some(record) = self.local.record() {
                    self.local.claimed.take_in(record.releases.inbox());
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
                drain_asked(self.head, self.stack, None, &self.scope, &mut self.panics);
                if collect {
                    self.collect();
                }
            }
            self.keep_the_dead();
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
        if self.for_others {
            remaining += self.local.remote_releases() + orphans_left;
        }
        watch::backlog(self.stack, self.head);
        (self.meter.report(remaining), self.panics.into_first())
    }

    /// Takes out what slots have given up, if it has become ready now, and this drain has made
    /// some such releases: what it released may have been in the way. Returns whether it has.
    fn made_ready(&mut self) -> bool {
        let Some(orphans) = &mut self.orphans else {
            return false;
        };
        if !self.ran_orphans || !ORPHANS.has_deferred() || !epoch::advance_until_ready() {
            return false;
        }
        *orphans = ORPHANS.claim();
        true
    }

    /// Moves what is in the pool to the end of the backlog.
    fn collect(&mut self) {
        if !self.head.entries.is_empty() {
            self.generation += 1;
            if self.generation == WARN_AT {
                let event = Event::new(EventKind::EndlessDrain, current_label());
                event.pool(self.head.name()).count(WARN_AT as usize).emit();
            }
            let entries = self.head.entries.take_all();
            self.stack.backlog.put_last(Item::Entries(entries));
        }
    }

    /// Does something; returns whether there was anything to do.
    fn turn(&mut self) -> bool {
        let orphan = self.orphan();
        let until = self.meter.released().saturating_add(TURN);
        let mut own = false;
        while !self.is_done(until) {
            let Some(first) = self.stack.backlog.take_first() else {
                break;
            };
            own = true;
            self.work_at(first, until);
        }
        let until = self.meter.released().saturating_add(TURN);
        let remote = self.for_others && self.remote(until);
        orphan || own || remote
    }

    fn is_done(&self, until: usize) -> bool {
        self.meter.is_spent() || self.meter.released() >= until
    }

    /// Makes the releases of an orphaned message, as far as the budget goes.
    fn orphan(&mut self) -> bool {
        let Some(mut orphans) = self.orphans.take() else {
            return false;
        };
        let until = self.meter.released().saturating_add(TURN);
        let any = ORPHANS.run_part(&mut orphans, |message| self.message(message, until).1);
        self.orphans = Some(orphans);
        self.ran_orphans |= any;
        any
    }

    /// Makes releases that other threads have sent here until `until` are made, or the budget is
    /// spent. Returns whether there were any.
    fn remote(&mut self, until: usize) -> bool {
        let Some(record) = self.local.record() else {
            return false;
        };
        let mut any = false;
        while self.remote_left > 0 && !self.is_done(until) {
            match self.local.claimed.next(record.releases.inbox()) {
                Next::Run(message) => {
                    let local = self.local;
                    let (n, left) = local.in_the_middle_of(|| self.message(message, until));
                    record.releases.done(n.into());
                    self.remote_left = self.remote_left.saturating_sub(n.into());
                    left.into_iter()
                        .for_each(|m| self.local.claimed.put_back(m));
                }
                Next::Again => self.meter.step(),
                Next::Nothing => break,
            }
            any = true;
        }
        any
    }

    /// Makes the releases of a message until `until` are made, or the budget is spent. Returns
    /// how many it made, and what is left of it.
    fn message(&mut self, message: Message, until: usize) -> (u32, Option<Message>) {
        match message.kind() {
            MessageKind::Release => {
                self.release(remote_release::reference(message), 1);
                (1, None)
            }
            MessageKind::DestroyAtHome | MessageKind::DestroyAnywhere => {
                self.dead(thread_bound::dead_object(message));
                (1, None)
            }
            MessageKind::ReleaseMany => {
                let entries = PageChain::entries(&message);
                let mut made = 0;
                while !self.is_done(until) && !entries.is_empty() {
                    made += self.entry(entries);
                }
                message.lighten(made);
                if !entries.is_empty() {
                    return (made, Some(message));
                }
                // SAFETY: that is what the kind says.
                let entries = unsafe { PageChain::take(message.into_raw()) };
                entries.clear(&self.local.pages);
                (made, None)
            }
            MessageKind::Closure | MessageKind::LoopClosure | MessageKind::OrphanBatch => {
                unreachable!("these are no releases")
            }
        }
    }

    /// Works at one item until `until` releases are done, or the budget is spent; what is
    /// left of it goes back.
    fn work_at(&mut self, mut item: Item, until: usize) {
        loop {
            match &mut item {
                Item::Entries(entries) => {
                    let n = self.entry(entries);
                    self.stack.stats.released.add(u64::from(n));
                }
                Item::Dead(objects) => objects.pop().into_iter().for_each(|o| self.dead(o)),
            }
            // At once: its pages would be lost if nobody came for more.
            if item.len() == 0 {
                if let Item::Entries(entries) = item {
                    entries.clear(&self.local.pages);
                }
                return;
            }
            if self.is_done(until) {
                return self.stack.backlog.put_first(item);
            }
        }
    }

    /// Releases an entry, or several of the same object. How many; 0 if there is none.
    fn entry(&mut self, entries: &Entries) -> u32 {
        let at_most = self.meter.at_most();
        let Some((thin, n)) = entries.take_some(&self.local.pages, at_most) else {
            return 0;
        };
        self.release(thin, n);
        n
    }

    /// Gives up `n` references that are ours.
    fn release(&mut self, thin: Thin, n: u32) {
        self.meter.count(n as usize);
        // SAFETY: alive by the entry's reference, which is ours now.
        let object = unsafe { header(thin) };
        let class = object.type_info;
        // SAFETY: as above.
        match unsafe { checked(thin, object.count.release_many(n)) } {
            Released::Alive => self.meter.quick(),
            Released::Unique if self.scope.deep => {
                // SAFETY: as `release_many` said.
                unsafe { self.scope.queue_unique(thin) };
                self.meter.quick();
            }
            Released::Last if self.scope.deep => {
                // SAFETY: as `release_many` said.
                unsafe { self.scope.destroy_last(thin) };
                self.meter.quick();
            }
            Released::Unique if !class.has_destructor => {
                tally_destroyed(1);
                // SAFETY: as `release_many` said.
                unsafe { (class.destroy)(thin) };
                self.meter.quick();
            }
            Released::Unique => self.destructor(thin, || {
                tally_destroyed(1);
                // SAFETY: as `release_many` said.
                unsafe { (class.destroy)(thin) };
            }),
            // SAFETY: as `release_many` said.
            Released::Last => self.destructor(thin, || unsafe { destroy_dead(thin) }),
        }
    }

    /// Destroys an object that was queued, and those that it queues.
    fn dead(&mut self, thin: Thin) {
        self.meter.count(1);
        // SAFETY: queued, so dead, and ours.
        self.destructor(thin, || unsafe { destroy_dead(thin) });
    }

    /// Runs a destructor by `run`, and goes on with what it has queued, which is to be done
    /// before anything older.
    fn destructor(&mut self, thin: Thin, run: impl FnOnce()) {
        self.measured(thin, run);
        while !self.meter.is_spent() {
            let Some(thin) = self.scope.next_dead() else {
                return;
            };
            self.meter.count(1);
            // SAFETY: queued, so dead, and ours.
            self.measured(thin, || unsafe { destroy_dead(thin) });
        }
    }

    fn measured(&mut self, thin: Thin, run: impl FnOnce()) {
        // SAFETY: not destroyed yet.
        let class = unsafe { header(thin) }.type_info;
        let meter = &mut self.meter;
        if let Err(payload) = catch_unwind(|| meter.time(class, run)) {
            self.panics.note(payload);
        }
    }

    /// What has been queued and not been done is first the next time.
    fn keep_the_dead(&self) {
        let dead = self.scope.take_dead();
        if !dead.is_empty() {
            self.stack.backlog.put_first(Item::Dead(dead));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_items_leaves_no_memory_behind() {
        let backlog = Backlog::new();
        let capacity = || {
            // SAFETY: nothing else runs meanwhile.
            backlog.items.with(|items| unsafe { (*items).capacity() })
        };
        for _ in 0..100 * ITEMS {
            backlog.put_last(Item::Dead(Vec::new()));
        }
        assert!(capacity() >= 100 * ITEMS);
        while backlog.take_first().is_some() {}
        assert!(capacity() <= 2 * ITEMS, "{}", capacity());
    }
}
