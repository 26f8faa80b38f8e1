//! A drain that does more than empty one pool: it takes turns between its own releases and the
//! thread's duties, within a meter.

use super::duties::{self, Agenda};
use super::plain::PlainDrain;
use super::release::{Pace, release, stretch};
use crate::event::{Event, EventKind};
use crate::home::home_ref;
use crate::ledger::{self, ReleasedBy};
use crate::object::destroy::{ReleaseScope, destroy_dead};
use crate::object::header::{Thin, TypeInfo, header};
use crate::pool::entries::Entries;
use crate::pool::entries::page::PageCache;
use crate::pool::entries::page::PageChain;
use crate::pool::remote;
use crate::pool::stack::backlog::Item;
use crate::pool::stack::budget::{ENDLESS, Limit, Meter, Outcome};
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::catch_unwind;
use crate::sync::cell::Cell;
use crate::thread::current::{current_label, tally_destroyed};
use crate::thread::inbox::{Message, MessageKind};
use crate::thread::record::Record;
use crate::unwind::FirstPanic;

/// How many releases of one source a drain with a budget makes before it turns to the next source.
const TURN: usize = 16;

/// The part of a thread's duties that a drain serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Serves {
    /// None.
    Nothing,
    /// Light duties, which run little or no foreign code.
    Light,
    /// Light duties, and one turn of each other duty: the end of the loop's round does the rest.
    Share,
    /// All duties, except messages that budgeted drains have claimed.
    Ordinary,
    /// All.
    All,
    /// The duties that a thread's exit serves.
    Exit,
}

/// The source of a drain's own releases.
pub(super) enum Own<'d> {
    /// The drain has no releases of its own.
    Nothing,
    /// A pool, newest first.
    Plain(&'d PlainDrain<'d>),
    /// A stack's backlog. Before each turn, the entries of this pool go to the backlog's end.
    Backlog(&'d PoolStack, Option<&'d PoolState>),
}

/// A drain in progress.
pub(super) struct Drain<'d> {
    /// The thread's pools; `None` if the thread has exited or has no key.
    pub(super) thread: Option<&'d ThreadPools>,
    /// The stack for which the drain answers the `shutdown` of the stack's manager.
    pub(super) stack: Option<&'d PoolStack>,
    pub(super) own: Own<'d>,
    pub(super) pages: &'d PageCache,
    pub(super) scope: &'d ReleaseScope,
    pub(super) panics: &'d mut FirstPanic,
    pub(super) meter: Meter,
    pub(super) serves: Serves,
    pub(super) agenda: Agenda,
    /// [`empty_stack`](super::engine::empty_stack), which answers `shutdown`; from a higher file.
    pub(super) empty_stack: fn(&PoolStack, Limit) -> Outcome,
    /// True once destructors have fed the drain beyond its limit.
    pub(super) is_cut: bool,
}

impl<'d> Drain<'d> {
    /// Returns a drain without releases of its own and without a budget; `thread` is `None` once
    /// the thread has exited, or if it has no key.
    pub(super) fn of(
        thread: Option<&'d ThreadPools>,
        pages: &'d PageCache,
        scope: &'d ReleaseScope,
        panics: &'d mut FirstPanic,
        empty_stack: fn(&PoolStack, Limit) -> Outcome,
    ) -> Self {
        Self {
            empty_stack,
            thread,
            stack: None,
            own: Own::Nothing,
            pages,
            scope,
            panics,
            meter: Meter::unlimited(Limit::SOME),
            serves: Serves::Nothing,
            agenda: Agenda::new(),
            is_cut: false,
        }
    }

    /// Takes rounds of turns until nothing is left to do or the budget is spent. Returns the number
    /// of rounds that did something.
    ///
    /// Without a budget, a turn does what waits when the turn begins (an ordinary drain empties its
    /// pool). What destructors add in a round is the next generation, for the next round. A limit
    /// on generations ends the drain after that many rounds, and the rest stays where it is.
    pub(super) fn run(&mut self) -> u32 {
        let mut generations = 0;
        loop {
            let (own, duties) = self.round_of_turns();
            if self.serves == Serves::Share {
                self.serves = Serves::Nothing;
            }
            if !own && !duties {
                break;
            }
            generations += 1;
            if self.meter.is_limited() {
                if self.meter.is_spent() {
                    break;
                }
            } else if duties || !matches!(self.own, Own::Plain(_)) {
                self.is_cut = self.meter.limit().is_passed(generations);
                if self.is_cut || generations == ENDLESS {
                    let fed_by = if duties { self.agenda.latest } else { "" };
                    self.report_endless(generations, fed_by);
                }
                if self.is_cut {
                    break;
                }
            }
        }
        self.leave_nothing();
        if duties::report_to_ledger(self) {
            self.leave_nothing();
        }
        generations
    }

    /// Releases the entries of the pool that an ordinary drain is for.
    pub(super) fn empty_plain(&mut self) {
        if let Own::Plain(run) = self.own {
            run.release_all(self.panics);
        }
    }

