//! Warnings that the crate gives while it runs; never errors.
//!
//! An [`Event`] reports something that is legal but worth knowing: a release
//! that waits for a pool that nobody opened, a destructor that feeds its own
//! drain, a panic that could not be resumed. Events come from slow paths only.
//!
//! They go to the [hook](set_hook) if one is set, else to `tracing` (feature `tracing`, level
//! `WARN`, target `releasepool`), else to standard error, one line each.
//!
//! # Events that repeat
//!
//! A program does wrong in the same way ten thousand times. Events that say the same are
//! counted together, for the whole process, and reported the 1st, 10th, 100th, 1,000th time,
//! and so on; [`Event::occurrences`] and the message give the count. Each [`EventKind`] says what
//! it counts together, and the first of each is always reported. The counts are kept in a table
//! of fixed size, for the 1,024 causes that were seen last: a cause that has been displaced by
//! others begins anew, and is reported again.
//!
//! Three kinds are not limited in this way, as they come at each doubling of a length:
//! [`RootWatermark`](EventKind::RootWatermark), [`BacklogWatermark`](EventKind::BacklogWatermark)
//! and [`PostsWatermark`](EventKind::PostsWatermark).

mod limit;
mod message;

use std::any::TypeId;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// What an [`Event`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// `autorelease` without an open pool: the release waits in the thread's
    /// root pool.
    ///
    /// Counted together: objects of one type, in one manager, on all threads. Each thread counts
    /// locally and adds to the shared count at its 1st, 10th, 100th, ... such call and at its end, so
    /// [`Event::occurrences`] may be too low, never too high.
    NoPool,
    /// A root pool holds more entries than its watermark; again at each doubling.
    RootWatermark,
    /// Destructors have fed the pool that is being drained for 1,000
    /// generations.
    ///
    /// Counted together: drains of pools of one name, with the same type.
    EndlessDrain,
    /// A thread ended while destructors went on feeding its pools; what was
    /// left after 100,000 generations is leaked.
    ///
    /// Counted together: pools of one name, with the same type.
    CutOff,
    /// A destructor or closure panicked where the panic cannot be resumed: the
    /// thread was unwinding already, was ending, or an earlier panic goes first.
    ///
    /// Counted together: panics with one message, or without one and with payloads of one type,
    /// on one thread.
    Panic,
    /// A thread ended with guard pools open, in all likelihood forgotten ones.
    ///
    /// Counted together: threads of one name; those without a name are one group.
    OpenAtExit,
    /// Stores or drains, on any thread, have seen for a second or more that a pool has loaded from a
    /// slot and has not been drained. Nothing that slots gave up since, on any thread, can be
    /// released before. The event's `age` counts from the first of these sights.
    ///
    /// Counted together: pools of one name, on threads of one name.
    EpochHeld,
    /// Drains within a budget leave ever more releases: more than the watermark, and more than
    /// any drain has left since the backlog was last below half of it. Again at each doubling.
    /// The budget is too small for what the thread is given to release.
    ///
    /// A large batch is not reported if every later drain leaves less than the one before.
    BacklogWatermark,
    /// The last [`HomeRef`](crate::HomeRef) of a value was dropped after the value's home
    /// had ended. The value is kept, its destructor is never run.
    ///
    /// Counted together: values of one type.
    HomeGone,
    /// A [`FrameLoop`](crate::FrameLoop) or [`Looper`](crate::Looper) was closed while
    /// delayed posts were not due yet: they were dropped, and never run.
    ///
    /// Counted together: loops on threads of one name; those without a name are one group.
    PostsDropped,
    /// 10,000 closures or more that were posted to a thread wait for it to run them; again at each
    /// doubling. The thread has no loop, or its loop does not keep up. Reported by the sender.
    PostsWatermark,
    /// Releases that any thread may make, of what slots have given up or of what was sent to
    /// threads that have ended, have waited for a second or more: no thread drains a pool. Found
    /// by a thread that stores into a slot.
    ///
    /// Counted together: all of them.
    OrphansWaiting,
}

