//! The calling thread: its record, how it is entered, and how it exits.

use super::key::{self, ThreadKey, own_key};
use super::orphans::ORPHANS;
use super::record::{DEPARTED, Record, Tally};
use super::registry::REGISTRY;
use crate::event::words;
use crate::sync::cell::Cell;
use crate::sync::thread::{ThreadId, current_id, current_name};
use crate::sync::{PlainMap, at_thread_exit, lazy, local};
use std::ptr::{self, NonNull};
use std::sync::Arc;

lazy! {
    /// The keys of the threads that have been entered and have not exited, by std's thread id.
    static BY_ID: PlainMap<ThreadId, ThreadKey> = PlainMap::new();
}

/// Returns the record of the thread with std's `id`, if it has been entered and has not exited.
pub(crate) fn by_id(id: ThreadId) -> Option<Arc<Record>> {
    REGISTRY.get(BY_ID.get(&id)?)
}

/// A function of a module in a higher layer, which a thread's exit calls.
type ExitHook = fn(&Arc<Record>);

/// The modules that have a hook, in the order in which the hooks run.
#[derive(Clone, Copy)]
pub(crate) enum HookOf {
    Reclaimer,
    Loops,
    Pools,
    Memory,
}

/// A thread's state in its thread-local. It has no destructor, so it is accessible at any time.
struct CurrentThread {
    /// Null before the first use and after the exit (invariant 7 of `thread`).
    record: Cell<*const Record>,
    /// True once the thread has exited.
    exited: Cell<bool>,
    /// True once the thread's exit has begun.
    exiting: Cell<bool>,
    /// The address of a box with the reference that keeps `record` alive.
    owner: Cell<*mut Arc<Record>>,
    /// The exit hooks, by [`HookOf`].
    hooks: [Cell<Option<ExitHook>>; 4],
    /// Called once, by the next call of [`thread_exit`] that finds that the thread has exited.
    late_hook: Cell<Option<fn()>>,
}

local! {
    static CURRENT: CurrentThread = CurrentThread {
        record: Cell::new(ptr::null()),
        exited: Cell::new(false),
        exiting: Cell::new(false),
        owner: Cell::new(ptr::null_mut()),
        hooks: [Cell::new(None), Cell::new(None), Cell::new(None), Cell::new(None)],
        late_hook: Cell::new(None),
    };
}

/// Returns the calling thread's record, and enters the thread into the registry at the first call.
///
/// Returns `None` once the thread has exited, or if the first call comes so late in the thread's
/// teardown that nothing would notice its exit.
pub(crate) fn current() -> Option<Arc<Record>> {
    CURRENT.with(|c| {
        if c.record.get().is_null() {
            if c.exited.get() {
                return None;
            }
            enter(c, None);
            if c.exited.get() {
                return None;
            }
        }
        // SAFETY: `record` is set, so `owner` is too (invariant 7 of `thread`).
        Some(unsafe { &*c.owner.get() }.clone())
    })
}

/// Returns the calling thread's record like [`current`], but returns `None`, even if the thread has
/// been entered, once it is so late in its teardown that nothing would call [`thread_exit`].
pub(crate) fn current_that_exits() -> Option<Arc<Record>> {
    at_thread_exit(thread_exit).then(current).flatten()
}

/// Returns the calling thread's key, if the thread has been entered and has not exited.
pub(crate) fn current_key() -> Option<ThreadKey> {
    CURRENT.with(|c| {
        // SAFETY: null, or kept alive by `owner` (invariant 7 of `thread`).
        unsafe { c.record.get().as_ref() }.map(Record::key)
    })
}

/// Returns the calling thread's record; after its exit, a new record with the same key that accepts
/// no messages.
pub(crate) fn current_or_closed() -> Arc<Record> {
    current().unwrap_or_else(|| {
        let key = own_key().expect("a thread is entered before it exits");
        Arc::new(Record::closed(key))
    })
}

