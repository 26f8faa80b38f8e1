//! Warnings that the crate emits at run time; never errors.
//!
//! An [`Event`] reports something that is legal but worth knowing: an object that was autoreleased
//! while no pool was open, destructors that keep adding to the drain that runs them, a panic that
//! could not be resumed. Only slow paths emit events.
//!
//! Events go to the [hook](set_hook) if one is set, else to `tracing` (feature `tracing`, level
//! `WARN`, target `releasepool`), else to standard error, one line each.
//!
//! # Events that repeat
//!
//! A program may repeat one mistake ten thousand times. Events with the same cause are counted
//! together, for the whole process, and reported the 1st, 10th, 100th, 1,000th time, and so on;
//! [`Event::occurrences`] and the message give the count. Each [`EventKind`] documents which events
//! it counts together; the first event with a cause is always reported. The counts are kept in a
//! table of fixed size, for the 1,024 causes that occurred most recently. A cause that others have
//! displaced from the table starts again from zero, and its next event is reported.
//!
//! Three kinds are not limited in this way, because they are emitted only when a length has
//! doubled: [`RootWatermark`](EventKind::RootWatermark),
//! [`BacklogWatermark`](EventKind::BacklogWatermark) and
//! [`PostsWatermark`](EventKind::PostsWatermark).

pub(crate) mod label;
mod limit;
mod message;

use std::any::TypeId;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The kind of an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// An object was autoreleased while no pool was open; the thread's root pool holds it.
    ///
    /// Counted together: objects of one type, in one manager, on all threads. Each thread counts
    /// locally and adds to the shared count at its 1st, 10th, 100th, ... such call and when it
    /// ends, so [`Event::occurrences`] may be too low, never too high.
    NoPool,
    /// A root pool holds more entries than its watermark; emitted again at each doubling.
    RootWatermark,
    /// Destructors have added entries to the pool that is being drained for 1,000 generations.
    ///
    /// Counted together: drains of pools of one name, with the same type.
    EndlessDrain,
    /// A thread ended while destructors went on adding entries to its pools; the entries that were
    /// left after 100,000 generations are leaked.
    ///
    /// Counted together: pools of one name, with the same type.
    CutOff,
    /// A destructor or closure panicked where the panic cannot be resumed: the thread was already
    /// unwinding, was ending, or is to resume an earlier panic.
    ///
    /// Counted together: panics with one message, or without one and with payloads of one type,
    /// on one thread.
    Panic,
    /// A thread ended while guard pools were open; most likely they were forgotten.
    ///
    /// Counted together: threads of one name; threads without a name are one group.
    OpenAtExit,
    /// A pool that has loaded from a slot has not been drained for a second or more. Nothing that
    /// slots have retired since then, on any thread, can be released until it is. Stores into slots
    /// and drains, on any thread, notice this. The event's `age` counts from the first time that
    /// one of them saw the pool.
    ///
    /// Counted together: pools of one name, on threads of one name.
    EpochHeld,
    /// Budgeted drains leave more and more releases: more than the watermark, and more than any
    /// drain has left since the backlog was last below half of it; emitted again at each doubling.
    /// The budget is too small for the number of releases that reach the thread.
    ///
    /// A large batch is not reported if every later drain leaves less than the one before.
    BacklogWatermark,
    /// The last [`HomeRef`](crate::HomeRef) to a value was dropped after the value's home thread
    /// had ended. The value is kept and its destructor never runs.
    ///
    /// Counted together: values of one type.
    HomeGone,
    /// A [`FrameLoop`](crate::FrameLoop) or [`Looper`](crate::Looper) was closed before some of its
    /// delayed posts were due: they were dropped and never run.
    ///
    /// Counted together: loops on threads of one name; threads without a name are one group.
    PostsDropped,
    /// 10,000 or more closures that were posted to a thread wait for it to run them; emitted again
    /// at each doubling. The thread has no loop, or its loop does not keep up. Emitted by the
    /// sender.
    PostsWatermark,
    /// Releases that any thread may make have waited for a second or more, because no thread drains
    /// a pool: releases that slots have retired, or that were sent to threads that have ended.
    /// Noticed by a thread that stores into a slot.
    ///
    /// Counted together: all events of this kind.
    OrphansWaiting,
    /// An object that was expected to be gone is still alive after the drains in which it should
    /// have died; see `leaks::expect_gone`, with the feature `leak-detection`.
    ///
    /// Counted together: objects of one type, expected under one name.
    #[cfg(feature = "leak-detection")]
    StillAlive,
}

