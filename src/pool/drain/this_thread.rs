//! The pools of the calling thread: how they are made, found, and emptied at the thread's exit; and
//! how managers' stacks are added to them and removed.

use super::engine::{self, drain, run_last, serve_as, work_off};
use super::turns::Serves;
use crate::event::{Event, EventKind};
use crate::ledger;
use crate::object::header::name_of;
use crate::pool::stack::budget::{Limit, Meter, Outcome, Served};
use crate::pool::stack::manager_shared::ManagerShared;
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::cell::Cell;
use crate::sync::{catch_unwind, local, unbox};
use crate::thread::current::{self, HookOf};
use crate::thread::key::own_key;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::Record;
use crate::unwind::{FirstPanic, Payload, report};
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
    // SAFETY: `pools` is null, or points to pools that only the thread's exit frees, which `f` does
    // not run (invariant 3 of `pool`).
    f(unsafe { pools.as_ref() })
}

/// Passes `f` the detached pools of the calling thread, which has exited; `None` if none is open.
#[cold]
pub(crate) fn late<R>(f: impl FnOnce(Option<&ThreadPools>) -> R) -> R {
    let held = NonNull::new(THIS.with(|this| this.late.get()).cast_mut()).map(Held::new);
    f(held.as_ref().map(Held::pools))
}

/// Passes `f` the calling thread's pools; once the thread has exited, its detached pools, or `None`
/// if none of these is open.
pub(crate) fn with_any<R>(f: impl FnOnce(Option<&ThreadPools>) -> R) -> R {
    with(|pools| match pools {
        None => late(f),
        pools => f(pools),
    })
}

/// Passes the detached pools of the calling thread, which has exited, to `f`, which opens a pool;
/// makes them if none is open.
#[cold]
pub(in crate::pool) fn late_or_new<R>(f: impl FnOnce(&ThreadPools) -> R) -> R {
    let mut pools = THIS.with(|this| this.late.get());
    if pools.is_null() {
        let made = ThreadPools::make_detached();
        // The global allocator is foreign code, and may have opened a pool, and so made others.
        pools = THIS.with(|this| this.late.get());
        if pools.is_null() {
            pools = made.as_ptr();
            THIS.with(|this| this.late.set(pools));
        } else {
            // SAFETY: `made` was just made: it has no open pool, and nothing uses it.
            unsafe { ThreadPools::free_detached(made) };
        }
    }
    // SAFETY: `pools` was just made, or has an open pool: so it has not been freed.
    f(Held::new(unsafe { NonNull::new_unchecked(pools.cast_mut()) }).pools())
}

/// Passes the pools that [`late_or_new`] finds or makes to `f`, which pushes a token pool. If this
/// pool is still open when the system runs the last destructors of the thread, it is popped then.
#[cold]
pub(in crate::pool) fn late_to_push<R>(f: impl FnOnce(&ThreadPools) -> R) -> R {
    current::set_late_hook(|| late(|pools| pools.into_iter().for_each(engine::pop_all_left)));
    late_or_new(|pools| {
        pools.count_open(1);
        f(pools)
    })
}

/// Keeps a thread's detached pools from being freed while destructors or hooks may close all of them.
struct Held(NonNull<ThreadPools>);

impl Held {
    fn new(pools: NonNull<ThreadPools>) -> Self {
        let this = Self(pools);
        this.pools().count_open(1);
        this
    }

    fn pools(&self) -> &ThreadPools {
        // SAFETY: until it is dropped, this `Held` counts as an open pool, so the pools exist.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: this `Held` is not used any more, nor are the references that it has lent.
        unsafe { pool_closed(self.0) };
    }
}

/// If `pools` is detached, counts one of its pools as closed and, if that was the last open one,
/// frees `pools`.
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

