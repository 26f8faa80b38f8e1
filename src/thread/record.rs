//! What others may know of a thread, and the way to one's own record.

use super::counted::CountedInbox;
use super::inbox::{Chain, Message, Sent};
use super::key::ThreadKey;
use super::registry::REGISTRY;
use super::waker::ThreadWaker;
use crate::event::label;
use crate::sync::cell::Cell;
use crate::sync::thread::{ThreadId, current_id, current_name};
use crate::sync::{Counter, at_thread_exit, lazy, local};
use dashmap::DashMap;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One incarnation of a thread. It lives as long as somebody has a handle to
/// it; its inbox is closed when the thread ends.
pub(crate) struct Record {
    key: ThreadKey,
    /// `None` if std does not know the thread any more: see [`current_id`].
    id: Option<ThreadId>,
    name: Option<Box<str>>,
    /// What others have sent to be released here, and objects that have come home.
    pub(crate) releases: CountedInbox,
    /// Closures that were posted. Apart from the releases, so that those who run closures do not
    /// have to look for them among a million releases.
    pub(crate) calls: CountedInbox,
    /// How to wake it, if it sleeps in a loop.
    pub(crate) waker: ThreadWaker,
    /// How many releases that were sent may wait to be made.
    bound: Option<u64>,
    pub(crate) tally: Tally,
    /// The number of posted closures at which the next event is due; 0 stands for the first.
    posts_mark: Counter,
}

/// Posted closures that wait for a thread and are worth an event.
const POSTS_WATERMARK: u64 = 10_000;

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
            releases: CountedInbox::new(),
            calls: CountedInbox::new(),
            waker: ThreadWaker::new(),
            bound: None,
            tally: Tally::default(),
            posts_mark: Counter::new(),
        }
    }

    /// A record of a thread that takes no messages.
    fn closed(key: ThreadKey) -> Self {
        let record = Self::new(key);
        let none = [&record.calls, &record.releases].map(|inbox| inbox.inbox().close());
        debug_assert!(none.iter().all(Chain::is_empty));
        record
    }

    pub(crate) fn key(&self) -> ThreadKey {
        self.key
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// RemoteFreeList whether nothing can be sent to the thread any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.calls.inbox().is_closed()
    }

    /// RemoteFreeList whether it is to be reported that `n` posted closures wait: beyond the watermark, and
    /// again at each doubling.
    pub(super) fn posts_are_worth_an_event(&self, n: u64) -> bool {
        if n < POSTS_WATERMARK {
            if n < POSTS_WATERMARK / 2 && self.posts_mark.get() != 0 {
                self.posts_mark.set(0);
            }
            return false;
        }
        let mark = self.posts_mark.get();
        n >= mark && self.posts_mark.replace_if(mark, n.saturating_mul(2))
    }

    /// Sends the thread something to release, and wakes it if it sleeps; or gives it back if the
    /// thread has ended.
    pub(crate) fn send(&self, message: Message) -> Result<(), Message> {
        self.releases.announce(message.weight());
        self.send_admitted(message)
    }

    /// Sends what was [admitted](Self::admit) by its weight.
    pub(crate) fn send_admitted(&self, message: Message) -> Result<(), Message> {
        if self.releases.push(message)? == Sent::Ring {
            self.waker.ring();
        }
        Ok(())
    }

    /// RemoteFreeList whether `n` more releases may be sent; then they count as waiting. If the bound is
    /// reached, the caller is to release by itself.
    pub(crate) fn admit(&self, n: u64) -> bool {
        let waiting = self.releases.announce(n);
        let admitted = self.bound.is_none_or(|bound| waiting < bound);
        if !admitted {
            self.releases.retract(n);
        }
        admitted
    }

    /// How many messages have been sent here and have run here so far, by their weight: if that does
    /// not change, nothing has come or run.
    pub(crate) fn moved(&self) -> u64 {
        self.releases.moved().wrapping_add(self.calls.moved())
    }

    /// How many releases and closures have been sent here and have not run.
    pub(crate) fn waiting(&self) -> u64 {
        self.releases.waiting() + self.calls.waiting()
    }

    /// How many releases wait, if there is a bound.
    pub(crate) fn waiting_of_bound(&self) -> u64 {
        self.bound.map_or(0, |_| self.releases.waiting())
    }

    /// Has the next message wake the thread; releases only if it can make them where it is. Not if
    /// one is there already, or the thread takes none any more; returns whether it will.
    pub(crate) fn arm(&self, for_releases: bool) -> bool {
        // Another loop of the thread, which this one is inside of or was, may have done it.
        self.disarm();
        if !self.calls.inbox().arm() {
            return false;
        }
        let armed = !for_releases || self.releases.inbox().arm();
        if !armed {
            self.calls.inbox().disarm();
        }
        armed
    }

    /// The thread is awake: messages need not wake it any more.
    pub(crate) fn disarm(&self) {
        self.calls.inbox().disarm();
        self.releases.inbox().disarm();
    }

    /// Name and key, for messages.
    pub(crate) fn label(&self) -> String {
        label::of(self.name(), self.key)
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

/// Held while the figures of a thread that ends are added to those of the ended, and while figures
/// are summed up: so they count once. std's lock even in loom builds: nothing yields while it is
/// held.
static MOVING: Mutex<()> = Mutex::new(());

/// Has figures stay where they are. No foreign code may run meanwhile, and nothing that yields.
pub(crate) fn figures_stay() -> MutexGuard<'static, ()> {
    MOVING.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    /// What the rooms above want done at exit, in this order: that of loops, of pools, of memory.
    hooks: [Cell<Option<Hook>>; 3],
    /// Stays after the exit, as long as the thread can run anything.
    key: Cell<ThreadKey>,
}

