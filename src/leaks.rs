//! Reports of live objects, where they were created, and which pools hold them; with the feature
//! `leak-detection`.
//!
//! With this feature the crate keeps a table of all live objects, the *ledger*: where each was
//! created, by which thread, and which pools hold it. A pool *holds* an object if it has an entry
//! for the object, that is, owns a reference that it will release.
//!
//! * [`report`] groups all live objects by type and by the line that created them; [`assert_none`]
//!   panics with that report if there are any.
//! * [`check`] panics with the report of the objects that a closure has left alive; a [`scope`]
//!   reports the objects of one test, or asserts that none is alive.
//! * [`expect_gone`] warns if an object does not die when it should.
//! * [`count_references`] shows which clones of a reference have not been dropped.
//!
//! ```
//! use releasepool::{Ref, leaks};
//!
//! struct Texture(u32);
//!
//! let scope = leaks::scope();
//! let forgotten = Ref::new(Texture(1));
//! let report = scope.report();
//! assert_eq!(report.objects(), 1);
//! assert!(report.groups()[0].type_name().ends_with("Texture"));
//! println!("{report}"); // 1 object is alive, 24 bytes: ... created at src/main.rs:6:17 ...
//! drop(forgotten);
//! scope.assert_none();
//! ```
//!
//! # What counts as alive
//! An object is alive until its value is destroyed: if weak references keep its memory after that,
//! it is not reported. It is alive as long as something holds a reference to it or has yet to
//! destroy it: a pool that has not been drained; the rest of a [drain within a
//! budget](crate::AutoreleasePool::drain_within); a message to a thread that has not taken it; a
//! [`Slot`](crate::Slot) whose former value may still be lent. The value of a
//! [`HomeRef`](crate::HomeRef) whose home thread has ended is never destroyed, so it stays in the
//! reports.
//!
//! # Sites
//! The *site* of an object is the line of your program that called the function which creates it:
//! [`Ref::new`](crate::Ref::new), [`AutoreleasePool::create`](crate::AutoreleasePool::create),
//! `Ref::from` or another one. If the standard library makes this call for you, as in
//! `collect::<Ref<[T]>>()`, the site lies in the standard library, and [`LeakGroup::backtrace`]
//! names the functions of your program that led to it. With [`record_backtraces`], it names them
//! for every object.
//!
//! # Threads
//! All functions may be called on any thread. Objects that other threads create or destroy while a
//! report is made may be in the report or not.
//!
//! # Cost
//! Creating and destroying an object takes some tenths of a microsecond more, and adding an entry
//! to a pool some tens of nanoseconds. The ledger takes some 200 bytes for each live object. A
//! report reads the record of each live object once. Without the feature, none of this code is
//! compiled.
//!
//! # What is not recorded
//! A global allocator may use this crate. Objects that it creates while the ledger itself allocates
//! memory are not recorded; [`LeakReport::unrecorded`] counts them. With other allocators that
//! number is 0.
//!
//! # From outside
//! `releasepool-inspect` reads the ledger of a running process, which need not cooperate.
//! `src/ledger/object_record.rs` describes the layout of the records.

mod expect;
mod leak_report;

pub use expect::expect_gone;
pub use leak_report::{LeakGroup, LeakReport, PoolHolder, UnreleasedRetain, count_references};

use crate::ledger::life::{self, own_serial};
use crate::ledger::object_record::ObjectRecord;
use crate::ledger::threads::number;
use crate::sync::thread::panicking;
use crate::sync::{Numbers, PlainMap};
use crate::thread::current::current_or_closed;
use std::marker::PhantomData;
use std::sync::Arc;

/// Returns a report of all objects that are alive in this process.
///
/// Linear in the number of live objects: some 0.1 s for a million.
///
/// ```
/// use releasepool::{Ref, leaks};
///
/// let kept = Ref::new(5);
/// let report = leaks::report();
/// assert_eq!(report.objects(), 1);
/// println!("{report}"); // type, site, threads and pools of each group
/// # drop(kept);
/// ```
#[must_use]
pub fn report() -> LeakReport {
    leak_report::collect(|_| true)
}

