//! Closing a pool, on behalf of its guard.
//!
//! From the quickest to the slowest: a pool without entries is popped; one with few entries is
//! released here, with no more precautions than its objects need; any other is drained.

use super::chain::Barrier;
use super::checks;
use super::drain::{self, Draining, Outcome};
use super::drain_span;
use super::entries::Entries;
use super::pool_stack::{ChainFrame, PoolStack, PoolState};
use super::thread_pools::ThreadPools;
use crate::event::span::wants_drains;
use crate::ledger::{self, ReleasedBy};
use crate::object::count::Released;
use crate::object::destroy::{ReleaseScope, destroy_dead};
use crate::object::header::{Thin, checked, header};
use crate::sync::cell::Cell;
use crate::thread::current::tally_destroyed;
use crate::thread::orphans::ORPHANS;
use crate::unwind::{FirstPanic, resume_or_report};
use std::ptr::NonNull;

/// A pool with at most this many entries is closed without a drain, which takes longer to set up
/// than as many releases.
const FEW: isize = 4;

/// Returns whether closing a pool takes no more than popping its frame: it has no entries, its
/// frame is the topmost one, and the thread has nothing else to do. `plain`: the pool has no extras
/// but those that the caller handles.
#[inline(always)]
pub(super) fn can_just_pop(state: &PoolState, stack: &PoolStack, plain: bool) -> bool {
    let pools = stack.thread_pools();
    let simple = state.entries.is_empty() && stack.is_topmost(&state.frame) && plain;
    simple && !pools.has_duties(stack)
}

/// Releases all entries of a pool and closes it, on behalf of its guard, which is not used again.
///
/// # Panics
/// With the first panic of a destructor, at the end.
#[inline(never)]
pub(super) fn close(pool: NonNull<PoolState>) {
    if wants_drains() {
        return close_in_span(pool);
    }
    let mut panics = FirstPanic::default();
    // SAFETY: its guard is being dropped and has not freed it yet (fact 1 of `guard`).
    match close_few(unsafe { pool.as_ref() }, &mut panics) {
        Progress::Closed => {}
        progress => close_rest(pool, progress, panics),
    }
}

/// How far closing a pool has got.
#[derive(PartialEq)]
enum Progress {
    /// The pool is still to be drained.
    Begun,
    /// The pool has been drained.
    Drained,
    /// The pool is closed.
    Closed,
}

/// Releases the entries of a pool that has few, and closes it, if the thread has nothing else to do.
#[inline(always)]
fn close_few(state: &PoolState, panics: &mut FirstPanic) -> Progress {
    if !(state.has_no_extras() && state.entries.are_few(FEW)) {
        return Progress::Begun;
    }
    // SAFETY: the pool is open (fact 2 of `guard`).
    let stack = unsafe { &*state.stack.get() };
    let pools = stack.thread_pools();
    let counts = Counts::default();
    let without_destructor = |has_destructor: bool| !has_destructor;
    // SAFETY: nothing can nest in the destruction of an object without a destructor.
    let done = unsafe { release_few(state, &counts, without_destructor, || {}) };
    let idle = if done {
        !(pools.has_duties(stack) || ORPHANS.has_deferred())
    } else {
        release_nesting(state, stack, &counts, panics)
    };
    stack.stats.released.add(counts.released.get());
    if counts.destroyed.get() != 0 {
        tally_destroyed(counts.destroyed.get());
    }
    // All of this only now, as foreign code may have run: destructors, or the global allocator.
    let simple =
        state.entries.is_empty() && stack.is_topmost(&state.frame) && state.has_no_extras() && idle;
    if simple {
        stack.pop_frame(&state.frame);
        stack.stats.count_closed();
        pools.recycle_with_page(state);
        Progress::Closed
    } else if done {
        Progress::Begun
    } else {
        Progress::Drained
    }
}

/// How many entries were released, and how many objects destroyed.
#[derive(Default)]
struct Counts {
    released: Cell<u64>,
    destroyed: Cell<u64>,
}

impl Counts {
    #[inline(always)]
    fn count(of: &Cell<u64>) {
        of.set(of.get() + 1);
    }
}

/// Releases the newest entries of the topmost page, but not more than twice [`FEW`], as destructors
/// may add others; and only while `takes`, which is told whether the next object has a destructor,
/// returns true. Calls `after` after each. Returns whether the page is empty.
///
/// # Safety
/// Objects that `takes` returns true for may be destroyed at once, however deep that nests.
#[inline(always)]
unsafe fn release_few(
    state: &PoolState,
    counts: &Counts,
    takes: impl Fn(bool) -> bool,
    after: impl Fn(),
) -> bool {
    let entries = &state.entries;
    for _ in 0..2 * FEW {
        let Some(thin) = entries.newest_in_page() else {
            return true;
        };
        checks::entry(thin, || state.name());
        // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
        if !takes(unsafe { header(thin) }.type_info.has_destructor) {
            return false;
        }
        Counts::count(&counts.released);
        // SAFETY: `newest_in_page` returned it, and nothing has run since.
        unsafe { release_newest(entries, thin, counts) };
        after();
    }
    false
}

