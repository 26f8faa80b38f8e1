//! Leads from the calling thread to its `ThreadPools`.

use super::outcome::Served;
use super::{engine, pools_exit};
use crate::event::Event;
use crate::ledger;
use crate::pool::stack::budget::Meter;
use crate::pool::stack::manager_shared::ManagerShared;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::cell::Cell;
use crate::sync::{local, unbox};
use crate::thread::current;
use crate::thread::key::own_key;
use crate::thread::record::Record;
use crate::unwind::FirstPanic;
use std::ptr::{self, NonNull};
use std::sync::Arc;

struct ThisThread {
    /// Null before the first use, and after the thread's exit.
    pools: Cell<*const ThreadPools>,
    exited: Cell<bool>,
    /// The thread's detached pools, after its exit, while one of them is open; else null.
    late: Cell<*const ThreadPools>,
}

local! {
    static THIS: ThisThread = ThisThread {
        pools: Cell::new(ptr::null()),
        exited: Cell::new(false),
        late: Cell::new(ptr::null()),
    };
}

/// Passes `f` the calling thread's pools, which the first use makes; `None` once the thread has
/// exited.
///
/// `f` must not run the thread's exit; only the destructor of a thread-local runs it.
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(Option<&ThreadPools>) -> R) -> R {
    let mut pools = THIS.with(|this| this.pools.get());
    if pools.is_null() {
        pools = enter();
    }
    // SAFETY: null, or freed by the thread's exit alone, which `f` does not run (invariant 3 of
    // `pool`).
    f(unsafe { pools.as_ref() })
}

/// Passes `f` the pools of the calling thread if it has exited; `None` if none of them is open.
#[cold]
pub(crate) fn late<R>(f: impl FnOnce(Option<&ThreadPools>) -> R) -> R {
    let held = NonNull::new(THIS.with(|this| this.late.get()).cast_mut()).map(Held::new);
    f(held.as_ref().map(Held::pools))
}

/// Passes `f` the calling thread's pools, also once it has exited; `None` if none of them is open then.
pub(crate) fn with_any<R>(f: impl FnOnce(Option<&ThreadPools>) -> R) -> R {
    with(|pools| match pools {
        None => late(f),
        pools => f(pools),
    })
}

/// Passes `f` the pools of the calling thread, which has exited, to open another one; makes them if none is
/// open.
#[cold]
pub(in crate::pool) fn late_or_new<R>(f: impl FnOnce(&ThreadPools) -> R) -> R {
    let mut pools = THIS.with(|this| this.late.get());
    if pools.is_null() {
        let made = ThreadPools::make_detached();
        // The global allocator is foreign code, and may have made others meanwhile.
        pools = THIS.with(|this| this.late.get());
        if pools.is_null() {
            pools = made.as_ptr();
            THIS.with(|this| this.late.set(pools));
        } else {
            // SAFETY: just made, and nothing leads to it.
            unsafe { ThreadPools::free_detached(made) };
        }
    }
    // SAFETY: just made, or not null, so that a pool of it is open.
    f(Held::new(unsafe { NonNull::new_unchecked(pools.cast_mut()) }).pools())
}

/// Passes `f` the calling thread's pools as [`late_or_new`] does, to push a token pool: if it is still open when the
/// system runs the last destructors of the thread, it is popped then.
#[cold]
pub(in crate::pool) fn late_to_push<R>(f: impl FnOnce(&ThreadPools) -> R) -> R {
    current::set_late_hook(|| late(|pools| pools.into_iter().for_each(engine::pop_all_left)));
    late_or_new(|pools| {
        pools.count_open(1);
        f(pools)
    })
}

/// Keeps the pools of a thread that has exited, while foreign code may close the last of them.
struct Held(NonNull<ThreadPools>);

impl Held {
    fn new(pools: NonNull<ThreadPools>) -> Self {
        let this = Self(pools);
        this.pools().count_open(1);
        this
    }