/// Asserts that no object is alive in this process. Call it at the end of `main`, after
/// [`finish`](crate::finish); tests that run in parallel use a [`scope`].
///
/// # Panics
/// If there are live objects. The message is the report, and says how to find out what keeps the
/// objects.
///
/// ```
/// use releasepool::{Ref, autorelease, finish, leaks};
/// use std::time::Duration;
///
/// autorelease(Ref::new("temporary"));
/// // At the end of `main`:
/// finish(Duration::from_secs(10)).expect("all is released");
/// leaks::assert_none();
/// ```
#[track_caller]
pub fn assert_none() {
    report().assert_empty();
}

/// Runs `f`, returns its value, and asserts that no object that this thread has created during `f`
/// is alive: for tests, also for those that run in parallel.
///
/// A [`Scope`] does the same without a closure, and for several threads.
///
/// # Panics
/// If `f` panics, or if objects are alive when it has returned; then the message is the report. An
/// object that the returned value refers to is alive.
///
/// ```
/// use releasepool::{AutoreleasePool, leaks};
///
/// let sum = leaks::check(|| {
///     let pool = AutoreleasePool::new();
///     *pool.create(1) + *pool.create(2)
/// });
/// assert_eq!(sum, 3);
/// ```
#[track_caller]
pub fn check<R>(f: impl FnOnce() -> R) -> R {
    let scope = scope();
    let value = f();
    scope.assert_none();
    value
}

/// Begins a scope: its reports are about the objects that the calling thread creates from here on.
///
/// For tests that run in parallel: objects of other threads are not in its reports. A thread that
/// the calling thread spawns is another thread; objects that it creates are part of the scope once
/// it has [entered](ScopeHandle::enter) the scope. Scopes may be nested.
///
/// ```
/// use releasepool::{Ref, leaks};
///
/// let scope = leaks::scope();
/// let handle = scope.handle();
/// let made = std::thread::spawn(move || {
///     let _entry = handle.enter();
///     Ref::new(1)
/// });
/// let made = made.join().unwrap();
/// assert_eq!(scope.report().objects(), 1);
/// drop(made);
/// scope.assert_none();
/// ```
#[must_use = "a scope reports what was created since it began"]
pub fn scope() -> Scope {
    let spans = Spans::new(PlainMap::new());
    spans.insert(NEXT.next(), Span::begin());
    Scope {
        spans,
        asserts: false,
    }
}

/// The objects that one thread creates during some time: the thread's key, and the numbers of
/// objects that it had created at the beginning and at the end.
#[derive(Clone, Copy, Debug)]
struct Span {
    thread: u64,
    from: u64,
    /// `None` while the span goes on.
    to: Option<u64>,
}

impl Span {
    fn begin() -> Self {
        Self {
            thread: number(current_or_closed().key()),
            from: own_serial(),
            to: None,
        }
    }

    fn includes(&self, record: &ObjectRecord) -> bool {
        let is_before_end = self.to.is_none_or(|to| record.serial < to);
        record.thread == self.thread && record.serial >= self.from && is_before_end
    }
}

/// The spans of a scope, by unique numbers.
type Spans = Arc<PlainMap<u64, Span>>;

static NEXT: Numbers = Numbers::new();

/// The objects that one thread has created since the scope began, and other threads while they had
/// [entered](ScopeHandle::enter) the scope; see [`leaks::scope`](crate::leaks::scope).
///
/// # Example
/// ```
/// use releasepool::{Ref, leaks};
///
/// let scope = leaks::scope();
/// drop(Ref::new(5));
/// scope.assert_none(); // panics with a report otherwise
/// ```
#[derive(Debug)]
pub struct Scope {
    spans: Spans,
    /// True if the drop asserts that no object is alive.
    asserts: bool,
}

/// Asserts as [`assert_none`](Self::assert_none) does, if
/// [`assert_none_on_drop`](Self::assert_none_on_drop) was called and the thread is not unwinding.
impl Drop for Scope {
    fn drop(&mut self) {
        if self.asserts && !panicking() {
            self.assert_none();
        }
    }
}

