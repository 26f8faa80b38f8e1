//! The drains: each sets up its scope and barrier, has entries released, and serves duties.
//!
//! A pool with few entries has a quick way, as setting up a drain takes longer than releasing them.

use super::duties::{is_idle, owes};
use super::plain::PlainDrain;
use super::release::{Pace, Unmetered, check, release, release_plain};
use super::turns::{Drain, Own, Serves};
use super::watch;
use crate::epoch;
use crate::event::{Event, EventKind};
use crate::ledger::{self, ReleasedBy};
use crate::object::destroy::ReleaseScope;
use crate::object::header::header;
use crate::pool::entries::Entries;
use crate::pool::entries::page::PageCache;
use crate::pool::stack::budget::{Budget, Drained, ENDLESS, Limit, Meter, Outcome, Served};
use crate::pool::stack::chain::Barrier;
use crate::pool::stack::pool_life::{ChainFrame, Draining};
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::pool::stack::thread_pools::ThreadPools;
use crate::thread::claimed::Next;
use crate::thread::current::{current_label, tally_destroyed};
use crate::thread::inbox::Chain;
use crate::thread::record::Record;
use crate::unwind::{FirstPanic, Payload};
use std::ptr;
use std::time::Duration;

/// How long a drain that serves a [share](Serves::Share) of the duties serves them, at most.
const SHARE: Duration = Duration::from_millis(1);

/// Drains a pool of the calling thread, up to the limit.
pub(crate) fn drain(pool: &PoolState, limit: Limit) -> Outcome {
    // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
    let stack = unsafe { &*pool.stack.get() };
    let pages = &stack.thread_pools().pages;
    let is_root = ptr::eq(pool, &stack.root);
    let mut panics = FirstPanic::default();
    pool.unpin();
    let (mut released, mut is_cut) = (0, false);
    let is_over = if !limit.is_some() && !is_root && pool.entries.are_few(FEW) {
        let progress;
        (released, progress) = release_few(pool, stack, &mut panics);
        progress != Progress::Begun && pool.entries.is_empty()
    } else {
        let plain = release_plain(&pool.entries, || pool.name(), pages);
        if plain != 0 {
            stack.stats.released.add(plain as u64);
            released = plain;
        }
        is_idle(pool)
    };
    if !is_over {
        let scope = ReleaseScope::enter();
        let frame = ChainFrame::new();
        let barrier = Barrier::raise(stack, &frame, pool);
        let _draining = Draining::begin(&pool.life, &scope);
        let rest = release_rest(barrier, pool, stack, limit, &scope, &mut panics);
        stack.stats.released.add(rest.0 as u64);
        released += rest.0;
        is_cut = rest.1;
    }
    // While an outer drain of the root pool makes a release that it has taken out of the pool,
    // leaves the figures of the root pool to that drain.
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

/// Releases the entries of a pool that `barrier` makes current and that is marked as being drained.
/// In the outermost scope, also serves the thread's duties. Returns how many entries it released,
/// for the caller's statistics, and whether it was cut off.
#[inline(never)]
fn release_rest(
    barrier: Barrier<'_>,
    pool: &PoolState,
    stack: &PoolStack,
    limit: Limit,
    scope: &ReleaseScope,
    panics: &mut FirstPanic,
) -> (usize, bool) {
    let thread = stack.thread_pools();
    let run = PlainDrain::new(&pool.entries, pool.name(), &thread.pages, scope, limit);
    run.release_all(panics);
    if (thread.may_have_duties(stack) || epoch::has_deferred()) && scope.serves_thread() {
        // Closing a pool to which nothing was added since a drain within a budget must not make
        // remote releases.
        serve_in_drain(&run, stack, pool.life.is_budgeted(), scope, panics);
    }
    if let Err(barrier) = barrier.lower() {
        lower(barrier, pool, stack, &run, scope, panics);
    }
    (run.released.get(), run.is_cut.get())
}

/// Ends the scope of an ordinary drain in which destructors have left pools open.
#[cold]
#[inline(never)]
fn lower(
    barrier: Barrier<'_>,
    pool: &PoolState,
    stack: &PoolStack,
    run: &PlainDrain<'_>,
    scope: &ReleaseScope,
    panics: &mut FirstPanic,
) {
    // If the pool is being popped, the caller of the drain also pops the token pools that
    // destructors have pushed, one after the other: if this drain did, pops could nest without end.
    while !stack.is_popping(pool) {
        leave(stack, barrier.frame(), run.limit, panics);
        // Foreign code, such as an event's hook, may have queued objects, and fed the pool, which is
        // current again.
        let settled = scope.settle_all(panics);
        if !run.release_all(panics) && !settled {
            break;
        }
    }
}

/// Serves the thread's duties in an ordinary drain.
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
        ..Drain::of(Some(thread), &thread.pages, scope, panics, empty_stack)
    }
    .run();
}

