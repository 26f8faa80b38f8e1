//! The calling thread: its record, how it is entered, and how it exits.

use super::key::{self, ThreadKey, own_key};
use super::orphans::ORPHANS;
use super::record::{DEPARTED, Record, Tally, lock_figures};
use super::registry::REGISTRY;
use crate::sync::cell::Cell;
use crate::sync::thread::{ThreadId, current_id, current_name};
use crate::sync::{at_thread_exit, lazy, local};
use dashmap::DashMap;
use std::ptr;
use std::sync::Arc;

lazy! {
    /// Touched when a thread starts, ends, or is looked up by this id.
    static BY_ID: DashMap<ThreadId, ThreadKey> = DashMap::new();
}

/// The record of the thread that std knows by `id`, if it lives.
pub(crate) fn by_id(id: ThreadId) -> Option<Arc<Record>> {
    let key = *BY_ID.get(&id)?;
    REGISTRY.get(key)
}

/// What the rooms above want done at a thread's exit.
type ExitHook = fn(&Arc<Record>);

/// Where a thread finds itself. No destructor: it can be asked at any time.
struct Current {
    /// Null before the first use, and after the thread's exit.
    record: Cell<*const Record>,
    /// Whether it has exited.
    exited: Cell<bool>,
    /// What keeps `record` alive; boxed by hand.
    owner: Cell<*mut Arc<Record>>,
    /// What the rooms above want done at exit, in this order: that of loops, of pools, of memory.
    hooks: [Cell<Option<ExitHook>>; 3],
}

local! {
    static CURRENT: Current = Current {
        record: Cell::new(ptr::null()),
        exited: Cell::new(false),
        owner: Cell::new(ptr::null_mut()),
        hooks: [Cell::new(None), Cell::new(None), Cell::new(None)],
    };
}

/// The calling thread's record; entered into the registry at the first call.
/// `None` once the thread has exited, or if the first call comes after all that could notice
/// its exit.
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
        // SAFETY: set by `enter`; freed by `depart`, which takes `record` away.
        Some(unsafe { &*c.owner.get() }.clone())
    })
}

/// The same; `None`, too, if the thread's exit would not be noticed, as it is past that.
pub(crate) fn current_that_exits() -> Option<Arc<Record>> {
    if at_thread_exit(thread_exit) {
        current()
    } else {
        None
    }
}

/// The calling thread's key, if it has been entered and has not exited.
pub(crate) fn current_key() -> Option<ThreadKey> {
    CURRENT.with(|c| {
        // SAFETY: kept alive by `owner`.
        unsafe { c.record.get().as_ref() }.map(Record::key)
    })
}

/// The calling thread's record; after its exit, one by the same key that takes no
/// messages.
pub(crate) fn current_or_closed() -> Arc<Record> {
    current().unwrap_or_else(|| {
        let key = own_key().expect("a thread is entered before it exits");
        Arc::new(Record::closed(key))
    })
}

/// Name and key of the calling thread, for messages. After its exit the key is still its own, so
/// that events of two such threads are told apart.
pub(crate) fn current_label() -> String {
    CURRENT.with(|c| {
        // SAFETY: kept alive by `owner`.
        if let Some(record) = unsafe { c.record.get().as_ref() } {
            return record.label();
        }
        let key = own_key().map_or_else(|| "without a key".to_owned(), |key| key.to_string());
        match current_name() {
            Some(name) => format!("{name} ({key})"),
            None => key,
        }
    })
}

/// Has `hook` called when this thread exits, before those that are set by the functions below.
pub(crate) fn set_first_exit_hook(hook: ExitHook) {
    CURRENT.with(|c| c.hooks[0].set(Some(hook)));
}

/// Has `hook` called when this thread exits, before its record is retired.
pub(crate) fn set_exit_hook(hook: ExitHook) {
    CURRENT.with(|c| c.hooks[1].set(Some(hook)));
}

/// Has `hook` called when this thread exits, after all others.
pub(crate) fn set_last_exit_hook(hook: ExitHook) {
    CURRENT.with(|c| c.hooks[2].set(Some(hook)));
}

