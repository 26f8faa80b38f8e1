//! Warnings that the crate emits at run time; never errors.
//!
//! An [`Event`] reports something that is allowed but most likely a mistake: an object was
//! autoreleased while no pool was open; destructors autorelease objects without end; a destructor
//! panicked where no code can catch the panic.
//!
//! Events go to the [hook](set_hook) if one is set; else to [`tracing`](self#tracing), with the
//! feature `tracing`; else to standard error, one line each. Emitting an event takes time, but only
//! code that is slow anyway emits events.
//!
//! This page uses these words: an *entry* is a reference that a pool owns, and *drain* means to
//! release all entries of a pool. A *guard pool* is opened as an
//! [`AutoreleasePool`](crate::AutoreleasePool), a *token pool* by
//! [`PoolManager::push`](crate::PoolManager::push). The *root pool* of a thread gets the objects
//! that are autoreleased while no other pool is open. A *watermark* is a length beyond which an
//! event reports that something grows. The [glossary](crate::guide::design#words) has the words
//! that several modules use.
//!
//! # Events that repeat
//!
//! A program may repeat one mistake ten thousand times. So events with the same cause are counted
//! together, for the whole process, and reported the 1st, 10th, 100th, 1,000th time, and so on;
//! [`Event::occurrences`] and the message give the count. Each [`EventKind`] says which of its
//! events have the same cause. The counts are kept for at most 1,024 causes: a new cause may
//! displace one that has not occurred for long. If the displaced cause occurs again, it is reported
//! as for the first time.
//!
//! Three kinds are always reported, because each waits until a length has doubled:
//! [`RootWatermark`](EventKind::RootWatermark), [`BacklogWatermark`](EventKind::BacklogWatermark)
//! and [`PostsWatermark`](EventKind::PostsWatermark). So are [`DropsLeft`](EventKind::DropsLeft) and
//! [`NotFinished`](EventKind::NotFinished).
//!
//! # Tracing
//! With the feature `tracing`, the crate emits the following events and spans of the crate
//! [`tracing`](https://docs.rs/tracing), all with the target `releasepool`. Their names and fields
//! are part of this crate's interface. Fields that do not apply are absent.
//!
//! | name | what, level | fields |
//! |---|---|---|
//! | `releasepool::event` | an [`Event`], if no hook is set: event, `WARN` | `message`, and what [`Event`] has: `kind`, `thread`, `home`, `pool`, `manager`, `type_name`, `site`, `created_at`, `count`, `occurrences`, `types`, `sampled`, `panic` (the `message`), `age_us` (microseconds) |
//! | `releasepool::drain` | an *outermost* drain of a pool, that is, one that does not run inside a destructor: span, `TRACE` | `pool`, `manager`: their names; `entries`: how many the pool has at the beginning; `released`: how many entries the drain has released; `remaining`: how many a drain [within a budget](crate::AutoreleasePool::drain_within) has left |
//! | `releasepool::frame` | a frame of a [`FrameLoop`](crate::FrameLoop), with its drain: span, `DEBUG` | `index`, counted from 0; `closures`: how many posts it has run; `released` and `remaining`: as for its drain |
//!
//! `released`, `remaining` and `closures` are recorded at the end of the span. Closing a pool
//! drains it, so a close has a span, too. A drain that has nothing to release has no span; neither
//! has a drain on a thread that is ending.
//!
//! A subscriber may use pools. If it panics while a span begins or ends, the panic is swallowed.
//! Without a subscriber, or if it is not interested in these levels, a drain or frame costs a few
//! instructions more than without the feature. Otherwise the cost of a span depends on the
//! subscriber, and is 100 nanoseconds or more: a program that drains millions of small pools should
//! enable the level `TRACE` of this target only while it is being observed.
//!
//! To see a program's frames and drains in [Perfetto](https://ui.perfetto.dev), one track for each
//! thread, install the layer of the crate `tracing-chrome`:
//!
//! ```rust,ignore (needs the crates tracing-chrome and tracing-subscriber)
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! let (chrome, guard) = tracing_chrome::ChromeLayerBuilder::new()
//!     .file("trace.json")
//!     .include_args(true)
//!     .build();
//! tracing::subscriber::set_global_default(tracing_subscriber::registry().with(chrome))?;
//! // ... and drop `guard` at the program's end, which writes what is left.
//! ```
//!
//! For [Tracy](https://github.com/wolfpld/tracy), which shows them while the program runs, install
//! the layer of the crate `tracing-tracy`:
//!
//! ```rust,ignore (needs the crates tracing-tracy, which builds Tracy's client in C++, and tracing-subscriber)
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! let tracy = tracing_tracy::TracyLayer::default();
//! tracing::subscriber::set_global_default(tracing_subscriber::registry().with(tracy))?;
//! ```

