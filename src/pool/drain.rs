//! Draining: what becomes of an entry, from the pool that takes it to the destructor.
//!
//! # One entry's way
//! A reference is autoreleased into a pool: it is an *entry* now, on the topmost page of that pool.
//! It leaves the pool in one of three ways, all of which end in [`release`]:
//!
//! * In an **ordinary drain** ([`drain()`], [`plain`]): newest first, until the pool is empty. Each entry
//!   is taken out before its object's destructor runs, so a destructor may autorelease into the pool
//!   (it is the current one meanwhile), open and drain others, or panic, and nothing is lost or
//!   released twice.
//! * In a **budgeted drain** ([`drain_within`], [`turns`]): with all entries of its pool it goes to the
//!   end of the stack's *backlog*, and the drain releases from the front as far as its meter allows.
//!   What it does not get to waits there, in the order of the pools, for the next budgeted drain.
//!   Releases that destructors make queue instead of nesting, so that they count, too.
//! * In a **handoff**, with its whole page, as a message to another thread: there it waits in an inbox,
//!   is *claimed* by a budgeted drain, or becomes an orphan if that thread has ended, and is released
//!   by the *duties* of somebody's drain.
//!
//! [`release`] is the one place that decides: the object lives on by other references; or it was
//! the last one, and its destructor runs here, or queues if the stack is deep already.
//!
//! # Quick ways
//! A drain sets up a scope, a barrier in the chain and a guard against panics, because destructors
//! are foreign code. Three kinds of pools need less, and are most pools:
//!
//! * An empty pool on a thread that owes nothing is popped: [`close`].
//! * A pool with few entries is released as it is being closed or drained, with as many precautions as
//!   its objects need: [`few`]. `autoreleasepool` around one object takes 219 instructions instead of
//!   453, with a destructor 311 instead of 599.
//! * Neighbors that are alike (one type, no destructor, no other reference) are freed by reading
//!   nothing but their headers: [`alike`]. That takes 25 instructions for each instead of 50.
//!
//! (Callgrind, by `ci/instructions.sh`, with the quick way and without.)
//!
//! # Duties
//! An *outermost* drain, one that no destructor called, also does what its thread owes: it makes the
//! releases that other threads have sent, reviews hot objects, advances the epoch, and so on. The list
//! is in [`duties`], and everything that serves them walks that list: both kinds of drains, the exit
//! of a thread ([`exit`](mod@exit)), `run_inbox`, `Hot::review`, `quiesce`, `shutdown` and the loops. In the
//! [round](crate::pool::round) of a loop, ordinary drains only do a small share.
//!
//! # What ends a drain
//! An ordinary drain ends when its pool is empty, however long destructors feed it; after
//! [`ENDLESS`](super::budget::ENDLESS) generations an event says so. All others end after [`Limit::SOME`] generations, and leave
//! the rest in the backlog; at a thread's exit the rest is leaked, with an event.

mod alike;
pub(crate) mod close;
pub(crate) mod duties;
mod exit;
mod few;
mod generations;
mod plain;
mod release;
pub(crate) mod span;
pub(crate) mod turns;

pub(super) use exit::exit;

use super::budget::{Budget, Drained, Limit, Meter};
use super::chain::Barrier;
use super::entries::Entries;
use super::life::ChainFrame;
use super::page::PageCache;
use super::pool_stack::{PoolStack, PoolState};
use super::thread_pools::ThreadPools;
use super::watch;
use crate::object::destroy::ReleaseScope;
use crate::thread::claimed::Next;
use crate::thread::inbox::Chain;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::Record;
use crate::unwind::{FirstPanic, Payload, report, resume_or_report};
use few::Progress;
use plain::PlainDrain;
use std::ptr;
use std::time::Duration;
use turns::{Drain, Own, Serves};

/// How long a drain in the round of a loop serves its thread, at most.
const SHARE: Duration = Duration::from_millis(1);

