//! Slots' use of the calling thread's pools: pins, and retiring of references.

use crate::epoch::{self, Call};
use crate::object::header::Thin;
use crate::pool::drain::this_thread;
use crate::pool::entries::page::{PageCache, RetiredPages};
use crate::pool::entries::retired::collect;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::thread::key::own_key;

/// Retires a strong reference that was taken out of a slot: it is released once everything that is
/// pinned now has been unpinned.
///
/// # Safety
/// The caller gives up the reference, to an object that may be sent to other threads.
pub(crate) unsafe fn retire(thin: Thin) {
    this_thread::with(|pools| {
        let own = pools.map(|pools| &pools.participant);
        let waiting = epoch::retire(own, |queue| {
            let queue = RetiredPages(queue);
            match pools {
                Some(pools) => queue.push(thin, &pools.pages),
                None => queue.push(thin, &PageCache::new()),
            }
        });
        if epoch::is_due(waiting) {
            collect();
        }
        pools.into_iter().for_each(ThreadPools::take_turn);
    });
}

/// Returns whether the calling thread is the only one with pins, so that only its own pools and
/// calls delay the release of retired references.
pub(crate) fn is_held_here_alone() -> bool {
    let is_held = this_thread::with(|pools| pools.is_some_and(|p| p.participant.is_pinned()));
    is_held && !epoch::is_held_elsewhere(own_key())
}

/// Calls `f`, a few instructions of this crate. Meanwhile the objects that slots hold now stay
/// alive.
#[inline]
pub(crate) fn pinned<R>(f: impl FnOnce() -> R) -> R {
    this_thread::with(|pools| epoch::pinned_while(pools.map(|p| &p.participant), None, f))
}

/// Calls `f`, which is foreign code. Meanwhile the objects that slots hold now stay alive, and an
/// event reports a call that takes long.
#[inline]
pub(crate) fn pinned_while<R>(call: Call, f: impl FnOnce() -> R) -> R {
    struct TurnAtEnd<'p>(Option<&'p ThreadPools>);
    impl Drop for TurnAtEnd<'_> {
        fn drop(&mut self) {
            self.0.into_iter().for_each(ThreadPools::take_turn);
        }
    }
    this_thread::with(|pools| {
        // This guard is dropped after the pin has ended, even if `f` panics.
        let _turn = TurnAtEnd(pools);
        epoch::pinned_while(pools.map(|p| &p.participant), Some(call), f)
    })
}
