//! Pins of the calling thread, and retiring of references: [`epoch`] for callers that have no
//! `ThreadPools` at hand.

use crate::epoch;
use crate::object::header::Thin;
use crate::pool::drain::this_thread;
use crate::pool::remote;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::epoch::Guard;
use crate::thread::key::own_key;
use crate::thread::orphans::ORPHANS;

/// Returns whether the calling thread is the only one with pinned pools, so that only its own pools
/// hold the epoch.
pub(crate) fn is_held_here_alone() -> bool {
    let me = own_key();
    let is_held =
        this_thread::with(|pools| pools.is_some_and(|pools| pools.participants.any_pinned()));
    is_held && !epoch::is_held_elsewhere(me)
}

/// Calls `f`, a few instructions of this crate. Meanwhile the objects that slots hold now stay
/// alive.
pub(crate) fn with_guard<R>(f: impl FnOnce(&Guard) -> R) -> R {
    this_thread::with(|pools| epoch::with_guard(pools.map(|pools| &pools.participants), f))
}

/// Calls `f`, which is foreign code. Meanwhile the objects that slots hold now stay alive, and an
/// event reports a call that takes long.
pub(crate) fn pinned_while<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
    struct TurnAtEnd<'p>(Option<&'p ThreadPools>);
    impl Drop for TurnAtEnd<'_> {
        fn drop(&mut self) {
            self.0.into_iter().for_each(ThreadPools::take_turn);
        }
    }
    this_thread::with(|pools| {
        // This guard is dropped after the pin has ended, also by a panic.
        let _turn = TurnAtEnd(pools);
        epoch::pinned_while(pools.map(|pools| &pools.participants), name, f)
    })
}

/// Gives up a strong reference once every participant that is pinned now has been unpinned.
///
/// # Safety
/// The caller gives up the reference, to an object that may be sent to other threads.
pub(crate) unsafe fn retire(thin: Thin) {
    // SAFETY: forwards the contract.
    let release = unsafe { remote::orphaned_release(thin) };
    let waiting = ORPHANS.retire(release);
    this_thread::with(|pools| {
        if epoch::is_advance_due(waiting) {
            epoch::advance(pools.map(|pools| &pools.participants));
        }
        pools.into_iter().for_each(ThreadPools::take_turn);
    });
}

/// Advances the epoch as far as possible, and stops when a retired reference has become ready.
/// Returns whether one has.
pub(crate) fn advance_until_ready() -> bool {
    // Does not make the thread's pools if there is nothing to advance.
    if ORPHANS.has_releases() || !ORPHANS.has_deferred() {
        return ORPHANS.has_releases();
    }
    this_thread::with(|pools| epoch::advance_until_ready(pools.map(|pools| &pools.participants)))
}