/// A warning. [`Display`](std::fmt::Display) gives it as a sentence.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// What it is about.
    pub kind: EventKind,
    /// Name or key of the thread that it happened on.
    pub thread: String,
    /// Name and key of the thread that the object belongs to, if it belongs to one.
    pub home: Option<String>,
    /// The pool, if one is concerned.
    pub pool: Option<String>,
    /// Name of the manager of the pool, if it has one.
    pub manager: Option<String>,
    /// The type of the object, if one is concerned.
    pub type_name: Option<&'static str>,
    /// How many: entries, releases, generations, pools or posts. For
    /// [`NoPool`](EventKind::NoPool), [`Panic`](EventKind::Panic) and
    /// [`HomeGone`](EventKind::HomeGone) the number of [`occurrences`](Self::occurrences).
    pub count: usize,
    /// How often events with the same cause have happened in this process, with this one and
    /// with those that were not reported. See [the module](self#events-that-repeat).
    pub occurrences: usize,
    /// For the watermarks of root pools and backlogs: the most common types of what waits, with the number of objects of
    /// each among those that were [looked at](Self::sampled); the most common one first, at
    /// most eight.
    pub types: Vec<(&'static str, usize)>,
    /// How many of the entries that wait `types` is about: all, or a few thousand.
    pub sampled: usize,
    /// The message of a panic.
    pub message: Option<String>,
    /// For how long.
    pub age: Option<Duration>,
    /// Id of the manager.
    manager_id: u64,
    /// What a panic carries.
    payload: Option<TypeId>,
}

impl Event {
    pub(crate) fn new(kind: EventKind, thread: String) -> Self {
        Self {
            kind,
            thread,
            home: None,
            pool: None,
            manager: None,
            type_name: None,
            count: 0,
            occurrences: 1,
            types: Vec::new(),
            sampled: 0,
            message: None,
            age: None,
            manager_id: 0,
            payload: None,
        }
    }

    pub(crate) fn pool(mut self, name: impl Into<String>) -> Self {
        self.pool = Some(name.into());
        self
    }

    pub(crate) fn manager(mut self, id: u64, name: Option<&str>) -> Self {
        self.manager = name.map(str::to_owned);
        self.manager_id = id;
        self
    }

    pub(crate) fn home(mut self, label: String) -> Self {
        self.home = Some(label);
        self
    }

    pub(crate) fn of_type(mut self, name: &'static str) -> Self {
        self.type_name = Some(name);
        self
    }

    pub(crate) fn count(mut self, count: usize) -> Self {
        self.count = count;
        self
    }