/// The result of a drain.
#[must_use]
pub(crate) struct Outcome {
    /// Entries released.
    pub(crate) released: usize,
    /// The first panic.
    pub(crate) panic: Option<Payload>,
    /// True if destructors have fed the drain beyond its limit, so that it was cut off.
    pub(crate) is_cut: bool,
}

impl Outcome {
    /// Resumes the panic, if there was one; returns the number of entries released.
    #[inline]
    pub(crate) fn resume(self) -> usize {
        self.panic.into_iter().for_each(resume_or_report);
        self.released
    }

    /// Reports the panic, if there was one; returns the number of entries released.
    pub(crate) fn report(self) -> usize {
        self.panic.into_iter().for_each(report);
        self.released
    }

    /// Returns the outcome of this drain and of the one that `next` makes.
    fn and(self, next: impl FnOnce() -> Self) -> Self {
        let mut panics = FirstPanic::default();
        let (is_cut, released) = (self.is_cut, self.keep(&mut panics));
        let next = next();
        Self {
            is_cut: is_cut || next.is_cut,
            released: released + next.keep(&mut panics),
            panic: panics.into_first(),
        }
    }

    /// Passes the panic, if there was one, to `panics`; returns the number of entries released.
    pub(crate) fn keep(self, panics: &mut FirstPanic) -> usize {
        self.panic.into_iter().for_each(|p| panics.note(p));
        self.released
    }
}

/// Returns whether a drain of this pool has nothing to do but to unpin it.
#[inline]
pub(crate) fn is_idle(pool: &PoolState) -> bool {
    // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
    let stack = unsafe { &*pool.stack.get() };
    pool.entries.is_empty() && !owes(stack)
}

/// Returns whether an outermost drain of a pool of this stack has to do more than to release entries.
#[inline(always)]
fn owes(stack: &PoolStack) -> bool {
    ORPHANS.has_deferred() || stack.thread_pools().has_duties(stack)
}

/// Drains a pool of the calling thread, as far as the limit goes.
pub(crate) fn drain(pool: &PoolState, limit: Limit) -> Outcome {
    // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
    let stack = unsafe { &*pool.stack.get() };
    let pages = &stack.thread_pools().pages;
    let is_root = ptr::eq(pool, &stack.root);
    let mut panics = FirstPanic::default();
    pool.unpin();
    let (mut released, mut is_cut) = (0, false);
    let is_over = if !limit.is_some() && !is_root && pool.entries.are_few(few::FEW) {
        let progress;
        (released, progress) = few::release(pool, stack, &mut panics);
        progress != Progress::Begun && pool.entries.is_empty()
    } else {
        let plain = alike::release_plain(&pool.entries, || pool.name(), pages);
        if plain != 0 {
            stack.stats.released.add(plain as u64);
            released = plain;
        }
        plain != 0 && !is_root && is_idle(pool)
    };
    if !is_over {
        let scope = ReleaseScope::enter();
        let frame = ChainFrame::new();
        let _current = Barrier::raise(stack, &frame, pool);
        let _draining = Draining::begin(pool);
        let rest = release_rest(pool, stack, limit, &scope, &mut panics);
        stack.stats.released.add(rest.0 as u64);
        released += rest.0;
        is_cut = rest.1;
    }
    // Otherwise a drain around this one has taken out an entry whose destructor still runs.
    if is_root && !pool.life.is_draining() {
        stack.stats.root_was_drained(pool.entries.len());
        stack.next_mark.set(0);
    }
    Outcome {
        released,
        panic: panics.into_first(),
        is_cut,
    }
}