/// Drains and closes token pools, newest first, until `pool` is closed; ends the scope of `pool`. Returns
/// the number of entries released. In a detached `ThreadPools`, the caller keeps another pool open.
pub(in crate::pool) fn pop_down_to(
    stack: &PoolStack,
    pool: &PoolState,
    panics: &mut FirstPanic,
) -> usize {
    let generation = pool.life.generation();
    let mut released = 0;
    let mut rounds = 0;
    // Tests again after each pop: foreign code may have popped the pool.
    while pool.life.is_token_of(generation) {
        let Some(last) = stack.last_token() else {
            break;
        };
        let has_entries = !last.entries.is_empty();
        if has_entries && rounds == ENDLESS {
            rounds += 1;
            report_endless();
            continue;
        }
        rounds += u32::from(has_entries);
        released += pop_last(stack, last, ptr::eq(last, pool), panics).0;
    }
    released
}

/// Reports that destructors push token pools without end, one after the other.
#[cold]
fn report_endless() {
    let event = Event::new(EventKind::EndlessDrain, current_label());
    event.pool("token").count(ENDLESS as usize).emit();
}

/// Drains `last`, the newest token pool, and closes it, unless destructors have popped it or pushed
/// others (to be popped first). Returns how many entries it released and whether it closed `last`.
fn pop_last(
    stack: &PoolStack,
    last: &PoolState,
    ends_scope: bool,
    panics: &mut FirstPanic,
) -> (usize, bool) {
    let mut outcome = None;
    if !last.entries.is_empty() || stack.thread_pools().has_duties(stack) {
        outcome = Some(stack.popping(last, || drain(last, Limit::NONE)));
    }
    let closes = stack.last_token().is_some_and(|now| ptr::eq(now, last));
    if closes {
        stack.close_token(last, ends_scope);
    }
    // Reports a panic last: a report runs foreign code, which may pop and push pools and so reuse this
    // pool's state.
    (outcome.map_or(0, |outcome| outcome.keep(panics)), closes)
}

/// Drains a token pool, and closes it alone. In a detached `ThreadPools`, the caller keeps another pool
/// open.
pub(in crate::pool) fn close_alone(stack: &PoolStack, pool: &PoolState) -> Outcome {
    let outcome = drain(pool, Limit::NONE);
    stack.close_token(pool, false);
    outcome
}

/// Removes what a scope has left in the chain above `frame`, its own frame: pops the token pools
/// that are still open, with an event for each, and takes the guard pools that are still open out
/// of the chain, as `cut_guards_above` does. If destructors push other token pools beyond `limit`,
/// those stay open.
#[cold]
#[inline(never)]
pub(in crate::pool) fn leave(
    stack: &PoolStack,
    frame: &ChainFrame,
    limit: Limit,
    panics: &mut FirstPanic,
) {
    let mut rounds = 0;
    while stack.cut_guards_above(frame).is_some() && !limit.is_passed(rounds) {
        rounds += 1;
        if rounds == ENDLESS {
            report_endless();
            continue;
        }
        let Some(last) = stack.last_token().filter(|last| !last.life.is_draining()) else {
            // A fiber has left the scope in the middle of a drain.
            return;
        };
        let event = Event::new(EventKind::TokenLeft, current_label())
            .pool(last.name())
            .manager(stack.manager.id, stack.manager.name.as_deref())
            .at(last.pushed_at.get());
        // The global allocator, which the event calls, is foreign code, and may have popped the pool.
        let is_last = stack.last_token().is_some_and(|now| ptr::eq(now, last));
        if is_last && pop_last(stack, last, false, panics).1 {
            event.emit();
        }
    }
}