/// Returns name and key of the calling thread, for reports. A thread keeps its key after its exit,
/// so that reports tell two exited threads apart.
pub(crate) fn current_label() -> String {
    CURRENT.with(|c| {
        // SAFETY: null, or kept alive by `owner` (invariant 7 of `thread`).
        if let Some(record) = unsafe { c.record.get().as_ref() } {
            return record.label();
        }
        let key = own_key().map_or_else(|| "without a key".to_owned(), |key| key.to_string());
        words::label(current_name().as_deref(), key)
    })
}

/// Sets a hook that the calling thread's exit calls.
pub(crate) fn set_exit_hook(of: HookOf, hook: ExitHook) {
    CURRENT.with(|c| c.hooks[of as usize].set(Some(hook)));
}

/// Makes the calling thread call `hook` after its exit, as late as the system allows; never if the
/// system has no pthread keys. For a hook that closes what code has left open since the exit.
pub(crate) fn set_late_hook(hook: fn()) {
    CURRENT.with(|c| c.late_hook.set(Some(hook)));
    at_thread_exit(thread_exit);
}

/// Enters the calling thread into the registry, with a bound on the releases that may wait for it,
/// unless it has been entered before. The thread must not have exited.
pub(crate) fn enter_bounded(bound: u64) {
    CURRENT.with(|c| {
        if c.record.get().is_null() {
            enter(c, Some(bound));
        }
    });
}

/// Enters the calling thread into the registry.
#[cold]
fn enter(c: &CurrentThread, bound: Option<u64>) {
    let Some(id) = current_id() else {
        return enter_closed();
    };
    let record = REGISTRY.claim(|key| Arc::new(Record::new(key, bound)));
    let (key, at) = (record.key(), Arc::as_ptr(&record));
    let owner = Box::new(record);
    // The global allocator is foreign code, and may have entered the thread meanwhile.
    if !c.record.get().is_null() {
        return REGISTRY.leave(key);
    }
    key::set_own(key);
    words::set_current_label(current_label);
    // Sets `record` after `owner`: invariant 7 of `thread`.
    c.owner.set(Box::into_raw(owner));
    c.record.set(at);
    BY_ID.insert(id, key);
    at_thread_exit(thread_exit);
}

/// Gives the calling thread a key, and marks the thread as exited at once: for a first use so late
/// in the thread's teardown that perhaps nothing would call [`thread_exit`]. No other thread can
/// send it messages or wait for it.
#[cold]
fn enter_closed() {
    let record = REGISTRY.claim(|key| Arc::new(Record::closed(key)));
    key::set_own(record.key());
    words::set_current_label(current_label);
    _ = leaving();
    REGISTRY.leave(record.key());
}

/// Begins the exit, and returns the record. If there is none, marks the thread as exited, so that
/// the thread cannot be entered any more.
fn leaving() -> Option<Arc<Record>> {
    CURRENT.with(|c| {
        c.exiting.set(true);
        if c.record.get().is_null() {
            c.exited.set(true);
            return None;
        }
        // SAFETY: `record` is set, so `owner` is too (invariant 7 of `thread`).
        Some(unsafe { &*c.owner.get() }.clone())
    })
}

/// Returns whether the calling thread's exit has begun. Foreign code that is called from then on
/// may access thread-locals that have been destroyed.
pub(crate) fn is_exiting() -> bool {
    CURRENT.with(|c| c.exiting.get())
}

/// Ends the exit: look-ups no longer find the thread.
fn depart(record: &Record) {
    if let Some(id) = record.id() {
        BY_ID.remove(&id);
    }
    record.hand_over_figures();
    CURRENT.with(|c| {
        c.record.set(ptr::null());
        c.exited.set(true);
        let owner = c.owner.replace(ptr::null_mut());
        // SAFETY: `enter` boxed `owner`; `record` is null, so nothing dereferences `owner` now.
        drop(unsafe { Box::from_raw(owner) });
    });
    REGISTRY.leave(record.key());
}