    fn pools(&self) -> &ThreadPools {
        // SAFETY: counted as one of its open pools, until this is dropped.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: this reference is not used any more, nor are those that it has lent.
        unsafe { pool_closed(self.0) };
    }
}

/// Counts a pool that has been closed. The last one of a detached `ThreadPools` frees it.
///
/// # Safety
/// The caller does not use `pools` any more, and has no reference into it.
#[inline]
pub(in crate::pool) unsafe fn pool_closed(pools: NonNull<ThreadPools>) {
    // SAFETY: the pool was open, so the `ThreadPools` has not been freed (invariant 3 of `pool`).
    if unsafe { pools.as_ref() }.is_detached() {
        // SAFETY: forwards the contract.
        unsafe { detached_pool_closed(pools) };
    }
}

/// Counts a pool of a detached `ThreadPools` that has been closed.
///
/// # Safety
/// As [`pool_closed`].
#[cold]
#[inline(never)]
unsafe fn detached_pool_closed(pools: NonNull<ThreadPools>) {
    // SAFETY: as in `pool_closed`.
    if unsafe { pools.as_ref() }.count_closed() {
        THIS.with(|this| {
            if ptr::eq(this.late.get(), pools.as_ptr()) {
                this.late.set(ptr::null());
            }
        });
        // SAFETY: that was the last open pool, and the thread does not find its `ThreadPools` any more.
        unsafe { ThreadPools::free_detached(pools) };
    }
}

/// Returns the place of the pointer to the calling thread's pools, which stays until the thread ends.
/// The pointer is null before the first use and after the thread's exit.
pub(crate) fn place() -> NonNull<Cell<*const ThreadPools>> {
    THIS.with(|this| NonNull::from(&this.pools))
}

/// Serves the calling thread's duties, as [`engine::serve`] does.
///
/// A thread without a key has only orphans to release. This function does not register such a
/// thread: it might get the registry slot of an ended thread, and could then not run that thread's
/// closures.
pub(crate) fn serve(meter: Meter, panics: &mut FirstPanic) -> Served {
    match own_key() {
        None => engine::serve(None, meter, panics),
        Some(_) => with(|pools| engine::serve(pools, meter, panics)),
    }
}

/// Makes the thread's pools; returns null once the thread has exited.
#[cold]
#[inline(never)]
fn enter() -> *const ThreadPools {
    if THIS.with(|this| this.exited.get()) {
        return ptr::null();
    }
    let Some(record) = current::current() else {
        set_exited(ptr::null());
        return ptr::null();
    };
    current::set_exit_hook(at_exit);
    let pools = ThreadPools::make(ManagerShared::global(), Some(record));
    // The global allocator is foreign code, and may have made the thread's pools meanwhile.
    let others = THIS.with(|this| this.pools.get());
    if !others.is_null() {
        // SAFETY: the pools were just made, and nothing leads to them.
        drop(unsafe { unbox(pools) });
        return others;
    }
    THIS.with(|this| this.pools.set(pools.as_ptr()));
    // SAFETY: the pools were just made, and only the thread's exit frees them.
    unsafe { pools.as_ref() }.enlist();
    ledger::note_thread();
    pools.as_ptr()
}

/// Records that the thread has no pools from here on but `late`, which are detached.
fn set_exited(late: *const ThreadPools) {
    THIS.with(|this| {
        this.pools.set(ptr::null());
        this.late.set(late);
        this.exited.set(true);
    });
}

/// The hook that a thread with pools runs at its exit.
fn at_exit(record: &Arc<Record>) {
    let pools = THIS.with(|this| this.pools.get()).cast_mut();
    if let Some(pools) = NonNull::new(pools) {
        // SAFETY: `enter` made the pools, which only `pool_closed` frees.
        let this = unsafe { pools.as_ref() };
        let events = pools_exit::exit(this, record, |late| set_exited(late));
        // SAFETY: `exit` has counted this, and `this` is not used any more.
        unsafe { pool_closed(pools) };
        events.into_iter().for_each(Event::emit);
        ledger::drained_last();
    }
}