local! {
    static CURRENT: Current = Current {
        record: Cell::new(ptr::null()),
        gone: Cell::new(false),
        owner: Cell::new(ptr::null_mut()),
        hooks: [Cell::new(None), Cell::new(None), Cell::new(None)],
        key: Cell::new(ThreadKey::NOBODY),
    };
}

/// The calling thread's record; entered into the registry at the first call.
/// `None` once the thread has exited, or if the first call comes after all that could notice
/// its exit.
pub(crate) fn current() -> Option<Arc<Record>> {
    CURRENT.with(|c| {
        if c.record.get().is_null() {
            if c.gone.get() {
                return None;
            }
            enter(c, None);
            if c.gone.get() {
                return None;
            }
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

/// RemoteFreeList whether `key` is the calling thread's; after its exit, too.
#[inline]
pub(crate) fn is_mine(key: ThreadKey) -> bool {
    CURRENT.with(|c| c.key.get() == key)
}

/// The calling thread's key, if it has ever been entered; after its exit, too.
pub(crate) fn own_key() -> Option<ThreadKey> {
    let key = CURRENT.with(|c| c.key.get());
    (key != ThreadKey::NOBODY).then_some(key)
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
        label::of(current_name().as_deref(), key)
    })
}

/// Has `hook` called when this thread exits, before those that are set by the functions below.
pub(crate) fn set_first_exit_hook(hook: Hook) {
    CURRENT.with(|c| c.hooks[0].set(Some(hook)));
}

/// Has `hook` called when this thread exits, before its record is retired.
pub(crate) fn set_exit_hook(hook: Hook) {
    CURRENT.with(|c| c.hooks[1].set(Some(hook)));
}

/// Has `hook` called when this thread exits, after all others.
pub(crate) fn set_last_exit_hook(hook: Hook) {
    CURRENT.with(|c| c.hooks[2].set(Some(hook)));
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
    let Some(id) = current_id() else {
        return enter_closed(c);
    };
    let record = REGISTRY.claim(|key| Arc::new(make(key)));
    BY_ID.insert(id, record.key);
    c.key.set(record.key);
    label::set_current(current_label);
    // `record` last: who finds it takes it for granted that `owner` is there.
    let at = Arc::as_ptr(&record);
    c.owner.set(Box::into_raw(Box::new(record)));
    c.record.set(at);
    at_thread_exit(super::exit::thread_exit);
}

/// Gives the calling thread a key, and has it exit at once: for a first use so late in a
/// thread's end that its exit might not be noticed. Nobody can send it anything, or wait for it.
#[cold]
fn enter_closed(c: &Current) {
    let record = REGISTRY.claim(|key| Arc::new(Record::closed(key)));
    c.key.set(record.key);
    label::set_current(current_label);
    c.gone.set(true);
    REGISTRY.leave(record.key);
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
    if let Some(id) = record.id {
        BY_ID.remove(&id);
    }
    {
        let _moving = figures_stay();
        DEPARTED.created.add_shared(record.tally.created.take());
        DEPARTED.destroyed.add_shared(record.tally.destroyed.take());
        DEPARTED
            .handed_over
            .add_shared(record.tally.handed_over.take());
    }
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
