//! What drains within a budget have left for later.
//!
//! Each thread has a backlog for each manager, first in, first out. Only budgeted
//! drains work at it, the end of the thread, and `shutdown`. Nested releases queue
//! instead of recursing, so that they count; what of them is left when the budget is
//! spent goes to the front.

use super::budget::{Budget, Drained, Meter};
use super::drain::{Draining, WARN_AT, drain_asked};
use super::entries::Entries;
use super::epoch;
use super::handoff::PageChain;
use super::head::{Frame, Head};
use super::local::Local;
use super::mail;
use super::page::PageCache;
use super::stack::{Barrier, Stack};
use crate::event::{Event, EventKind};
use crate::object::count::Released;
use crate::object::destroy::{Scope, bury};
use crate::object::header::{Thin, checked, header};
use crate::object::home;
use crate::sync::catch_unwind;
use crate::thread::inbox::{Kind, Message};
use crate::thread::orphans::ORPHANS;
use crate::thread::record::{current_label, tally_destroyed};
use crate::unwind::{FirstPanic, Payload};
use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;

/// How many of the thread's own releases come for each orphan.
const TURN: usize = 16;

/// Something to be done later.
enum Item {
    /// Those of a pool of this thread's.
    Own(Entries),
    /// Those of a pool that another thread has handed over.
    Foreign(Entries),
    /// A single one, that another thread has sent.
    One(Thin),
    /// Objects without a strong reference, whose destructors have not run.
    Dead(Vec<Thin>),
    /// A single one, that has come home.
    OneDead(Thin),
}

impl Item {
    fn len(&self) -> usize {
        match self {
            Self::Own(entries) | Self::Foreign(entries) => entries.len(),
            Self::One(_) | Self::OneDead(_) => 1,
            Self::Dead(objects) => objects.len(),
        }
    }
}

/// See the module.
pub(crate) struct Backlog {
    /// Never borrowed while other code runs.
    items: UnsafeCell<VecDeque<Item>>,
    len: Cell<usize>,
    /// The length at which the next event is due.
    next_mark: Cell<usize>,
}

impl Backlog {
    pub(super) fn new(watermark: usize) -> Self {
        Self {
            items: UnsafeCell::new(VecDeque::new()),
            len: Cell::new(0),
            next_mark: Cell::new(watermark),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    fn put_last(&self, item: Item) {
        self.len.set(self.len.get() + item.len());
        // SAFETY: the thread's own; nothing else runs meanwhile.
        unsafe { (*self.items.get()).push_back(item) };
    }

    fn put_first(&self, item: Item) {
        self.len.set(self.len.get() + item.len());
        // SAFETY: as in `put_last`.
        unsafe { (*self.items.get()).push_front(item) };
    }

    fn take_first(&self) -> Option<Item> {
        // SAFETY: as in `put_last`.
        let item = unsafe { (*self.items.get()).pop_front() }?;
        self.len.set(self.len.get() - item.len());
        Some(item)
    }

    /// Gives up what is left, by leaking it; returns how many that is.
    pub(super) fn leak(&self, pages: &PageCache) -> usize {
        let leaked = self.len();
        while let Some(item) = self.take_first() {
            if let Item::Own(entries) | Item::Foreign(entries) = item {
                entries.clear(pages);
            }
        }
        leaked
    }

    /// Whether there is an entry for this object. Linear.
    pub(crate) fn contains(&self, thin: Thin) -> bool {
        // SAFETY: as in `put_last`.
        let items = unsafe { &*self.items.get() };
        items.iter().any(|item| match item {
            Item::Own(entries) | Item::Foreign(entries) => entries.contains(thin),
            Item::One(one) => *one == thin,
            Item::Dead(_) | Item::OneDead(_) => false,
        })
    }
}

/// Moves what is in a pool to the backlog, and works at that within the budget.
/// Destructors feed the pool, which is current meanwhile, and with it the backlog.
pub(crate) fn drain_pool(head: &Head, meter: Meter) -> (Drained, Option<Payload>) {
    // SAFETY: an open pool's stack is there.
    let stack = unsafe { &*head.stack.get() };
    head.unpin();
    head.set_frugal(stack.takes_mail());
    Work::new(stack, head, meter).run(true)
}

/// Works at a backlog within the budget. Destructors feed the root pool. Gives the first
/// panic.
pub(crate) fn drain(stack: &Stack, budget: Budget) -> Option<Payload> {
    Work::new(stack, &stack.root, Meter::coarse(budget))
        .run(false)
        .1
}

/// A budgeted drain.
struct Work<'d> {
    stack: &'d Stack,
    local: &'d Local,
    /// The pool that is current meanwhile.
    head: &'d Head,
    scope: Scope,
    /// Whether it is for this drain to do what other threads have sent.
    for_others: bool,
    meter: Meter,
    panics: FirstPanic,
    /// Whether it has taken the orphans that were there: those that come meanwhile are for
    /// others, as they may come for ever.
    has_orphans: bool,
    /// How often destructors have fed the pool.
    generation: u32,
}

impl<'d> Work<'d> {
    fn new(stack: &'d Stack, head: &'d Head, meter: Meter) -> Self {
        let scope = Scope::enter_queueing();
        Self {
            for_others: scope.outermost && stack.takes_mail(),
            stack,
            local: stack.local(),
            head,
            scope,
            meter,
            panics: FirstPanic::default(),
            has_orphans: false,
            generation: 0,
        }
    }

