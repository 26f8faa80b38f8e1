//! Scopes: the objects that some threads create during some time.

use super::leak_report;
use super::leak_report::LeakReport;
use crate::ledger::life::own_serial;
use crate::ledger::object_record::ObjectRecord;
use crate::ledger::threads::number;
use crate::sync::{Numbers, PlainMap};
use crate::thread::current::current_or_closed;
use std::marker::PhantomData;
use std::sync::Arc;

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

/// The objects that a thread has created since the scope began; see
/// [`leaks::scope`](crate::leaks::scope).
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
}

impl Scope {
    pub(super) fn begin() -> Self {
        let spans = Spans::new(PlainMap::new());
        spans.insert(NEXT.next(), Span::begin());
        Self { spans }
    }

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
/// Objects that were created meanwhile stay part of the scope. The value stays on its thread.
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