/// Pops the token pools that a thread has pushed since its exit and left open; at most [`ENDLESS`]
/// in a stack, as destructors may push more. Emits no event: hooks may use thread-locals, now gone.
#[cold]
pub(super) fn pop_all_left(pools: &ThreadPools) {
    let mut panics = FirstPanic::default();
    for stack in pools.stacks() {
        let mut rounds = 0;
        while let Some(last) = stack.last_token().filter(|_| rounds < ENDLESS) {
            rounds += 1;
            pop_last(stack, last, false, &mut panics);
        }
    }
    panics.report();
}

/// Moves the entries of a pool to the backlog, and releases from the backlog within the budget,
/// taking turns with the thread's duties. Objects that destructors autorelease go to the pool, which
/// is current meanwhile, and so to the backlog. Returns the first panic, too.
pub(crate) fn drain_within(pool: &PoolState, meter: Meter) -> (Drained, Option<Payload>) {
    // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
    let stack = unsafe { &*pool.stack.get() };
    pool.unpin();
    pool.life.set_budgeted(true);
    let mut panics = FirstPanic::default();
    let (_, drained) = run_backlog(stack, pool, Some(pool), meter, Serves::All, &mut panics);
    watch::backlog(stack, pool);
    (drained, panics.into_first())
}

/// Releases from a backlog within the budget. Objects that destructors autorelease go to the root
/// pool.
pub(super) fn work_off(stack: &PoolStack, meter: Meter, serves: Serves) -> Outcome {
    let mut panics = FirstPanic::default();
    let before = stack.stats.released.get();
    let (is_cut, _) = run_backlog(stack, &stack.root, None, meter, serves, &mut panics);
    Outcome {
        released: (stack.stats.released.get() - before) as usize,
        panic: panics.into_first(),
        is_cut,
    }
}

/// Empties a backlog, and then the root pool, to which the backlog's destructors autorelease, up to
/// the limit.
pub(crate) fn empty_stack(stack: &PoolStack, limit: Limit) -> Outcome {
    let backlog = work_off(stack, Meter::unlimited(limit), Serves::Nothing);
    backlog.and(|| drain(&stack.root, limit))
}

/// Empties the root pool, which may leave a backlog, and then the backlog, up to the limit.
pub(crate) fn empty_root_first(stack: &PoolStack, limit: Limit) -> Outcome {
    let backlog = || work_off(stack, Meter::unlimited(limit), Serves::Nothing);
    drain(&stack.root, limit).and(backlog)
}

fn run_backlog(
    stack: &PoolStack,
    current: &PoolState,
    collected: Option<&PoolState>,
    meter: Meter,
    serves: Serves,
    panics: &mut FirstPanic,
) -> (bool, Drained) {
    let thread = stack.thread_pools();
    stack.begin_work();
    let scope = ReleaseScope::enter_queueing();
    let frame = ChainFrame::new();
    let barrier = Barrier::raise(stack, &frame, current);
    let _draining = Draining::begin(&current.life, &scope);
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
        ..Drain::of(Some(thread), &thread.pages, &scope, panics, empty_stack)
    };
    drain.take_mail_in();
    drain.run();
    if let Err(barrier) = barrier.lower() {
        leave(stack, barrier.frame(), Limit::SOME, drain.panics);
    }
    let is_cut = drain.is_cut;
    let remaining = drain.finish();
    let drained = drain.meter.report(remaining);
    stack.end_work();
    (is_cut, drained)
}

/// Serves the calling thread's duties, if no destructor is in progress on it, and keeps panics.
/// Objects that destructors autorelease go to the current pool.
pub(super) fn serve_as(
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
        ..Drain::of(thread, pages, &scope, panics, empty_stack)
    };
    Served {
        generations: drain.run(),
        reviewed: drain.agenda.reviewed,
    }
}

/// Runs an exiting thread's claimed messages, then `messages`, the last of its inbox; keeps panics.
pub(super) fn run_last(
    thread: &ThreadPools,
    record: &Record,
    messages: Chain,
    panics: &mut FirstPanic,
) {
    let scope = ReleaseScope::enter();
    let mut drain = Drain {
        serves: Serves::Exit,
        ..Drain::of(Some(thread), &thread.pages, &scope, panics, empty_stack)
    };
    // Claimed messages are still left here only if destructors fed the thread without end.
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
/// stays current, so destructors add nothing to these entries. An outermost call also serves the
/// calling thread's duties, unless `thread` is `None`, as it is once the thread has exited.
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
    panics.resume();
    released
}