/// A warning. [`Display`](std::fmt::Display) writes it as a sentence.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// What the event is about.
    pub kind: EventKind,
    /// Name and key of the thread that the event happened on.
    pub thread: String,
    /// Name and key of the object's home thread, for [`HomeGone`](EventKind::HomeGone).
    pub home: Option<String>,
    /// Name of the pool, if the event is about one.
    pub pool: Option<String>,
    /// Name of the pool's manager, if it has one.
    pub manager: Option<String>,
    /// Type of the object, if the event is about one.
    pub type_name: Option<&'static str>,
    /// Number of entries, releases, generations, pools, posts or strong references. For
    /// [`NoPool`](EventKind::NoPool), [`Panic`](EventKind::Panic) and
    /// [`HomeGone`](EventKind::HomeGone) the number of [`occurrences`](Self::occurrences).
    pub count: usize,
    /// Number of events with the same cause in this process so far, including this one and those
    /// that were not reported. See [the module](self#events-that-repeat).
    pub occurrences: usize,
    /// For the watermarks of root pools and backlogs: the most common types among the
    /// [sampled](Self::sampled) objects, with the number of objects of each; the most common type
    /// first, at most eight.
    pub types: Vec<(&'static str, usize)>,
    /// Number of waiting objects whose types were counted for `types`: all of them, or a few
    /// thousand.
    pub sampled: usize,
    /// Message of the panic.
    pub message: Option<String>,
    /// How long the condition has lasted.
    pub age: Option<Duration>,
    /// Name of the object, for [`StillAlive`](EventKind::StillAlive).
    #[cfg(feature = "leak-detection")]
    pub name: Option<String>,
    /// Where the object was created, if that is known: only with the feature `leak-detection`.
    #[cfg(feature = "leak-detection")]
    pub site: Option<&'static Location<'static>>,
    /// What holds the object, for [`StillAlive`](EventKind::StillAlive).
    #[cfg(feature = "leak-detection")]
    pub detail: Option<String>,
    /// Id of the manager.
    manager_id: u64,
    /// Type of the panic's payload.
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
            #[cfg(feature = "leak-detection")]
            name: None,
            #[cfg(feature = "leak-detection")]
            site: None,
            #[cfg(feature = "leak-detection")]
            detail: None,
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

    /// Sets the most common types among `sampled` entries, and how many entries have each.
    pub(crate) fn types(mut self, types: Vec<(&'static str, usize)>, sampled: usize) -> Self {
        self.types = types;
        self.sampled = sampled;
        self
    }

    /// Sets how many occurrences the event stands for.
    pub(crate) fn times(mut self, occurrences: usize) -> Self {
        self.occurrences = occurrences;
        self
    }

    pub(crate) fn age(mut self, age: Duration) -> Self {
        self.age = Some(age);
        self
    }

    #[cfg(feature = "leak-detection")]
    pub(crate) fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Sets where the object was created, if that is known.
    #[inline]
    pub(crate) fn created_at(self, _site: Option<&'static Location<'static>>) -> Self {
        #[cfg(feature = "leak-detection")]
        return Self {
            site: _site,
            ..self
        };
        #[cfg(not(feature = "leak-detection"))]
        self
    }

    #[cfg(feature = "leak-detection")]
    pub(crate) fn detail(mut self, detail: String) -> Self {
        self.detail = Some(detail);
        self
    }

    /// Copies the message from a panic's payload.
    pub(crate) fn panic(mut self, payload: &(dyn std::any::Any + Send)) -> Self {
        self.payload = Some(payload.type_id());
        self.message = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        self
    }

    /// Passes the event to the hook or the default sink, unless its cause is not due for a report.
    /// A panic in the hook is swallowed, because events are emitted where unwinding is not allowed.
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
        // This may be the last reference, as `set_hook` may have replaced the hook meanwhile.
        swallow(|| drop(hook));
    }

    /// Returns a hash of the event's cause; `None` if the event is always reported.
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
            #[cfg(feature = "leak-detection")]
            EventKind::StillAlive => cause(self.kind, (of_type, &self.name)),
            EventKind::EndlessDrain | EventKind::CutOff => cause(self.kind, (of_type, pool)),
            EventKind::Panic => cause(self.kind, (&self.message, self.payload, &self.thread)),
            EventKind::OpenAtExit | EventKind::PostsDropped => cause(self.kind, self.thread_name()),
            EventKind::EpochHeld => cause(self.kind, (self.thread_name(), pool)),
        })
    }

    fn thread_name(&self) -> &str {
        label::name(&self.thread)
    }
}

fn cause(kind: EventKind, rest: impl Hash) -> u64 {
    // `new` uses constant keys, so equal causes have equal hashes on all threads.
    let mut hasher = DefaultHasher::new();
    (kind, rest).hash(&mut hasher);
    hasher.finish()
}

fn no_pool_cause(type_name: &str, manager_id: u64) -> u64 {
    cause(EventKind::NoPool, (type_name, manager_id))
}

/// Adds to the count of an [`EventKind::NoPool`] cause without reporting, even if a report is due;
/// the next event with this cause makes up for it.
pub(crate) fn count_no_pool(type_name: &str, manager_id: u64, times: u64) {
    limit::add(no_pool_cause(type_name, manager_id), times);
}

/// Runs foreign code and drops its panic, which nothing could report.
fn swallow(f: impl FnOnce()) {
    if let Err(payload) = crate::sync::catch_unwind(f) {
        // The payload's destructor may panic as well.
        std::mem::forget(payload);
    }
}

/// A closure that receives events; see [`set_hook`].
pub type Hook = Box<dyn Fn(&Event) + Send + Sync>;

// std's lock even in loom builds: no model yields while it is held. A thread that runs the hook
// holds its own reference to it, not the lock.
static HOOK: RwLock<Option<Arc<Hook>>> = RwLock::new(None);

/// Sends events to `hook`, or with `None` to the default sink. Returns the hook that was set
/// before.
///
/// The hook runs on the thread that the event happened on, possibly in the middle of a drain or of
/// the thread's exit, and possibly on several threads at once. It may use pools and objects, cause
/// events, and set another hook, and should be quick. If it panics, the panic is swallowed.
///
/// A thread that is running the former hook finishes that run. The former hook is dropped when no
/// thread runs it and the caller of this function has dropped it. If it is dropped at the end of
/// such a run and its destructor panics, that panic is swallowed as well.
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