/// Releases the entries of a pool that is current and marked as being drained, and, in the outermost
/// scope, does what else a drain does for its thread. Returns how many entries it has released,
/// which the caller counts, and whether it was cut off.
#[inline(never)]
fn release_rest(
    pool: &PoolState,
    stack: &PoolStack,
    limit: Limit,
    scope: &ReleaseScope,
    panics: &mut FirstPanic,
) -> (usize, bool) {
    let pages = &stack.thread_pools().pages;
    // Closing a pool whose last drain was budgeted must not deliver remote releases.
    let was_budgeted = pool.last_drain_was_budgeted();
    let run = PlainDrain::new(&pool.entries, pool.name(), pages, scope, limit);
    run.release_all(panics);
    // Serving the thread implies being outermost, which is quicker to look at.
    let may_owe = stack.thread_pools().may_have_duties(stack) || ORPHANS.has_deferred();
    if scope.outermost && may_owe && scope.serves_thread() {
        serve_in_drain(&run, stack, was_budgeted, scope, panics);
    }
    (run.released.get(), run.is_cut.get())
}

/// Does in an ordinary drain what it owes its thread.
#[cold]
#[inline(never)]
fn serve_in_drain(
    run: &PlainDrain<'_>,
    stack: &PoolStack,
    was_budgeted: bool,
    scope: &ReleaseScope,
    panics: &mut FirstPanic,
) {
    let thread = stack.thread_pools();
    let serves = if was_budgeted {
        Serves::Light
    } else if !thread.round.is_on() {
        Serves::Ordinary
    } else if thread.round.holds_back() {
        Serves::Share
    } else {
        Serves::All
    };
    let meter = match serves {
        Serves::Share => Meter::new(Budget::Time(SHARE)),
        _ => Meter::unlimited(run.limit),
    };
    Drain {
        stack: Some(stack),
        own: Own::Plain(run),
        meter,
        serves,
        ..Drain::of(Some(thread), &thread.pages, scope, panics)
    }
    .run();
}

/// Moves the entries of a pool to the backlog, and releases from that within the budget, and in turns
/// what else the thread owes. What destructors autorelease goes to the pool, which is current
/// meanwhile, and so to the backlog. Returns the first panic, too.
pub(crate) fn drain_within(pool: &PoolState, meter: Meter) -> (Drained, Option<Payload>) {
    // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
    let stack = unsafe { &*pool.stack.get() };
    pool.unpin();
    pool.life.set_budgeted(true);
    let mut panics = FirstPanic::default();
    let (_, drained) = run_backlog(stack, pool, &[pool], meter, Serves::All, &mut panics);
    watch::backlog(stack, pool);
    (drained, panics.into_first())
}

/// Releases from a backlog within the budget. What destructors autorelease goes to the root pool.
fn work_off(stack: &PoolStack, meter: Meter, serves: Serves) -> Outcome {
    let mut panics = FirstPanic::default();
    let before = stack.stats.released.get();
    let (is_cut, _) = run_backlog(stack, &stack.root, &[], meter, serves, &mut panics);
    Outcome {
        released: (stack.stats.released.get() - before) as usize,
        panic: panics.into_first(),
        is_cut,
    }
}

/// Empties a backlog, and then the root pool, into which that feeds, as far as the limit goes.
pub(crate) fn empty_stack(stack: &PoolStack, limit: Limit) -> Outcome {
    let backlog = work_off(stack, Meter::unlimited(limit), Serves::Nothing);
    backlog.and(|| drain(&stack.root, limit))
}

/// Empties the root pool, which may leave a backlog, and then the backlog, as far as the limit goes.
pub(crate) fn empty_root_first(stack: &PoolStack, limit: Limit) -> Outcome {
    let backlog = || work_off(stack, Meter::unlimited(limit), Serves::Nothing);
    drain(&stack.root, limit).and(backlog)
}