/// The greatest number of entries that counts as few. Without destructors, a drain is quicker than
/// [`release_few`] from some twenty objects on; with destructors, a drain is never quicker.
pub(super) const FEW: isize = 16;

/// How far a pool with few entries has been drained.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// A drain has to do the rest.
    Begun,
    /// A drain has done the rest.
    Drained,
    /// The pool's entries have been released, and the thread has no duty that is due.
    Idle,
}

/// Releases the entries of a pool that has [few](FEW) of them, all in one page. Returns how many it
/// has released, and what is left to do.
#[inline(always)]
pub(super) fn release_few(
    pool: &PoolState,
    stack: &PoolStack,
    panics: &mut FirstPanic,
) -> (usize, Progress) {
    let mut counts = Unmetered::default();
    let without_destructor = |has_destructor: bool| !has_destructor;
    // SAFETY: nothing can nest in the destruction of an object without a destructor.
    let done = unsafe { release_some(pool, &mut counts, &ReleaseScope::NONE, without_destructor) };
    let mut progress = Progress::Begun;
    if !done {
        // Counts in another variable, so that `counts` stays in registers above.
        let mut nested = Unmetered::default();
        progress = release_nesting(pool, stack, &mut nested, panics);
        counts.taken += nested.taken;
        counts.destroyed += nested.destroyed;
    } else if !owes(stack) {
        progress = Progress::Idle;
    }
    stack.stats.released.add(counts.taken as u64);
    if counts.destroyed != 0 {
        tally_destroyed(counts.destroyed);
    }
    (counts.taken, progress)
}

/// Releases the newest entries of the topmost page as long as `takes`, which is told whether the
/// next object has a destructor, returns true; but at most twice [`FEW`], as destructors may add
/// others. Returns true if it stops because the page is empty.
///
/// # Safety
/// The objects for which `takes` returns true may be destroyed at once, however deep the call stack
/// is.
#[inline(always)]
unsafe fn release_some(
    pool: &PoolState,
    counts: &mut Unmetered,
    scope: &ReleaseScope,
    takes: impl Fn(bool) -> bool,
) -> bool {
    let entries = &pool.entries;
    for _ in 0..2 * FEW {
        let Some(thin) = entries.newest_in_page() else {
            return true;
        };
        check(thin, || pool.name());
        // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
        let object = unsafe { header(thin) };
        let type_info = object.type_info;
        if !takes(type_info.has_destructor) {
            return false;
        }
        // SAFETY: the entry is still the newest, as no other code has run.
        unsafe { entries.pop() };
        counts.count(1);
        if object.count.is_all(1) {
            counts.count_destroyed(1);
            // SAFETY: the only reference was the entry's, which has been taken out.
            unsafe { (type_info.destroy)(thin) };
            if scope.outermost {
                scope.settle();
            }
        } else {
            ledger::released(thin, 1, ReleasedBy::Pool(entries.label()));
            counts.outermost = scope.outermost;
            // SAFETY: the reference was the entry's, which has been taken out.
            unsafe { release(thin, 1, scope, counts) };
        }
    }
    false
}

/// Releases entries like [`release_some`], with the precautions that destructors need: the pool is
/// current, marked as being drained, and protected by a barrier from destructors that close pools;
/// nested releases are queued where the stack is deep; and panics are kept. A drain does the rest
/// within the same precautions, so that destructors cannot tell where the drain begins.
#[inline(never)]
fn release_nesting(
    pool: &PoolState,
    stack: &PoolStack,
    counts: &mut Unmetered,
    panics: &mut FirstPanic,
) -> Progress {
    let scope = ReleaseScope::enter();
    let frame = ChainFrame::new();
    let mut barrier = Barrier::raise(stack, &frame, pool);
    let _draining = Draining::begin(&pool.life, &scope);
    if !scope.deep {
        // SAFETY: the stack is not deep; nested releases test the depth again.
        panics.guard(|| _ = unsafe { release_some(pool, counts, &scope, |_| true) });
        if !panics.is_none() {
            // Destroys the objects that the destructor had queued before it panicked.
            scope.settle_all(panics);
        }
    }
    if panics.is_none() && pool.entries.is_empty() && !owes(stack) {
        match barrier.lower() {
            Ok(()) => return Progress::Idle,
            Err(disturbed) => barrier = disturbed,
        }
    }
    counts.taken += release_rest(barrier, pool, stack, Limit::NONE, &scope, panics).0;
    Progress::Drained
}