/// Counts a closed pool of `pools`, which is detached; frees `pools` if it was the last open one.
///
/// # Safety
/// The contract of [`pool_closed`].
#[cold]
#[inline(never)]
unsafe fn detached_pool_closed(pools: NonNull<ThreadPools>) {
    // SAFETY: the pool was open, so the `ThreadPools` has not been freed (invariant 3 of `pool`).
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

/// Returns the address of the calling thread's pointer to its pools, valid until the thread ends.
/// The pointer is null before the first use and after the thread's exit.
pub(crate) fn place() -> NonNull<Cell<*const ThreadPools>> {
    THIS.with(|this| NonNull::from(&this.pools))
}

/// Serves all duties of the calling thread, as [`serve_as`] does.
///
/// A thread without a key has only orphans to release. This function does not register it: if the
/// thread got the registry slot of an ended one, it could not run the ended thread's closures.
pub(crate) fn serve(meter: Meter, panics: &mut FirstPanic) -> Served {
    match own_key() {
        None => serve_as(Serves::All, None, meter, panics),
        Some(_) => with(|pools| serve_as(Serves::All, pools, meter, panics)),
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
    current::set_exit_hook(HookOf::Pools, at_exit);
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

/// Records that the thread has exited. `late` are its detached pools; null if it has none.
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
        // Passes on the pointer that `enter` made, not one made from `this`: the close of the last
        // open pool frees the pools by that pointer.
        let events = exit(this, record, || set_exited(pools.as_ptr()));
        if this.participant.has_calls() {
            // A suspended coroutine is inside a slot's call, whose end uses `this`: it must stay.
            this.count_open(1);
        }
        // SAFETY: `exit` has counted one open pool for this call; `this` is not used any more.
        unsafe { pool_closed(pools) };
        events.into_iter().for_each(Event::emit);
        ledger::drained_last();
    }
}

/// Arms the inboxes of the calling thread, so that the next message wakes it; the inbox for releases
/// only if `for_releases`. Arms nothing and returns false if there is something to do already.
pub(crate) fn arm_if_idle(record: &Record, for_releases: bool) -> bool {
    arm_if(record, for_releases, ThreadPools::may_sleep)
}

/// If the calling thread has a hook for messages, makes the next message to the thread call the
/// hook; calls it at once if the thread has something to do already. Works in a destructor, too, as
/// nothing rearms after the destructor. The backlog does not count, as `run_inbox` leaves it alone.
pub(crate) fn rearm(record: &Record) {
    if record.waker.has_hook() && !arm_if(record, true, ThreadPools::has_served) {
        record.waker.wake();
    }
}

fn arm_if(record: &Record, for_releases: bool, is_done: impl Fn(&ThreadPools) -> bool) -> bool {
    let is_idle = with(|pools| pools.is_none_or(|pools| pools.posted() == 0 && is_done(pools)));
    is_idle && record.arm(for_releases)
}

/// Returns the stack of a manager, and makes it if the thread has none.
pub(crate) fn find_or_add<'p>(
    pools: &'p ThreadPools,
    manager: &Arc<ManagerShared>,
) -> &'p PoolStack {
    match pools.find(manager) {
        Some(stack) => stack,
        None => add(pools, manager),
    }
}

#[cold]
fn add<'p>(pools: &'p ThreadPools, manager: &Arc<ManagerShared>) -> &'p PoolStack {
    let stack = pools.add(manager);
    // Prunes last: `prune` runs foreign code, which may call this function again. `prune` does not
    // free `stack`, because the caller has a handle to the stack's manager.
    prune(pools);
    stack
}

/// Drains and frees the stacks of managers that have no handle left.
fn prune(pools: &ThreadPools) {
    // Draining runs foreign code, which may call this function again: so stacks are taken one at a
    // time, and nothing is borrowed meanwhile.
    while let Some(stack) = pools.take_abandoned() {
        let outcome = {
            // SAFETY: the stack is off the list, so nothing else frees it.
            let this = unsafe { stack.as_ref() };
            let outcome = engine::empty_stack(this, Limit::SOME);
            if let Some(key) = pools.key() {
                this.retire(key);
            }
            this.root.entries.clear(&pools.pages);
            // Leaks anything only if the drain was cut off, as destructors fed it without end.
            this.backlog.leak(&pools.pages);
            outcome
        };
        // SAFETY: `ThreadPools::add` made the stack, which is off the list. Its manager has no
        // handle left, by which code could find the stack; it has no open pool, and no drain of it
        // is in progress.
        drop(unsafe { unbox(stack) });
        // A panic of an old manager's objects does not concern the caller, which uses a new
        // manager.
        outcome.report();
    }
}

/// How many drains a thread's exit makes to keep up with destructors that feed its pools, besides
/// one for each pool and backlog at its beginning. Also limits the generations of its duties.
const DRAINS: usize = 100_000;

/// Drains root and token pools until they stay empty, closes the inboxes, and hands the closures
/// that no loop has accepted to the orphans. Leaves open guard pools alone: references that
/// forgotten pools have lent may live for ever. Then detaches `pools` and calls `set_exited`, which
/// records that for the thread. Returns the events that are due, which the caller emits last: their
/// hook is foreign code.
///
/// Afterwards `pools` counts as open all pools that are still open, and one more for the caller.
///
/// Does not unwind, as nothing could catch the panic.
pub(in crate::pool) fn exit(
    pools: &ThreadPools,
    record: &Arc<Record>,
    set_exited: impl FnOnce(),
) -> Vec<Event> {
    pools.exiting.set(true);
    let mut exit = PoolsExit {
        pools,
        record,
        drains: DRAINS
            + pools
                .stacks()
                .map(|stack| stack.tokens().count() + 2)
                .sum::<usize>(),
        served: 0,
        events: Vec::new(),
    };
    let mut inbox_open = true;
    loop {
        if exit.empty_all() || exit.run_posts() {
            continue;
        }
        if !inbox_open {
            break;
        }
        inbox_open = false;
        exit.close_inbox();
    }
    while pools.run_posted(|call| ORPHANS.adopt(call)).is_some() {}
    pools.reviews.leave(&pools.attention);
    pools.stacks().for_each(PoolStack::fall_back_to_root);
    let guards = pools.open_guards();
    // No token pool is open, and no root pool has entries: the last turn of the loop has found none,
    // and no foreign code has run since.
    debug_assert!(pools.stacks().all(|stack| stack.last_token().is_none()));
    pools.detach(guards + 1);
    set_exited();
    for stack in pools.stacks() {
        stack.root.entries.clear(&pools.pages);
        stack.retire(record.key());
    }
    let mut events = exit.events;
    if guards > 0 {
        pools.list();
        events.push(Event::new(EventKind::OpenAtExit, record.label()).count(guards));
    }
    events
}