/// Enters the calling thread, if it has not been, with a bound to the releases that
/// may wait for it.
pub(crate) fn enter_bounded(bound: u64) {
    CURRENT.with(|c| {
        if c.record.get().is_null() && !c.exited.get() {
            enter(c, Some(bound));
        }
    });
}

#[cold]
fn enter(c: &Current, bound: Option<u64>) {
    let Some(id) = current_id() else {
        return enter_closed(c);
    };
    let record = REGISTRY.claim(|key| Arc::new(Record::new(key, bound)));
    BY_ID.insert(id, record.key());
    key::set_own(record.key());
    // `record` last: who finds it takes it for granted that `owner` is there.
    let at = Arc::as_ptr(&record);
    c.owner.set(Box::into_raw(Box::new(record)));
    c.record.set(at);
    at_thread_exit(thread_exit);
}

/// Gives the calling thread a key, and has it exit at once: for a first use so late in a
/// thread's end that its exit might not be noticed. Nobody can send it anything, or wait for it.
#[cold]
fn enter_closed(c: &Current) {
    let record = REGISTRY.claim(|key| Arc::new(Record::closed(key)));
    key::set_own(record.key());
    c.exited.set(true);
    REGISTRY.leave(record.key());
}

/// What `thread_exit` does first: the record, if there is one.
fn leaving() -> Option<Arc<Record>> {
    CURRENT.with(|c| {
        if c.record.get().is_null() {
            // Nothing may enter from here on.
            c.exited.set(true);
            return None;
        }
        // SAFETY: as in `current`.
        Some(unsafe { &*c.owner.get() }.clone())
    })
}

/// What is to be done next of what the rooms above want at exit.
fn next_hook() -> Option<ExitHook> {
    CURRENT.with(|c| c.hooks.iter().find_map(Cell::take))
}

/// The last step of a thread's exit: nothing finds it any more.
fn depart(record: &Record) {
    if let Some(id) = record.id() {
        BY_ID.remove(&id);
    }
    {
        let _moving = lock_figures();
        DEPARTED.created.add_shared(record.tally.created.take());
        DEPARTED.destroyed.add_shared(record.tally.destroyed.take());
        DEPARTED
            .handed_over
            .add_shared(record.tally.handed_over.take());
    }
    CURRENT.with(|c| {
        c.record.set(ptr::null());
        c.exited.set(true);
        let owner = c.owner.replace(ptr::null_mut());
        // SAFETY: boxed by `enter`, and `record` is null: nobody uses it again.
        drop(unsafe { Box::from_raw(owner) });
    });
    REGISTRY.leave(record.key());
}

/// The calling thread's own figures, if it has been entered and has not exited.
#[inline(always)]
fn tally<'t>() -> Option<&'t Tally> {
    // SAFETY: kept alive by `owner`.
    unsafe { CURRENT.with(|c| c.record.get()).as_ref() }.map(|record| &record.tally)
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

/// Counts `n` objects destroyed by this thread. Does not enter the thread: a
/// thread may well touch the crate for the first time while it is torn down.
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

/// Counts `n` objects handed to another thread.
pub(crate) fn tally_handed_over(n: u64) {
    match tally() {
        Some(tally) => tally.handed_over.add(n),
        None => {
            DEPARTED.handed_over.add_shared(n);
        }
    }
}

/// The whole exit of a thread, as an explicit sequence: the destructor of a
/// thread-local only calls it, and models call it themselves.
///
/// 1. The hook of the loops closes those that are still open.
/// 2. The pools' hook drains what the thread may not leave behind, and closes
///    the inbox.
/// 3. Memory's hook gives its heaps up.
/// 4. What is in the inbox of a thread that never had a pool goes to the
///    orphans.
/// 5. The thread is taken out of the look-ups; its slot is free.
///
/// Idempotent. Nothing that a destructor does on the way can bring the thread
/// back: afterwards pools work detached, and implicit releases happen at once.
pub(crate) fn thread_exit() {
    let Some(record) = leaving() else {
        return;
    };
    // One after the other, as the first may yet make use of what the last takes away.
    while let Some(hook) = next_hook() {
        hook(&record);
    }
    for inbox in [&record.calls, &record.releases] {
        for message in inbox.inbox().close() {
            let weight = message.weight();
            ORPHANS.adopt(message);
            inbox.done(weight);
        }
    }
    depart(&record);
}