/// Takes out the newest entry, and releases its reference.
///
/// # Safety
/// `thin` is the newest entry, of the topmost page.
#[inline(always)]
unsafe fn release_newest(entries: &Entries, thin: Thin, counts: &Counts) {
    // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
    let object = unsafe { header(thin) };
    // SAFETY: it is the newest, by the contract.
    unsafe { entries.pop() };
    if !object.count.is_all(1) {
        ledger::released(thin, 1, ReleasedBy::Pool(entries.label()));
        // SAFETY: alive by the reference, which has been taken out.
        match unsafe { checked(thin, object.count.release_many(1)) } {
            Released::Alive => return,
            // SAFETY: `release_many` says that this was the last strong reference.
            Released::Last => return unsafe { destroy_dead(thin) },
            Released::Unique => {}
        }
    }
    Counts::count(&counts.destroyed);
    // SAFETY: the only reference was the entry's, which has been taken out.
    unsafe { (object.type_info.destroy)(thin) };
}

/// Releases entries like [`release_few`], with what destructors need: the pool is current, marked as
/// being drained and protected from what they close, nested releases queue where the stack is deep,
/// and panics are kept. What is left to do is left to a drain, within the same protection, so that
/// nothing shows that it was none from the start. Returns whether nothing was left.
#[inline(never)]
fn release_nesting(
    state: &PoolState,
    stack: &PoolStack,
    counts: &Counts,
    panics: &mut FirstPanic,
) -> bool {
    let scope = ReleaseScope::enter();
    let frame = ChainFrame::new(true);
    let _current = Barrier::raise(stack, &frame, state);
    let _draining = Draining::begin(state);
    let settle = || {
        if scope.outermost {
            scope.settle();
        }
    };
    if !scope.deep {
        panics.guard(|| {
            // SAFETY: the stack is not deep; nested releases look after themselves.
            unsafe { release_few(state, counts, |_| true, settle) };
        });
        if !panics.is_none() {
            // Objects that the destructor that panicked had queued.
            scope.settle_all(panics);
        }
    }
    let idle = panics.is_none()
        && state.entries.is_empty()
        && !stack.thread_pools().has_duties(stack)
        && !ORPHANS.has_deferred();
    if !idle {
        drain_rest(state, stack, &scope, panics);
    }
    idle
}

#[cold]
#[inline(never)]
fn drain_rest(state: &PoolState, stack: &PoolStack, scope: &ReleaseScope, panics: &mut FirstPanic) {
    // A drain without a limit releases all, and counts what it releases.
    let _ = drain::release_rest(state, stack, None, scope, panics);
}

/// Drains a pool, unless it has been drained, and closes it. Entries have been released before, with
/// these panics.
#[inline(never)]
fn close_rest(pool: NonNull<PoolState>, progress: Progress, mut panics: FirstPanic) {
    if progress == Progress::Drained {
        close_drained(pool);
    } else if let Some(payload) = drain_and_close(pool).panic {
        panics.note(payload);
    }
    if let Some(payload) = panics.into_first() {
        resume_or_report(payload);
    }
}

#[cold]
#[inline(never)]
fn close_in_span(pool: NonNull<PoolState>) {
    // SAFETY: its guard is being dropped and has not freed it yet (fact 1 of `guard`).
    unsafe { drain_span::around_close(pool, || drain_and_close(pool)) }.resume();
}

fn drain_and_close(pool: NonNull<PoolState>) -> Outcome {
    // SAFETY: its guard is being dropped and has not freed it yet (fact 1 of `guard`).
    let outcome = drain::drain(unsafe { pool.as_ref() }, None);
    close_drained(pool);
    outcome
}

/// Closes a pool that has been drained, on behalf of its guard, which is not used again.
fn close_drained(pool: NonNull<PoolState>) {
    let in_scope;
    {
        // SAFETY: its guard is being dropped and has not freed it yet (fact 1 of `guard`).
        let state = unsafe { pool.as_ref() };
        // SAFETY: the pool is open (fact 2 of `guard`).
        let stack = unsafe { &*state.stack.get() };
        in_scope = state.is_scope();
        if in_scope {
            state.end_in_scope();
            stack.close_above(&state.frame);
        } else {
            stack.close_frame(&state.frame);
        }
        state.entries.clear(&stack.thread_pools().pages);
        if !state.has_no_extras() {
            state.clear_extras();
        }
        stack.stats.count_closed();
    }
    if !in_scope {
        // SAFETY: the guard is gone and there is no scope; the references above have ended.
        unsafe { free_state(pool) };
    }
}

/// Recycles the state of a closed pool and frees its detached `ThreadPools`, if this was the last
/// pool in it.
///
/// # Safety
/// Nothing refers to the pool from here on, nor to its `ThreadPools` by way of this pool.
pub(super) unsafe fn free_state(pool: NonNull<PoolState>) {
    let pools;
    {
        // SAFETY: it is recycled only below (fact 1 of `guard`).
        let state = unsafe { pool.as_ref() };
        // SAFETY: the stack outlives the recycling of the pool (fact 2 of `guard`).
        let stack = unsafe { &*state.stack.get() };
        stack.thread_pools().recycle(state);
        pools = stack.thread_pools_ptr();
    }
    // SAFETY: the references above have ended, and the caller has none.
    unsafe { ThreadPools::guard_closed(pools) };
}