impl Scope {
    /// Returns a report of the scope's live objects.
    ///
    /// Linear in the number of live objects of the process.
    #[must_use]
    pub fn report(&self) -> LeakReport {
        let spans = self.spans.all();
        leak_report::collect(|record| spans.iter().any(|(_, span)| span.includes(record)))
    }

    /// Asserts that no object of the scope is alive.
    ///
    /// # Panics
    /// If there are live objects. The message is the report, and says how to find out what keeps
    /// the objects.
    #[track_caller]
    pub fn assert_none(&self) {
        self.report().assert_empty();
    }

    /// Makes the scope a guard, whose drop asserts that no object of the scope is alive. Let the
    /// guard be the first variable of a test: it is then dropped last.
    ///
    /// # Panics
    /// The drop panics with the report if there are live objects, unless the thread is unwinding.
    ///
    /// ```
    /// use releasepool::{AutoreleasePool, leaks};
    ///
    /// let _guard = leaks::scope().assert_none_on_drop();
    /// let pool = AutoreleasePool::new();
    /// pool.create(5);
    /// ```
    #[must_use = "dropped at once, the scope asserts at once"]
    pub fn assert_none_on_drop(mut self) -> Self {
        self.asserts = true;
        self
    }

    /// Returns a handle with which other threads enter the scope.
    #[must_use]
    pub fn handle(&self) -> ScopeHandle {
        ScopeHandle {
            spans: self.spans.clone(),
        }
    }
}

/// A handle with which other threads enter a [`Scope`].
///
/// # Example
/// ```
/// use releasepool::{Ref, leaks};
///
/// let scope = leaks::scope();
/// let handle = scope.handle();
/// let object = std::thread::spawn(move || {
///     let _inside = handle.enter();
///     Ref::new(5)
/// });
/// let object = object.join().unwrap();
/// assert_eq!(scope.report().objects(), 1);
/// # drop(object);
/// ```
#[derive(Clone, Debug)]
pub struct ScopeHandle {
    spans: Spans,
}

impl ScopeHandle {
    /// Makes the objects that the calling thread creates part of the scope, until the returned
    /// value is dropped.
    #[must_use = "the thread leaves the scope when this is dropped"]
    pub fn enter(&self) -> ScopeEntry {
        let (number, span) = (NEXT.next(), Span::begin());
        self.spans.insert(number, span);
        ScopeEntry {
            spans: self.spans.clone(),
            number,
            span,
            _thread: PhantomData,
        }
    }
}

/// The calling thread's part in a [`Scope`] that another thread has begun; dropping this ends the
/// part.
///
/// Objects created before the drop stay part of the scope. A `ScopeEntry` stays on its thread.
///
/// ```compile_fail,E0277
/// let entry = releasepool::leaks::scope().handle().enter();
/// std::thread::spawn(move || drop(entry));
/// ```
#[derive(Debug)]
pub struct ScopeEntry {
    spans: Spans,
    number: u64,
    span: Span,
    /// Dropping the entry ends the part of the dropping thread, so the entry must stay on its
    /// thread.
    _thread: PhantomData<*mut ()>,
}

impl Drop for ScopeEntry {
    fn drop(&mut self) {
        let to = Some(own_serial());
        self.spans.insert(self.number, Span { to, ..self.span });
    }
}

/// Turns the recording of the call frames of each creation on or off: reports then name the
/// functions that led to the creation ([`LeakGroup::backtrace`]).
///
/// Makes the creation of an object slower by a few microseconds. Names of functions are read when a
/// report is made. They need symbols in the executable, and lines need debug information, at least
/// `debug = "line-tables-only"` in the profile.
///
/// ```
/// use releasepool::{Ref, leaks};
///
/// leaks::record_backtraces(true);
/// let scope = leaks::scope();
/// let kept = Ref::new(5);
/// for group in scope.report().groups() {
///     println!("{}, created by {:#?}", group.type_name(), group.backtrace());
/// }
/// # drop(kept);
/// ```
pub fn record_backtraces(on: bool) {
    life::FRAMES.set(u64::from(on));
}