    /// Releases the entries that have been added to the pool since its last turn, by hooks or by
    /// duties, and destroys the objects that those have queued. Once the pool is no longer current,
    /// such entries could leak, and the destructors of such objects would autorelease into another
    /// pool.
    fn leave_nothing(&mut self) {
        loop {
            self.empty_plain();
            if self.scope.queues_all() || !self.scope.settle_all(self.panics) {
                break;
            }
        }
    }

    /// Takes a turn of the drain's own releases and of each duty. Returns whether the drain had
    /// releases of its own, and whether a duty had anything to do.
    ///
    /// With a budget, begins with the turn after the one that spent the thread's last budget:
    /// otherwise one turn could take the whole budget each time.
    fn round_of_turns(&mut self) -> (bool, bool) {
        const TURNS: usize = duties::COUNT + 1;
        let next = self.thread.map(|thread| &thread.next_turn);
        let limited = next.filter(|_| self.meter.is_limited());
        let first = limited.map_or(0, Cell::get);
        let (mut own, mut duties) = (false, false);
        for turn in (first..TURNS).chain(0..first) {
            let was_spent = self.meter.is_spent();
            match turn {
                0 => own = self.own_turn(),
                n => duties |= duties::turn(self, n - 1),
            }
            if let Some(next) = next {
                if !was_spent && self.meter.is_spent() {
                    next.set((turn + 1) % TURNS);
                }
            }
        }
        (own, duties)
    }

    /// Reports that the drain is fed without end: by a duty, whose releases `fed_by` describes, or,
    /// if `fed_by` is empty, by destructors.
    #[cold]
    fn report_endless(&self, generations: u32, fed_by: &'static str) {
        let pool = match self.own {
            Own::Nothing => "duties",
            Own::Plain(run) => run.name,
            Own::Backlog(..) => "backlog",
        };
        let event = Event::new(EventKind::EndlessDrain, current_label());
        event
            .pool(pool.to_owned())
            .count(generations as usize)
            .fed_by(fed_by)
            .emit();
    }

    /// Makes some of the drain's own releases; returns whether there were any.
    fn own_turn(&mut self) -> bool {
        match self.own {
            Own::Nothing => false,
            Own::Plain(run) => run.release_all(self.panics),
            Own::Backlog(stack, pool) => {
                collect(stack, pool);
                // The turn makes at most as many releases as wait now: destructors may call
                // budgeted drains, and so feed the backlog, for ever.
                let until = self.until(stack.backlog.len());
                let mut any = false;
                while !self.is_done(until) {
                    let Some(first) = stack.backlog.take_first() else {
                        break;
                    };
                    any = true;
                    self.release_item(stack, first, until);
                }
                any
            }
        }
    }

    /// Returns the total of the drain's releases at which the turn that begins now ends; without a
    /// budget, the turn may make `all` releases.
    pub(super) fn until(&self, all: usize) -> usize {
        let most = if self.meter.is_limited() { TURN } else { all };
        self.meter.released().saturating_add(most)
    }

    pub(super) fn is_done(&self, until: usize) -> bool {
        self.meter.is_spent() || self.meter.released() >= until
    }

    /// Runs a message that was sent to this thread, whose record is `record`.
    pub(super) fn run_whole(&mut self, thread: &ThreadPools, record: &Record, message: Message) {
        let weight = message.weight();
        thread.running(&record.releases, weight, || {
            _ = self.run_message(message, usize::MAX)
        });
    }

    /// Makes the releases of a message until the drain's total is `until` or the budget is spent.
    /// Returns how many releases it made, and the rest of the message.
    pub(super) fn run_message(&mut self, message: Message, until: usize) -> (u32, Option<Message>) {
        self.leave_forgotten_pools();
        match message.kind() {
            MessageKind::Release => self.release_handle(remote::take(message)),
            MessageKind::DestroyAtHome | MessageKind::DestroyAnywhere => {
                self.destroy_queued(home_ref::dead_object(message));
            }
            MessageKind::ReleaseMany => return self.release_many(message, until),
            MessageKind::Closure
            | MessageKind::LoopClosure
            | MessageKind::FrameClosure
            | MessageKind::OrphanBatch => unreachable!("these messages are not releases"),
        }
        (1, None)
    }

    fn release_many(&mut self, message: Message, until: usize) -> (u32, Option<Message>) {
        let entries = PageChain::entries(&message);
        let before = entries.len();
        if until == usize::MAX && !self.scope.queues_all() {
            // Without a budget, uses the quick ways of an ordinary drain.
            PlainDrain::new(entries, "handoff", self.pages, self.scope, Limit::NONE)
                .release_all(self.panics);
        } else {
            self.release_entries(entries, until);
        }
        let made = (before - entries.len()) as u32;
        message.lighten(made);
        if !entries.is_empty() {
            return (made, Some(message));
        }
        PageChain::take(message).clear(self.pages);
        (made, None)
    }