    fn run(mut self, collect: bool) -> (Drained, Option<Payload>) {
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
                take_mail(self.stack);
            }
            while !self.meter.is_spent() && self.turn() {
                if collect {
                    self.collect();
                }
            }
            if self.scope.outermost && self.stack.stats.is_asked() {
                drain_asked(self.head, self.stack, None, &self.scope, &mut self.panics);
                if collect {
                    self.collect();
                }
            }
            self.keep_the_dead();
        }
        let remaining = self.stack.backlog.len();
        self.stack.stats.backlog_is(remaining);
        self.watch(remaining);
        (self.meter.report(remaining), self.panics.into_first())
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
            self.stack.backlog.put_last(Item::Own(entries));
        }
    }

    /// Does something; whether there was anything to do.
    fn turn(&mut self) -> bool {
        let orphan = self.for_others && self.orphan();
        let until = self.meter.released().saturating_add(TURN);
        let mut own = false;
        while !self.meter.is_spent() && self.meter.released() < until {
            let Some(first) = self.stack.backlog.take_first() else {
                break;
            };
            own = true;
            self.work_at(first, until);
        }
        orphan || own
    }

    fn orphan(&mut self) -> bool {
        let kept = self.local.kept_orphan();
        let orphan = kept.or_else(|| {
            let has_orphans = std::mem::replace(&mut self.has_orphans, true);
            (!has_orphans).then(|| self.local.next_orphan()).flatten()
        });
        let Some(orphan) = orphan else {
            return false;
        };
        ORPHANS.run_one(orphan, |orphan| match item(orphan) {
            Item::One(thin) => self.release(thin, 1),
            many => {
                self.adopted(&many);
                self.stack.backlog.put_last(many);
            }
        });
        true
    }

    /// Works at one item until `until` releases are done, or the budget is spent; what is
    /// left of it goes back.
    fn work_at(&mut self, mut item: Item, until: usize) {
        loop {
            match &mut item {
                Item::Own(entries) => {
                    let n = self.entry(entries);
                    self.stack.stats.released.add(u64::from(n));
                }
                Item::Foreign(entries) => {
                    let n = self.entry(entries);
                    self.done(n);
                }
                Item::Dead(objects) => objects.pop().into_iter().for_each(|o| self.dead(o)),
                Item::One(thin) => {
                    self.release(*thin, 1);
                    return self.done(1);
                }
                Item::OneDead(thin) => return self.dead(*thin),
            }
            // At once: its pages would be lost if nobody came for more.
            if item.len() == 0 {
                if let Item::Own(entries) | Item::Foreign(entries) = item {
                    entries.clear(&self.local.pages);
                }
                return;
            }
            if self.meter.is_spent() || self.meter.released() >= until {
                return self.stack.backlog.put_first(item);
            }
        }
    }

    /// Another thread's, which count here from now on if there is a bound.
    fn adopted(&self, item: &Item) {
        if let (Some(record), Item::Foreign(entries)) = (self.local.record(), item) {
            record.adopt(entries.len() as u64);
        }
    }

    /// `n` releases that other threads have sent are made.
    fn done(&self, n: u32) {
        if let Some(record) = self.local.record() {
            record.done(u64::from(n));
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
        let class = object.class;
        // SAFETY: as above.
        match unsafe { checked(thin, object.count.release_many(n)) } {
            Released::Alive => self.meter.quick(),
            Released::Sole if self.scope.deep => {
                // SAFETY: as `release_many` said.
                unsafe { self.scope.queue_sole(thin) };
                self.meter.quick();
            }
            Released::Last if self.scope.deep => {
                // SAFETY: as `release_many` said.
                unsafe { self.scope.destroy_last(thin) };
                self.meter.quick();
            }
            Released::Sole if !class.has_destructor => {
                tally_destroyed(1);
                // SAFETY: as `release_many` said.
                unsafe { (class.destroy)(thin) };
                self.meter.quick();
            }
            Released::Sole => self.destructor(thin, || {
                tally_destroyed(1);
                // SAFETY: as `release_many` said.
                unsafe { (class.destroy)(thin) };
            }),
            // SAFETY: as `release_many` said.
            Released::Last => self.destructor(thin, || unsafe { bury(thin) }),
        }
    }

    /// Destroys an object that was queued, and those that it queues.
    fn dead(&mut self, thin: Thin) {
        self.meter.count(1);
        // SAFETY: queued, so dead, and ours.
        self.destructor(thin, || unsafe { bury(thin) });
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
            self.measured(thin, || unsafe { bury(thin) });
        }
    }

    fn measured(&mut self, thin: Thin, run: impl FnOnce()) {
        // SAFETY: not destroyed yet.
        let class = unsafe { header(thin) }.class;
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

    fn watch(&self, len: usize) {
        let backlog = &self.stack.backlog;
        let watermark = self.stack.namespace.settings.backlog_watermark;
        if len >= backlog.next_mark.get() {
            backlog.next_mark.set(len.saturating_mul(2));
            let event = Event::new(EventKind::BacklogWatermark, current_label());
            event.pool(self.head.name()).count(len).emit();
        } else if len < watermark / 2 {
            backlog.next_mark.set(watermark);
        }
    }
}

/// Moves releases that were sent here to the end of the backlog.
pub(crate) fn take_mail(stack: &Stack) {
    mail::take(stack.local(), |_, release| {
        stack.backlog.put_last(item(release));
    });
}

/// A message that asks for releases, as what it is to a backlog.
fn item(message: Message) -> Item {
    match message.kind() {
        // SAFETY: that is what the kind says.
        Kind::Chain => Item::Foreign(unsafe { PageChain::take(message.into_raw()) }),
        Kind::Home | Kind::Dead => Item::OneDead(home::dead(message)),
        Kind::Release => Item::One(mail::reference(message)),
        Kind::Call => unreachable!("a closure is no release"),
    }
}
