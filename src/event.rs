//! What the crate has to say while it runs: warnings, never errors.
//!
//! An [`Event`] reports something that is legal but worth knowing: a release
//! that waits for a pool that nobody opened, a destructor that feeds its own
//! drain, a panic that could not be resumed. Events come from slow paths only.
//!
//! They go to the hook if one is set, else to `tracing` (feature `tracing`, level
//! `WARN`, target `releasepool`), else to standard error, one line each.

use std::fmt;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// What an [`Event`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// `autorelease` without an open pool: the release waits in the thread's
    /// root pool. Once per thread and manager.
    NoPool,
    /// A root pool holds more entries than its watermark; again at each doubling.
    RootWatermark,
    /// Destructors have fed the pool that is being drained for 1,000
    /// generations.
    EndlessDrain,
    /// A thread ended while destructors went on feeding its pools; what was
    /// left after 100,000 generations is leaked.
    CutOff,
    /// A destructor or closure panicked where the panic cannot be resumed: the
    /// thread was unwinding already, was ending, or an earlier panic goes first.
    Panic,
    /// A thread ended with guard pools open, in all likelihood forgotten ones.
    OpenAtExit,
    /// A pool that has loaded from a slot has not been drained for a second or more.
    /// Nothing that slots gave up since, on any thread, can be released before.
    EpochHeld,
    /// Drains within a budget have left more releases than the watermark; again at each
    /// doubling. The budget is too small for what the thread is given to release.
    BacklogWatermark,
    /// The last [`HomeRef`](crate::HomeRef) of a value was dropped after the value's home
    /// had ended. The value is kept, its destructor is never run.
    HomeGone,
    /// A [`FrameLoop`](crate::FrameLoop) or [`Looper`](crate::Looper) was closed while
    /// delayed posts were not due yet: they were dropped, and never run.
    PostsDropped,
}

/// Something worth knowing. [`fmt::Display`] gives it as a sentence.
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
    /// The type of the object, if one is concerned.
    pub type_name: Option<&'static str>,
    /// How many: entries, generations, pools or posts.
    pub count: usize,
    /// The message of a panic.
    pub message: Option<String>,
    /// For how long.
    pub age: Option<Duration>,
}

impl Event {
    pub(crate) fn new(kind: EventKind, thread: String) -> Self {
        Self {
            kind,
            thread,
            home: None,
            pool: None,
            type_name: None,
            count: 0,
            message: None,
            age: None,
        }
    }

    pub(crate) fn pool(mut self, name: impl Into<String>) -> Self {
        self.pool = Some(name.into());
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

    pub(crate) fn age(mut self, age: Duration) -> Self {
        self.age = Some(age);
        self
    }

    /// Takes the message out of a panic's payload.
    pub(crate) fn panic(mut self, payload: &(dyn std::any::Any + Send)) -> Self {
        self.message = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        self
    }

    /// Hands the event to whoever listens. A panic in the hook is swallowed:
    /// events come from places that cannot be unwound.
    #[cold]
    pub(crate) fn emit(self) {
        let hook = *HOOK.read().unwrap_or_else(PoisonError::into_inner);
        // Nothing to report a panicking reporter to.
        if let Err(payload) = crate::sync::catch_unwind(|| match hook {
            Some(hook) => hook(&self),
            None => default_sink(&self),
        }) {
            std::mem::forget(payload);
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pool = self.pool.as_deref().unwrap_or("?");
        let of = self.type_name.unwrap_or("?");
        let (thread, count) = (&self.thread, self.count);
        match self.kind {
            EventKind::NoPool => write!(
                f,
                "thread {thread}: {of} autoreleased without a pool; it waits in the root pool until \
                 drain_root or the thread's end (said once per thread)"
            ),
            EventKind::RootWatermark => write!(
                f,
                "thread {thread}: {count} entries wait in the root pool, the newest a {of}; does this \
                 thread never open a pool, drain its root or end?"
            ),
            EventKind::EndlessDrain => write!(
                f,
                "thread {thread}, pool {pool}: destructors have autoreleased into the drain that runs \
                 them for {count} generations, the latest a {of}"
            ),
            EventKind::CutOff => write!(
                f,
                "thread {thread} ended while destructors went on autoreleasing (the latest a {of}): \
                 {count} entries are leaked"
            ),
            EventKind::Panic => {
                write!(f, "thread {thread}: a panic that cannot be resumed here: ")?;
                f.write_str(self.message.as_deref().unwrap_or("(no message)"))
            }
            EventKind::OpenAtExit => write!(
                f,
                "thread {thread} ended with {count} guard pools open; forgotten ones stay leaked"
            ),
            EventKind::BacklogWatermark => write!(
                f,
                "thread {thread}, pool {pool}: {count} releases wait in the backlog; the budget of \
                 the drains is too small for them"
            ),
            EventKind::EpochHeld => write!(
                f,
                "thread {thread}, pool {pool}: it has loaded from a slot and has not been drained for \
                 {:?}; nothing that slots gave up meanwhile can be released",
                self.age.unwrap_or_default()
            ),
            EventKind::HomeGone => write!(
                f,
                "thread {thread} dropped the last reference to a {of} that may die nowhere but on thread \
                 {}, which has ended: it is kept for ever",
                self.home.as_deref().unwrap_or("?")
            ),
            EventKind::PostsDropped => write!(
                f,
                "thread {thread}: its loop was closed; {count} delayed posts that were not due yet are \
                 dropped"
            ),
        }
    }
}

/// A function that events are handed to.
pub type Hook = fn(&Event);

// A lock of std's even in loom builds: no model yields while it is held.
static HOOK: RwLock<Option<Hook>> = RwLock::new(None);

/// Sends events to `hook`, or back to where they go by default. Returns the hook
/// that was set before.
///
/// The hook runs on the thread that the event happened on, possibly in the
/// middle of a drain or a thread's end: it may use pools and objects, and should
/// be quick. If it panics, the panic is swallowed.
pub fn set_hook(hook: Option<Hook>) -> Option<Hook> {
    let mut current = HOOK.write().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut *current, hook)
}

#[cfg(feature = "tracing")]
fn default_sink(event: &Event) {
    tracing::warn!(
        target: "releasepool",
        kind = ?event.kind,
        thread = %event.thread,
        home = event.home.as_deref(),
        pool = event.pool.as_deref(),
        type_name = event.type_name,
        count = event.count,
        "{event}"
    );
}

#[cfg(not(feature = "tracing"))]
fn default_sink(event: &Event) {
    use std::io::Write;
    // Not eprintln!: it panics when standard error is closed.
    let _ = writeln!(std::io::stderr(), "releasepool: {event}");
}
