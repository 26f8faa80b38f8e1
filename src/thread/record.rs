//! What others may know of a thread, and the way to one's own record.

use super::bell::Bell;
use super::inbox::{Inbox, Message, Sent};
use super::key::ThreadKey;
use super::pinned::Pinned;
use super::registry::REGISTRY;
use crate::sync::thread::{ThreadId, current_id, current_name};
use crate::sync::{Counter, at_thread_exit, lazy, local};
use crossbeam_utils::CachePadded;
use dashmap::DashMap;
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

/// One incarnation of a thread. It lives as long as somebody has a handle to
/// it; its inbox is closed when the thread ends.
pub(crate) struct Record {
    key: ThreadKey,
    id: ThreadId,
    name: Option<Box<str>>,
    /// On a cache line of its own: others write it.
    pub(crate) inbox: CachePadded<Inbox>,
    /// How to wake it, if it sleeps in a loop.
    pub(crate) bell: Bell,
    /// How many releases that were sent may wait to be made.
    bound: Option<u64>,
    /// How many do, if there is a bound.
    waiting: CachePadded<Counter>,
    pub(crate) tally: Tally,
    /// Whether the thread holds the epoch up.
    pub(crate) pinned: Pinned,
}

/// What a thread has done; written by that thread alone.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) created: Counter,
    pub(crate) destroyed: Counter,
    pub(crate) handed_over: Counter,
}

impl Record {
    pub(crate) fn new(key: ThreadKey) -> Self {
        Self {
            key,
            id: current_id(),
            name: current_name(),
            inbox: CachePadded::new(Inbox::new()),
            bell: Bell::new(),
            bound: None,
            waiting: CachePadded::new(Counter::new()),
            tally: Tally::default(),
            pinned: Pinned::default(),
        }
    }

    pub(crate) fn key(&self) -> ThreadKey {
        self.key
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Sends the thread a message, and wakes it if it sleeps; or gives it back if the
    /// thread has gone.
    pub(crate) fn send(&self, message: Message) -> Result<(), Message> {
        if self.inbox.push(message)? == Sent::Ring {
            self.bell.ring();
        }
        Ok(())
    }

    /// Whether `n` more releases may be sent, which then count as waiting until
    /// [`done`](Self::done): if fewer than the bound wait. If not, the caller is to
    /// release by itself.
    pub(crate) fn admit(&self, n: u64) -> bool {
        let Some(bound) = self.bound else {
            return true;
        };
        if self.waiting.add_shared(n) < bound {
            return true;
        }
        self.waiting.subtract_shared(n);
        false
    }

    /// `n` more wait, whether there is room or not.
    pub(crate) fn adopt(&self, n: u64) {
        if self.bound.is_some() {
            self.waiting.add_shared(n);
        }
    }

    /// How many wait, if there is a bound.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.get()
    }

    /// `n` releases that were admitted have been made, or have found the thread gone.
    pub(crate) fn done(&self, n: u64) {
        if self.bound.is_some() {
            self.waiting.subtract_shared(n);
        }
    }

    /// Name and key, for messages.
    pub(crate) fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{name} ({})", self.key),
            None => self.key.to_string(),
        }
    }
}

lazy! {
    /// Touched when a thread starts, ends, or is looked up by this id.
    static BY_ID: DashMap<ThreadId, ThreadKey> = DashMap::new();
}

/// The tallies of threads that have ended, or have none: shared, so the only
/// ones that are counted with a read-modify-write.
pub(crate) static DEPARTED: Tally = Tally {
    created: Counter::new(),
    destroyed: Counter::new(),
    handed_over: Counter::new(),
};

/// The record of the thread that std knows by `id`, if it lives.
pub(crate) fn by_id(id: ThreadId) -> Option<Arc<Record>> {
    let key = *BY_ID.get(&id)?;
    REGISTRY.get(key)
}

/// What the rooms above want done at a thread's exit.
pub(super) type Hook = fn(&Arc<Record>);

/// Where a thread finds itself. No destructor: it can be asked at any time.
struct Current {
    /// Null before the first use, and after the thread's exit.
    record: Cell<*const Record>,
    /// Whether it has exited.
    gone: Cell<bool>,
    /// What keeps `record` alive; boxed by hand.
    owner: Cell<*mut Arc<Record>>,
    /// What the rooms above want done at exit: first, and last.
    hooks: [Cell<Option<Hook>>; 2],
    /// Stays after the exit, as long as the thread can run anything.
    key: Cell<ThreadKey>,
}