mod limit;
mod message;
pub(crate) mod span;
pub(crate) mod words;

pub(crate) use limit::count_no_pool;

use crate::macros::setters;
use std::any::TypeId;
use std::panic::Location;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The kind of an [`Event`].
///
/// # Example
/// ```
/// use releasepool::event::{self, EventKind};
///
/// event::set_hook(Some(Box::new(|event| match event.kind {
///     EventKind::NoPool => eprintln!("open a pool at {:?}", event.site),
///     _ => eprintln!("{event}"),
/// })));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// An object was autoreleased while no pool was open; the thread's root pool holds it.
    ///
    /// Counted together: objects of one type that are autoreleased at one [site](Event::site), in
    /// one manager, on all threads. Each thread counts locally and adds to the shared count at its
    /// 1st, 10th, 100th, ... such call and when it ends, so [`Event::occurrences`] may be too low,
    /// never too high.
    NoPool,
    /// A root pool holds more entries than its watermark; emitted again at each doubling.
    RootWatermark,
    /// A pool other than a root pool has more entries than its manager's
    /// [watermark](crate::PoolManager::set_pool_watermark) allows; emitted again each time that
    /// their number has doubled. The number is tested once in 254 entries. Entries that destructors
    /// add while the pool is drained are not reported.
    ///
    /// Counted together: pools with one name, in one manager, on threads with one name, at the same
    /// doubling.
    PoolWatermark,
    /// Destructors keep adding entries to the pool whose drain runs them. The drain releases these
    /// entries, too; their destructors add others; and so on, for 1,000 generations (the first 32
    /// objects of a small pool may not count). Releases of hot objects, of references that slots
    /// have retired, and of messages count as well, if they lead to others of their kind: the
    /// event's message names the kind. A drain that the program calls without a budget goes on; all
    /// others end after 100,000 generations, with another event, and leave the rest for later.
    ///
    /// Counted together: drains of pools of one name, with the same type or kind of releases.
    EndlessDrain,
    /// A thread ended, and the destructors that ran at its end kept adding entries to its pools.
    /// The entries that were left after 100,000 generations, or as many drains, are leaked.
    ///
    /// Counted together: pools of one name, with the same type.
    CutOff,
    /// A destructor or closure panicked where the panic cannot be resumed: the thread was already
    /// unwinding, was ending, or will resume an earlier panic.
    ///
    /// Counted together: panics on one thread that have one message, or no message and payloads of
    /// one type.
    Panic,
    /// A thread ended while it had an open [`AutoreleasePool`](crate::AutoreleasePool), most likely
    /// because the pool was passed to [`mem::forget`](std::mem::forget).
    ///
    /// Counted together: threads of one name; threads without a name are one group.
    OpenAtExit,
    /// A scope has ended while a token pool that was [pushed](crate::PoolManager::push) in it was open:
    /// the scope has popped it. Scopes are [`autoreleasepool`](crate::autoreleasepool()), frames, the
    /// commands of loopers, polls of [`pooled`](crate::pooled) futures, callbacks, and drains.
    /// [`site`](field@Event::site) is the call that pushed the pool.
    ///
    /// Counted together: pools of one name that were pushed by one call.
    TokenLeft,
    /// A thread has 1,024 pools open, or more; emitted again at each doubling. Most likely
    /// foreign code pushes token pools and does not pop them, or guards are forgotten.
    /// [`site`](field@Event::site) is the call that pushed the newest token pool.
    ///
    /// Counted together: threads of one name, at the same doubling.
    PoolsOpen,
    /// A pool has loaded from a [`Slot`](crate::Slot), and has not been drained for a second or
    /// more. Until it is drained, no object that has been replaced in any slot since the load can
    /// be released, on any thread. A store into a slot or a drain, on any thread, emits the event;
    /// [`age`](field@Event::age) counts from the first store or drain that saw the pool.
    ///
    /// Counted together: pools of one name, on threads of one name.
    EpochHeld,
    /// [Drains within a budget](crate::AutoreleasePool::drain_within) leave more and more releases
    /// for later, in the thread's *backlog*: the budget is too small for the releases that reach
    /// the thread. Emitted when a drain leaves more than the watermark, and again when that number
    /// has doubled.
    ///
    /// A large batch is not reported if each later drain leaves fewer releases than the drain
    /// before.
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
    /// [`finish_drops`](crate::reclaim::finish_drops) has reached its deadline while values that were passed to
    /// [`drop_later`](crate::drop_later) waited for their destruction; [`types`](field@Event::types) says
    /// which.
    DropsLeft,
    /// A [`FinishGuard`](crate::report::FinishGuard) was dropped, and something was left at its deadline:
    /// [`message`](field@Event::message) is the [report](crate::report::ExitReport).
    NotFinished,
    /// A [`RemoteRelease`](crate::foreign::RemoteRelease) was dropped by a thread that is not its owner, while
    /// references to foreign objects waited in it: they are leaked.
    ///
    /// Counted together: queues of one type.
    ForeignLeft,
    /// Releases that belong to no thread have waited for a second or more, because no thread drains
    /// a pool. The next drain of any thread makes them. They are the releases of objects that were
    /// replaced in a slot, releases that were sent to a thread that has ended, and releases of
    /// [hot](crate::Hot) objects that [`Hot::try_new`](crate::Hot::try_new) has found dead. A
    /// thread that stores into a slot or makes an object hot emits the event.
    ///
    /// Counted together: all events of this kind.
    OrphansWaiting,
    /// The kernel has refused a fence (`membarrier`) by which the crate finds out whether any thread
    /// still reads what slots have retired, although the process is registered for it. Nothing that
    /// slots retire is released until a fence succeeds. A filter of system calls that was installed
    /// after the first use of a slot is the likely reason.
    ///
    /// Counted together: all events of this kind.
    FenceRefused,
    /// An object could not be made [hot](crate::Hot), as there is room for 1,024 hot objects only,
    /// and 1,024 objects have an owner or a [`HotRef`](crate::HotRef).
    ///
    /// Counted together: objects of one type.
    HotTableFull,
    /// The owner of a [hot](crate::Hot) object was dropped a second ago or earlier, and the object is
    /// still alive: a [`HotRef`](crate::HotRef) was kept or forgotten, or the thread that dropped the
    /// last one neither drains a pool nor exits. Noticed by [`Hot::try_new`](crate::Hot::try_new),
    /// [`Hot::review`](crate::Hot::review), [`quiesce`](crate::PoolManager::quiesce) and
    /// [`shutdown`](crate::PoolManager::shutdown); [`age`](field@Event::age) counts from the first of
    /// these calls that saw the object, so only a second call reports it.
    ///
    /// Counted together: objects of one type.
    HotLetGo,
    /// An object that was passed to [`leaks::expect_gone`](crate::leaks::expect_gone) is still
    /// alive after the drains in which it should have died. Only with the feature `leak-detection`.
    ///
    /// Counted together: objects of one type, expected under one name.
    #[cfg(feature = "leak-detection")]
    StillAlive,
    /// Several threads retain one object by turns, more than a thousand times in a second: each time, the cache
    /// line of its count moves from one processor to another. [`site`](field@Event::site) is one of the
    /// calls that retain it. One in 32 retains of each thread is sampled; releases, and
    /// [`HotRef`](crate::HotRef)s, are not. Only with the feature `leak-detection`.
    ///
    /// Counted together: objects of one type that were created at one place.
    #[cfg(feature = "leak-detection")]
    ContendedCount,
}