    /// Makes the releases of one item until the drain's total is `until` or the budget is spent;
    /// the rest of the item goes back to the front of the backlog.
    fn release_item(&mut self, stack: &PoolStack, mut item: Item, until: usize) {
        loop {
            match &mut item {
                Item::Entries(entries) => {
                    let before = entries.len();
                    let backlog = &stack.backlog;
                    backlog.releasing(entries, || self.release_entries(entries, until));
                    stack.stats.released.add((before - entries.len()) as u64);
                }
                Item::Dead(objects) => {
                    if let Some(object) = objects.change(Vec::pop) {
                        self.destroy_queued(object);
                    }
                }
            }
            // Gives the pages of an empty item back at once, as nothing else would.
            if item.len() == 0 {
                if let Item::Entries(entries) = item {
                    entries.clear(self.pages);
                }
                return;
            }
            if self.is_done(until) {
                return stack.backlog.put_first(item);
            }
        }
    }

    /// Releases these entries, newest first, until the drain's total is `until` or the budget is
    /// spent. The entries belong to no pool, so no code adds others.
    fn release_entries(&mut self, entries: &Entries, until: usize) {
        let (pages, scope) = (self.pages, self.scope);
        stretch(
            entries,
            || "backlog",
            pages,
            scope,
            &mut self.metered(until),
        );
    }

    /// At a thread's exit, makes the root pools current: objects that destructors autorelease must not
    /// go to a forgotten pool.
    fn leave_forgotten_pools(&self) {
        if let (Serves::Exit, Some(thread)) = (self.serves, self.thread) {
            thread.stacks().for_each(PoolStack::fall_back_to_root);
        }
    }

    /// Releases a reference that no pool owned.
    pub(super) fn release_handle(&mut self, thin: Thin) {
        self.leave_forgotten_pools();
        ledger::released(thin, 1, ReleasedBy::Handle);
        let scope = self.scope;
        let mut pace = self.metered(usize::MAX);
        pace.count(1);
        // SAFETY: the object is alive by the reference, which the caller has given up.
        unsafe { release(thin, 1, scope, &mut pace) };
    }

    /// Destroys an object that was queued, and those that its destructor queues.
    fn destroy_queued(&mut self, thin: Thin) {
        let scope = self.scope;
        let mut pace = self.metered(usize::MAX);
        // SAFETY: the object has not been destroyed yet.
        let type_info = unsafe { header(thin) }.type_info;
        pace.count(1);
        // SAFETY: the object has no strong reference, and the queue owned it.
        pace.destroy(type_info, scope, || unsafe { destroy_dead(thin) });
    }

    fn metered(&mut self, until: usize) -> Metered<'_> {
        Metered {
            meter: &mut self.meter,
            panics: self.panics,
            until,
        }
    }

    /// Ends the drain of a backlog: moves the entries left in its pool and the objects left in the
    /// queue of nested releases to the backlog. Returns how many releases are left in the backlog
    /// and in the duties that the drain served.
    pub(super) fn finish(&mut self) -> usize {
        let Own::Backlog(stack, pool) = self.own else {
            return 0;
        };
        collect(stack, pool);
        let dead = self.scope.take_dead();
        if !dead.is_empty() {
            stack.backlog.put_first(Item::Dead(dead.into()));
        }
        stack.backlog.len() + duties::left(self)
    }
}

/// Moves the entries of the pool, if there is one, to the end of the backlog.
fn collect(stack: &PoolStack, pool: Option<&PoolState>) {
    if let Some(entries) = pool.map(|pool| &pool.entries) {
        if !entries.is_empty() {
            stack.backlog.put_last(Item::Entries(entries.take_all()));
        }
    }
}

/// The pace of releases that are counted and timed one by one, and whose panics are caught.
struct Metered<'m> {
    meter: &'m mut Meter,
    panics: &'m mut FirstPanic,
    until: usize,
}

impl Metered<'_> {
    /// Calls `run`, which runs a destructor; times the destructor and catches its panic.
    fn measured(&mut self, type_info: &'static TypeInfo, run: impl FnOnce()) {
        let meter = &mut self.meter;
        if let Err(payload) = catch_unwind(|| meter.time(type_info, run)) {
            self.panics.note(payload);
        }
    }
}

impl Pace for Metered<'_> {
    const METERED: bool = true;

    fn is_done(&self) -> bool {
        self.meter.is_spent() || self.meter.released() >= self.until
    }

    fn at_most(&self) -> u32 {
        self.meter.at_most(self.until)
    }

    fn count(&mut self, n: usize) {
        self.meter.count(n);
    }

    fn count_destroyed(&mut self, n: u64) {
        tally_destroyed(n);
    }

    fn quick(&mut self) {
        self.meter.quick();
    }

    /// Destroys the object, and then those that its destructor has queued, before any older ones.
    fn destroy(&mut self, type_info: &'static TypeInfo, scope: &ReleaseScope, run: impl FnOnce()) {
        self.measured(type_info, run);
        if scope.queues_all() {
            while !self.meter.is_spent() {
                let Some(thin) = scope.next_dead() else {
                    return;
                };
                self.meter.count(1);
                // SAFETY: the object has not been destroyed yet.
                let type_info = unsafe { header(thin) }.type_info;
                // SAFETY: the object has no strong reference, and the queue owned it.
                self.measured(type_info, || unsafe { destroy_dead(thin) });
            }
        } else {
            scope.settle_all(self.panics);
        }
    }
}