local! {
    static CURRENT: Current = Current {
        record: Cell::new(ptr::null()),
        gone: Cell::new(false),
        owner: Cell::new(ptr::null_mut()),
        hooks: [const { Cell::new(None) }; 2],
        key: Cell::new(ThreadKey::NOBODY),
    };
}

/// The calling thread's record; entered into the registry at the first call.
/// `None` once the thread has exited.
pub(crate) fn current() -> Option<Arc<Record>> {
    CURRENT.with(|c| {
        if c.record.get().is_null() {
            if c.gone.get() {
                return None;
            }
            enter(c, None);
        }
        // SAFETY: set by `enter`; freed by `depart`, which takes `record` away.
        Some(unsafe { &*c.owner.get() }.clone())
    })
}

/// The same; `None`, too, if the thread's exit would not be noticed, as it is past that.
pub(crate) fn current_that_exits() -> Option<Arc<Record>> {
    if at_thread_exit(super::exit::thread_exit) {
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

/// Whether `key` is the calling thread's; after its exit, too.
#[inline]
pub(crate) fn is_mine(key: ThreadKey) -> bool {
    CURRENT.with(|c| c.key.get() == key)
}

/// The calling thread's record; after its exit, one by the same key that takes no
/// messages.
pub(crate) fn current_or_closed() -> Arc<Record> {
    current().unwrap_or_else(|| {
        let key = CURRENT.with(|c| c.key.get());
        assert_ne!(
            key,
            ThreadKey::NOBODY,
            "a thread is entered before it exits"
        );
        let record = Record::new(key);
        let none = record.inbox.close().next();
        debug_assert!(none.is_none());
        Arc::new(record)
    })
}

/// Name and key of the calling thread, for messages.
pub(crate) fn current_label() -> String {
    let key = current_key().map_or_else(|| "without a key".to_owned(), |key| key.to_string());
    match current_name() {
        Some(name) => format!("{name} ({key})"),
        None => key,
    }
}

/// Has `hook` called when this thread exits, before its record is retired.
pub(crate) fn set_exit_hook(hook: Hook) {
    CURRENT.with(|c| c.hooks[0].set(Some(hook)));
}

/// The same, after that one.
pub(crate) fn set_last_exit_hook(hook: Hook) {
    CURRENT.with(|c| c.hooks[1].set(Some(hook)));
}

/// Enters the calling thread, if it has not been, with a bound to the releases that
/// may wait for it.
pub(crate) fn enter_bounded(bound: u64) {
    CURRENT.with(|c| {
        if c.record.get().is_null() && !c.gone.get() {
            enter(c, Some(bound));
        }
    });
}

#[cold]
fn enter(c: &Current, bound: Option<u64>) {
    let make = |key| Record {
        bound,
        ..Record::new(key)
    };
    let record = REGISTRY.claim(|key| Arc::new(make(key)));
    BY_ID.insert(record.id, record.key);
    c.key.set(record.key);
    // `record` last: who finds it takes it for granted that `owner` is there.
    let at = Arc::as_ptr(&record);
    c.owner.set(Box::into_raw(Box::new(record)));
    c.record.set(at);
    at_thread_exit(super::exit::thread_exit);
}

/// What `thread_exit` does first: the record, if there is one.
pub(super) type Leaving = Arc<Record>;

pub(super) fn leaving() -> Option<Leaving> {
    CURRENT.with(|c| {
        if c.record.get().is_null() {
            // Nothing may enter from here on.
            c.gone.set(true);
            return None;
        }
        // SAFETY: as in `current`.
        Some(unsafe { &*c.owner.get() }.clone())
    })
}

/// What is to be done next of what the rooms above want at exit.
pub(super) fn next_hook() -> Option<Hook> {
    CURRENT.with(|c| c.hooks.iter().find_map(Cell::take))
}

/// The last step of a thread's exit: nothing finds it any more.
pub(super) fn depart(record: &Record) {
    BY_ID.remove(&record.id);
    DEPARTED.created.add_shared(record.tally.created.take());
    DEPARTED.destroyed.add_shared(record.tally.destroyed.take());
    DEPARTED
        .handed_over
        .add_shared(record.tally.handed_over.take());
    CURRENT.with(|c| {
        c.record.set(ptr::null());
        c.gone.set(true);
        let owner = c.owner.replace(ptr::null_mut());
        // SAFETY: boxed by `enter`, and `record` is null: nobody uses it again.
        drop(unsafe { Box::from_raw(owner) });
    });
    REGISTRY.leave(record.key);
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