/// A warning. [`Display`](std::fmt::Display) writes it as a sentence.
///
/// # Example
/// ```
/// use releasepool::{PoolManager, Ref, event};
///
/// event::set_hook(Some(Box::new(|event| {
///     eprintln!("{event}"); // a sentence
///     eprintln!("{:?} on {}: {}", event.kind, event.thread, event.occurrences);
/// })));
/// PoolManager::global().autorelease(Ref::new(5)); // no pool is open
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// Name and [key](crate::thread::ThreadKey) of the thread on which the event happened.
    pub thread: String,
    /// Name and key of the object's home thread, for [`HomeGone`](EventKind::HomeGone).
    pub home: Option<String>,
    /// Name of the pool, if the event is about one.
    pub pool: Option<String>,
    /// Name of the pool's manager, if it has one.
    pub manager: Option<String>,
    /// Type of the object, if the event is about one.
    pub type_name: Option<&'static str>,
    /// The place in the program that autoreleased the object, for [`NoPool`](EventKind::NoPool):
    /// the call of [`autorelease`](crate::autorelease()), of
    /// [`Ref::autorelease`](crate::Ref::autorelease) or of
    /// [`PoolManager::autorelease`](crate::PoolManager::autorelease), or of a function that calls
    /// one of these and is `#[track_caller]`. For [`TokenLeft`](EventKind::TokenLeft) and
    /// [`PoolsOpen`](EventKind::PoolsOpen), the call that pushed the token pool; for `ContendedCount`, a
    /// call that retained the object.
    /// `None` for calls from C and C++.
    pub site: Option<&'static Location<'static>>,
    /// The number of entries, releases, generations, pools, posts, objects, values or references
    /// that the event is about. For [`NoPool`](EventKind::NoPool), [`Panic`](EventKind::Panic),
    /// [`HomeGone`](EventKind::HomeGone) and [`TokenLeft`](EventKind::TokenLeft) it is the number of
    /// [`occurrences`](Self::occurrences).
    pub count: usize,
    /// Number of events with the same cause in this process so far, including this event and events
    /// that were not reported. See [the module](self#events-that-repeat).
    pub occurrences: usize,
    /// For the watermarks of pools and backlogs: the most common types among the
    /// [sampled](Self::sampled) objects, with the number of objects of each; the most common type
    /// first, at most eight. For [`DropsLeft`](EventKind::DropsLeft), all types.
    pub types: Vec<(&'static str, usize)>,
    /// Number of waiting objects whose types were counted for `types`: all of them, or a few
    /// thousand.
    pub sampled: usize,
    /// Message of the panic; the report, for [`NotFinished`](EventKind::NotFinished).
    pub message: Option<String>,
    /// How long the condition has lasted.
    pub age: Option<Duration>,
    /// Name of the object, for [`StillAlive`](EventKind::StillAlive).
    #[cfg(feature = "leak-detection")]
    pub name: Option<String>,
    /// Where the object was created, if that is known: only with the feature `leak-detection`.
    pub created_at: Option<&'static Location<'static>>,
    /// Which pools hold the object, for [`StillAlive`](EventKind::StillAlive).
    #[cfg(feature = "leak-detection")]
    pub detail: Option<String>,
    /// How to find out what keeps the object.
    #[cfg(feature = "leak-detection")]
    next_step: Option<String>,
    manager_id: u64,
    /// Type of the panic's payload.
    payload: Option<TypeId>,
    /// The kind of releases that feed an endless drain; empty if destructors feed it by
    /// autoreleasing.
    fed_by: &'static str,
    /// Differs between the doublings of a pool's entries or of a thread's open pools.
    doublings: u32,
}