fn run_backlog(
    stack: &PoolStack,
    current: &PoolState,
    collected: &[&PoolState],
    meter: Meter,
    serves: Serves,
    panics: &mut FirstPanic,
) -> (bool, Drained) {
    let thread = stack.thread_pools();
    stack.begin_work();
    let scope = ReleaseScope::enter_queueing();
    let frame = ChainFrame::new();
    let _current = Barrier::raise(stack, &frame, current);
    let _draining = Draining::begin(current);
    let serves = if scope.serves_thread() {
        serves
    } else {
        Serves::Nothing
    };
    let mut drain = Drain {
        stack: Some(stack),
        own: Own::Backlog(stack, collected),
        meter,
        serves,
        ..Drain::of(Some(thread), &thread.pages, &scope, panics)
    };
    drain.take_mail_in();
    drain.run();
    let is_cut = drain.is_cut;
    let remaining = drain.finish();
    let drained = drain.meter.report(remaining);
    stack.end_work();
    (is_cut, drained)
}

/// The result of [`serve`].
#[derive(Default)]
pub(crate) struct Served {
    /// After how many generations nothing was left; 0 if there was nothing.
    pub(crate) generations: u32,
    /// The number of released objects that had died unnoticed.
    pub(crate) reviewed: usize,
}

/// Serves the calling thread's duties, if no destructor is in progress on it, and keeps panics. What
/// destructors autorelease goes to the current pool.
pub(crate) fn serve(thread: Option<&ThreadPools>, meter: Meter, panics: &mut FirstPanic) -> Served {
    serve_as(Serves::All, thread, meter, panics)
}

fn serve_as(
    serves: Serves,
    thread: Option<&ThreadPools>,
    meter: Meter,
    panics: &mut FirstPanic,
) -> Served {
    let scope = ReleaseScope::enter();
    if !scope.serves_thread() {
        return Served::default();
    }
    let none = PageCache::new();
    let pages = thread.map_or(&none, |thread| &thread.pages);
    let mut drain = Drain {
        meter,
        serves,
        ..Drain::of(thread, pages, &scope, panics)
    };
    Served {
        generations: drain.run(),
        reviewed: drain.agenda.reviewed,
    }
}

/// Runs the last messages of a thread that exits, which it has taken out of its inbox, and keeps panics.
fn run_last(thread: &ThreadPools, record: &Record, messages: Chain, panics: &mut FirstPanic) {
    let scope = ReleaseScope::enter();
    let mut drain = Drain {
        serves: Serves::Exit,
        ..Drain::of(Some(thread), &thread.pages, &scope, panics)
    };
    // Claimed messages are left if destructors fed the thread without end.
    let inbox = record.releases.inbox();
    while thread.has_claimed() {
        if let Next::Run(message) = thread.claimed.next(inbox) {
            drain.run_whole(thread, record, message);
        }
    }
    for message in messages {
        drain.run_whole(thread, record, message);
    }
}

/// Releases the entries of a handoff pool, newest first, and gives the pages back. The current pool
/// stays current, so destructors add nothing to these entries. As any outermost drain, it also does
/// what the calling thread owes; `thread` is `None` once it has exited.
///
/// # Panics
/// With the first panic of a destructor, at the end.
pub(crate) fn release_all(entries: &Entries, thread: Option<&ThreadPools>) -> usize {
    let none = PageCache::new();
    let pages = thread.map_or(&none, |thread| &thread.pages);
    let mut panics = FirstPanic::default();
    let released = {
        let scope = ReleaseScope::enter();
        let run = PlainDrain::new(entries, "handoff", pages, &scope, Limit::NONE);
        run.release_all(&mut panics);
        if let Some(thread) = thread.filter(|t| owes(&t.first) && scope.serves_thread()) {
            serve_in_drain(&run, &thread.first, false, &scope, &mut panics);
        }
        run.released.get()
    };
    entries.clear(pages);
    panics.into_first().into_iter().for_each(resume_or_report);
    released
}

/// Counts a drain of a pool as in progress, until dropped.
struct Draining<'d>(&'d PoolState);

impl<'d> Draining<'d> {
    #[inline]
    fn begin(pool: &'d PoolState) -> Self {
        pool.life.begin_drain();
        Self(pool)
    }
}

impl Drop for Draining<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.life.end_drain();
    }
}