/// The exit of a thread's pools, in progress.
struct PoolsExit<'x> {
    pools: &'x ThreadPools,
    record: &'x Record,
    /// How many more drains the exit makes.
    drains: usize,
    /// Generations of duties that the exit has served.
    served: u32,
    events: Vec<Event>,
}

impl PoolsExit<'_> {
    /// Serves duties, and empties all token pools, backlogs and root pools once. Returns whether
    /// there was anything to do: if so, foreign code may have filled pools, even without a release.
    fn empty_all(&mut self) -> bool {
        let mut any = self.serve();
        for stack in self.pools.stacks() {
            while let Some(pool) = stack.last_token() {
                any = true;
                let panic = stack.popping(pool, || self.empty(pool));
                // Destructors may have pushed other pools, so that `pool` is not the last one.
                let closing = stack.last_token().is_some_and(|last| ptr::eq(last, pool));
                if closing && pool.life.is_draining() {
                    stack.abandon_token(pool);
                } else if closing {
                    stack.close_token(pool, false);
                }
                // Reports the panic last: the hook is foreign code, which may pop and push pools.
                panic.into_iter().for_each(report);
            }
            if stack.backlog.len() > 0 {
                any = true;
                self.empty_backlog(stack).into_iter().for_each(report);
            }
            if !stack.root.entries.is_empty() {
                any = true;
                self.empty(&stack.root).into_iter().for_each(report);
            }
        }
        any
    }

    /// Serves the thread's duties, for a limited number of generations. Returns whether there was anything
    /// to do.
    fn serve(&mut self) -> bool {
        if self.served as usize >= DRAINS {
            return false;
        }
        let mut panics = FirstPanic::default();
        let meter = Meter::unlimited(Limit::SOME);
        let served = serve_as(Serves::Exit, Some(self.pools), meter, &mut panics);
        panics.report();
        self.served += served.generations;
        served.generations > 0
    }

    /// Runs the closures that were posted to loops that destructors in this exit have created, and
    /// then dropped or forgotten. Returns whether there were any.
    fn run_posts(&mut self) -> bool {
        self.drains = self.drains.saturating_sub(1);
        self.drains > 0 && self.pools.run_posts_of_loops()
    }

    /// Calls `drain`, unless the exit has made too many drains. Returns whether the rest has to be
    /// leaked, and the first panic.
    fn drain(&mut self, drain: impl FnOnce() -> Outcome) -> (bool, Option<Payload>) {
        if self.drains == 0 {
            return (true, None);
        }
        self.drains -= 1;
        match catch_unwind(drain) {
            Ok(outcome) => (outcome.is_cut, outcome.panic),
            // Drains do not unwind. Catching a panic is a precaution, as a panic here would abort
            // the process.
            Err(payload) => (false, Some(payload)),
        }
    }

    /// Drains a pool, and leaks what a limit of the exit leaves there. Returns the first panic.
    fn empty(&mut self, pool: &PoolState) -> Option<Payload> {
        let (is_cut, panic) = self.drain(|| drain(pool, Limit::SOME));
        if is_cut {
            self.leak(pool);
        }
        panic
    }

    /// Drains a backlog, and leaks what a limit of the exit leaves there. Objects that destructors
    /// autorelease go to the root pool. Returns the first panic.
    fn empty_backlog(&mut self, stack: &PoolStack) -> Option<Payload> {
        let meter = Meter::unlimited(Limit::SOME);
        let (is_cut, panic) = self.drain(|| work_off(stack, meter, Serves::Nothing));
        if is_cut {
            // Leaks no claimed messages: `run_last` runs them like those in the inbox.
            let leaked = stack.backlog.leak(&self.pools.pages);
            let event = Event::new(EventKind::CutOff, self.record.label());
            self.events.push(event.pool("backlog").count(leaked));
        }
        panic
    }

    /// Leaks and reports the entries that are left in a pool, normally none.
    fn leak(&mut self, pool: &PoolState) {
        // SAFETY: no entry is taken out here.
        let Some(last) = unsafe { pool.entries.newest_first() }.next() else {
            return;
        };
        // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
        let name = unsafe { name_of(last) }.get();
        let leaked = pool.entries.clear(&self.pools.pages);
        let event = Event::new(EventKind::CutOff, self.record.label());
        self.events
            .push(event.pool(pool.name()).of_type(name).count(leaked));
    }

    /// Closes the thread's inboxes, and makes the releases that are left there or are claimed.
    fn close_inbox(&self) {
        self.pools.close_posted();
        let mut panics = FirstPanic::default();
        let messages = self.record.releases.inbox().close();
        run_last(self.pools, self.record, messages, &mut panics);
        panics.report();
    }
}