/// Returns the calling thread's figures, if the thread has been entered and has not exited.
#[inline(always)]
fn tally<'t>() -> Option<&'t Tally> {
    // SAFETY: null, or kept alive by `owner` (invariant 7 of `thread`).
    unsafe { CURRENT.with(|c| c.record.get()).as_ref() }.map(|record| &record.tally)
}

/// Returns the address of the thread-local pointer to the calling thread's record. The address is
/// valid until the thread ends. The pointer is null before the thread is entered and after its
/// exit.
pub(crate) fn record_place() -> NonNull<Cell<*const Record>> {
    CURRENT.with(|c| NonNull::from(&c.record))
}

/// Counts `n` objects made by this thread.
#[inline(always)]
pub(crate) fn tally_created(n: u64) {
    match tally() {
        Some(tally) => tally.created.add(n),
        None => tally_created_slow(n),
    }
}

#[cold]
#[inline(never)]
fn tally_created_slow(n: u64) {
    if let Some(record) = current() {
        record.tally.created.add(n);
    } else {
        DEPARTED.created.add_shared(n);
    }
}

/// Counts `n` objects destroyed by this thread. Does not enter the thread into the registry, as its
/// first use of the crate may be in its teardown.
#[inline(always)]
pub(crate) fn tally_destroyed(n: u64) {
    match tally() {
        Some(tally) => tally.destroyed.add(n),
        None => tally_destroyed_slow(n),
    }
}

#[cold]
#[inline(never)]
fn tally_destroyed_slow(n: u64) {
    DEPARTED.destroyed.add_shared(n);
}

/// Counts `n` objects that this thread sent to another.
pub(crate) fn tally_handed_over(n: u64) {
    match tally() {
        Some(tally) => tally.handed_over.add(n),
        None => DEPARTED.handed_over.add_shared(n),
    }
}

/// Runs the whole exit of the calling thread, as an explicit sequence: the destructor of a
/// thread-local only calls this, and models call it themselves.
///
/// 1. The hook in `reclaim::later` gives up the thread's reference to the reclaimer of the process.
/// 2. The hook of the loops, in `frame::loop_state`, closes those that are still open.
/// 3. The hook of the pools, in `pool::drain::this_thread`, drains the root and token pools, and
///    closes the inboxes.
/// 4. The hook of memory, in `block::thread_heaps`, gives up the thread's heaps.
/// 5. Messages in the inboxes of a thread that never had a pool go to the orphans.
/// 6. Look-ups no longer find the thread; its registry slot is free.
///
/// Idempotent, except for the late hook. Destructors that run during the exit cannot undo it. After
/// the exit, pools work detached, and `autorelease` without an open pool releases at once.
pub(crate) fn thread_exit() {
    let Some(record) = leaving() else {
        if let Some(hook) = CURRENT.with(|c| c.late_hook.take()) {
            hook();
        }
        return;
    };
    // Takes one hook at a time: an earlier hook may still set a later one, or use data that the
    // later one tears down.
    while let Some(hook) = CURRENT.with(|c| c.hooks.iter().find_map(Cell::take)) {
        hook(&record);
    }
    for inbox in [&record.calls, &record.releases] {
        for message in inbox.inbox().close() {
            let weight = message.weight();
            ORPHANS.adopt(message);
            inbox.count_done(weight);
        }
    }
    depart(&record);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::thread::spawn;

    #[test]
    fn a_thread_that_has_exited_is_not_listed() {
        let thread = spawn("is entered", || {
            let id = current_id().unwrap();
            assert!(current().is_some() && by_id(id).is_some());
        });
        let thread = thread.unwrap();
        let id = thread.thread().id();
        thread.join().unwrap();
        assert!(!BY_ID.contains(&id));
    }
}