    /// This many of `sampled` entries are of these types.
    pub(crate) fn types(mut self, types: Vec<(&'static str, usize)>, sampled: usize) -> Self {
        self.types = types;
        self.sampled = sampled;
        self
    }

    /// The event stands for this many.
    pub(crate) fn times(mut self, occurrences: usize) -> Self {
        self.occurrences = occurrences;
        self
    }

    pub(crate) fn age(mut self, age: Duration) -> Self {
        self.age = Some(age);
        self
    }

    /// Takes the message out of a panic's payload.
    pub(crate) fn panic(mut self, payload: &(dyn std::any::Any + Send)) -> Self {
        self.payload = Some(payload.type_id());
        self.message = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        self
    }

    /// Hands the event to the hook or the default sink, unless its cause has been reported
    /// often enough. A panic in the hook is swallowed: events come from places that cannot be
    /// unwound.
    #[cold]
    pub(crate) fn emit(mut self) {
        if let Some(cause) = self.cause() {
            let Some(occurrences) = limit::admit(cause, self.occurrences as u64) else {
                return;
            };
            self.occurrences = occurrences as usize;
            if matches!(
                self.kind,
                EventKind::NoPool | EventKind::Panic | EventKind::HomeGone
            ) {
                self.count = self.occurrences;
            }
        }
        let hook = HOOK.read().unwrap_or_else(PoisonError::into_inner).clone();
        swallow(|| match &hook {
            Some(hook) => hook(&self),
            None => default_sink(&self),
        });
        // Perhaps the last reference: `set_hook` may have put another in its place.
        swallow(|| drop(hook));
    }

    /// What the event is counted with others by; `None` if it is always reported.
    fn cause(&self) -> Option<u64> {
        let of_type = self.type_name.unwrap_or_default();
        let pool = self.pool.as_deref().unwrap_or_default();
        Some(match self.kind {
            EventKind::RootWatermark | EventKind::BacklogWatermark | EventKind::PostsWatermark => {
                return None;
            }
            EventKind::OrphansWaiting => cause(self.kind, ()),
            EventKind::NoPool => no_pool_cause(of_type, self.manager_id),
            EventKind::HomeGone => cause(self.kind, of_type),
            EventKind::EndlessDrain | EventKind::CutOff => cause(self.kind, (of_type, pool)),
            EventKind::Panic => cause(self.kind, (&self.message, self.payload, &self.thread)),
            EventKind::OpenAtExit | EventKind::PostsDropped => cause(self.kind, self.thread_name()),
            EventKind::EpochHeld => cause(self.kind, (self.thread_name(), pool)),
        })
    }

    /// The thread's label without its key, which no other thread has.
    fn thread_name(&self) -> &str {
        self.thread.rsplit_once(" (").map_or("", |(name, _)| name)
    }
}

fn cause(kind: EventKind, rest: impl Hash) -> u64 {
    // Always with the same keys.
    let mut hasher = DefaultHasher::new();
    (kind, rest).hash(&mut hasher);
    hasher.finish()
}

fn no_pool_cause(type_name: &str, manager_id: u64) -> u64 {
    cause(EventKind::NoPool, (type_name, manager_id))
}

/// Adds to the count of an [`EventKind::NoPool`] without a report, even if one is due; the next
/// event with this cause makes it.
pub(crate) fn count_no_pool(type_name: &str, manager_id: u64, times: u64) {
    limit::add(no_pool_cause(type_name, manager_id), times);
}

/// Runs foreign code; nobody is there to be told of its panic.
fn swallow(f: impl FnOnce()) {
    if let Err(payload) = crate::sync::catch_unwind(f) {
        // The payload's destructor may panic, too.
        std::mem::forget(payload);
    }
}

/// A closure that events are handed to; see [`set_hook`].
pub type Hook = Box<dyn Fn(&Event) + Send + Sync>;

// A lock of std's even in loom builds: no model yields while it is held. Threads that run the
// hook hold it by a reference of their own, so that none of them holds the lock.
static HOOK: RwLock<Option<Arc<Hook>>> = RwLock::new(None);

/// Sends events to `hook`, or back to where they go by default. Returns the hook
/// that was set before.
///
/// The hook runs on the thread that the event happened on, possibly in the
/// middle of a drain or a thread's end, and on several threads at once: it may use pools and
/// objects, cause events, and set another hook, and should be quick. If it panics, the panic is
/// swallowed.
///
/// A thread that is running the former hook goes on with it; the hook is dropped when it is
/// neither being run nor in the hands of who got it from this function. If its destructor panics
/// after such a run, that panic is swallowed, too.
///
/// ```
/// use releasepool::event;
/// use std::sync::{Arc, Mutex};
///
/// let log = Arc::new(Mutex::new(Vec::new()));
/// let lines = log.clone();
/// let before = event::set_hook(Some(Box::new(move |event| {
///     lines.lock().unwrap().push(event.to_string());
/// })));
/// # drop(before);
/// ```
pub fn set_hook(hook: Option<Hook>) -> Option<Hook> {
    let hook = hook.map(Arc::new);
    let before = {
        let mut current = HOOK.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, hook)
    }?;
    Some(Arc::try_unwrap(before).unwrap_or_else(|running| {
        let shared: Hook = Box::new(move |event| running(event));
        shared
    }))
}

#[cfg(feature = "tracing")]
fn default_sink(event: &Event) {
    tracing::warn!(
        target: "releasepool",
        kind = ?event.kind,
        thread = %event.thread,
        home = event.home.as_deref(),
        pool = event.pool.as_deref(),
        manager = event.manager.as_deref(),
        type_name = event.type_name,
        count = event.count,
        occurrences = event.occurrences,
        "{event}"
    );
}

#[cfg(not(feature = "tracing"))]
fn default_sink(event: &Event) {
    use std::io::Write;
    // Not eprintln!: it panics when standard error is closed.
    let _ = writeln!(std::io::stderr(), "releasepool: {event}");
}