/// Returns the message of a panic, if its payload is a text.
pub(crate) fn text_of(payload: &(dyn std::any::Any + Send)) -> Option<String> {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
}

impl Event {
    setters! {
        pub(crate) pool(name: impl Into<String>) => pool = Some(name.into());
        pub(crate) home(label: String) => home = Some(label);
        pub(crate) of_type(name: &'static str) => type_name = Some(name);
        pub(crate) at(site: impl Into<Option<&'static Location<'static>>>) => site = site.into().and_then(words::known);
        pub(crate) count(count: usize) => count = count;
        pub(crate) times(occurrences: usize) => occurrences = occurrences;
        pub(crate) fed_by(releases: &'static str) => fed_by = releases;
        pub(crate) doublings(doublings: u32) => doublings = doublings;
        pub(crate) age(age: Duration) => age = Some(age);
        pub(crate) message(message: String) => message = Some(message);
        /// Sets where the object was created, if that is known.
        pub(crate) created_at(site: Option<&'static Location<'static>>) => created_at = site.and_then(words::known);
        #[cfg(feature = "leak-detection")]
        pub(crate) name(name: &str) => name = Some(name.to_owned());
        #[cfg(feature = "leak-detection")]
        pub(crate) detail(detail: String) => detail = Some(detail);
        #[cfg(feature = "leak-detection")]
        pub(crate) next_step(next_step: String) => next_step = Some(next_step);
    }

    pub(crate) fn new(kind: EventKind, thread: String) -> Self {
        Self {
            kind,
            thread,
            home: None,
            pool: None,
            manager: None,
            type_name: None,
            site: None,
            count: 0,
            occurrences: 1,
            types: Vec::new(),
            sampled: 0,
            message: None,
            age: None,
            #[cfg(feature = "leak-detection")]
            name: None,
            created_at: None,
            #[cfg(feature = "leak-detection")]
            detail: None,
            #[cfg(feature = "leak-detection")]
            next_step: None,
            manager_id: 0,
            payload: None,
            fed_by: "",
            doublings: 0,
        }
    }

    pub(crate) fn manager(mut self, id: u64, name: Option<&str>) -> Self {
        self.manager = name.map(str::to_owned);
        self.manager_id = id;
        self
    }

    /// Sets the most common types among `sampled` entries, and how many entries have each.
    pub(crate) fn types(mut self, types: Vec<(&'static str, usize)>, sampled: usize) -> Self {
        self.types = types;
        self.sampled = sampled;
        self
    }

    /// Copies the message from a panic's payload.
    pub(crate) fn panic(mut self, payload: &(dyn std::any::Any + Send)) -> Self {
        self.payload = Some(payload.type_id());
        self.message = text_of(payload);
        self
    }

    /// Passes the event to the hook or the default sink, unless its cause is not due for a report.
    /// A panic in the hook is swallowed, because events are emitted where unwinding is not allowed.
    #[cold]
    pub(crate) fn emit(self) {
        self.emit_with(|event| event);
    }

    /// Emits the event as [`emit`](Self::emit) does; if it is reported, calls `complete` first,
    /// which may take long.
    #[cold]
    pub(crate) fn emit_with(mut self, complete: impl FnOnce(Self) -> Self) {
        if let Some(cause) = self.cause() {
            let Some(occurrences) = limit::admit(cause, self.occurrences as u64) else {
                return;
            };
            self.occurrences = occurrences as usize;
            if matches!(
                self.kind,
                EventKind::NoPool | EventKind::Panic | EventKind::HomeGone | EventKind::TokenLeft
            ) {
                self.count = self.occurrences;
            }
        }
        let event = complete(self);
        let hook = HOOK.read().unwrap_or_else(PoisonError::into_inner).clone();
        swallow(|| match &hook {
            Some(hook) => hook(&event),
            None => default_sink(&event),
        });
        // `hook` may be the last reference to the hook, as `set_hook` may have replaced the hook
        // since the read.
        swallow(|| drop(hook));
    }
}

/// Runs foreign code and swallows its panic, which nothing could report.
fn swallow(f: impl FnOnce()) {
    if let Err(payload) = crate::sync::catch_unwind(f) {
        // The payload's destructor may panic as well.
        std::mem::forget(payload);
    }
}

/// A closure that receives events; see [`set_hook`].
pub type Hook = Box<dyn Fn(&Event) + Send + Sync>;

// The lock is std's even in loom builds, as no model yields while it is held. A thread that runs
// the hook holds its own reference to the hook, not the lock.
static HOOK: RwLock<Option<Arc<Hook>>> = RwLock::new(None);

/// Sends events to `hook`, or with `None` to the default sink. Returns the hook that was set
/// before.
///
/// The hook runs on the thread on which the event happened, possibly in the middle of a drain or of
/// the thread's exit, and possibly on several threads at once. It may use pools and objects, cause
/// events, and set another hook, and should be quick. If it panics, the panic is swallowed.
///
/// A thread that is running the former hook finishes that run. The former hook is dropped when no
/// thread runs it any more and the caller of this function has dropped the returned value. If a
/// thread drops the hook at the end of a run and the drop panics, that panic is swallowed, too.
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
    // Allocated before locking: the global allocator is foreign code.
    let hook = hook.map(Arc::new);
    let mut current = HOOK.write().unwrap_or_else(PoisonError::into_inner);
    let before = std::mem::replace(&mut *current, hook)?;
    drop(current);
    Some(Arc::try_unwrap(before).unwrap_or_else(|running| Box::new(move |event| running(event))))
}

#[cfg(feature = "tracing")]
fn default_sink(event: &Event) {
    let sampled = event.sampled > 0;
    tracing::warn!(
        name: "releasepool::event",
        target: "releasepool",
        kind = ?event.kind,
        thread = %event.thread,
        home = event.home.as_deref(),
        pool = event.pool.as_deref(),
        manager = event.manager.as_deref(),
        type_name = event.type_name,
        site = event.site.map(tracing::field::display),
        created_at = event.created_at.map(tracing::field::display),
        count = event.count,
        occurrences = event.occurrences,
        types = sampled.then(|| tracing::field::debug(&event.types)),
        sampled = sampled.then_some(event.sampled),
        panic = event.message.as_deref(),
        age_us = event.age.map(|age| age.as_micros() as u64),
        "{event}"
    );
}

#[cfg(not(feature = "tracing"))]
fn default_sink(event: &Event) {
    use std::io::Write;
    // Not `eprintln!`, which panics when standard error is closed.
    let _ = writeln!(std::io::stderr(), "releasepool: {event}");
}
