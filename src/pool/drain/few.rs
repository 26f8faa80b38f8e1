//! The quick way for pools with few entries: setting up a drain takes longer than releasing them.

use super::duties::owes;
use super::engine::release_rest;
use super::release::{Pace, Unmetered, check, release as release_one};
use crate::ledger::{self, ReleasedBy};
use crate::object::destroy::ReleaseScope;
use crate::object::header::header;
use crate::pool::stack::budget::Limit;
use crate::pool::stack::chain::Barrier;
use crate::pool::stack::pool_life::{ChainFrame, Draining};
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::thread::current::tally_destroyed;
use crate::unwind::FirstPanic;

/// The greatest number of entries that counts as few.
pub(super) const FEW: isize = 4;

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
/// has released.
#[inline(always)]
pub(super) fn release(
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
        // Other figures, so that those above stay in registers.
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
/// others. Returns whether the page is empty.
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
            unsafe { release_one(thin, 1, scope, counts) };
        }
    }
    false
}

/// Releases entries like [`release_some`], with the precautions that destructors need: the pool is
/// current, marked as being drained, and protected by a barrier from destructors that close pools;
/// nested releases are queued where the stack is deep; and panics are kept. A drain does the rest,
/// within the same precautions, so that destructors cannot tell the two apart.
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
    let _draining = Draining::begin(&pool.life);
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
