//! Spans with the feature `tracing`.

use super::super::swallow;
use super::fields::{DrainBegin, DrainEnd, FrameEnd};
use tracing::field::Empty;
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::span::EnteredSpan;
use tracing::{Level, Span, span};

/// The level of the spans of drains: low, as small pools are drained by the million.
const DRAIN: Level = Level::TRACE;

/// The level of the spans of frames.
const FRAME: Level = Level::DEBUG;

/// Returns whether a subscriber may want spans of drains. If not, callers drain without
/// [`of_drain`].
#[inline(always)]
pub(crate) fn wants_drains() -> bool {
    is_on(DRAIN)
}

/// Returns whether any subscriber may want spans of this level.
#[inline(always)]
fn is_on(level: Level) -> bool {
    level <= STATIC_MAX_LEVEL && level <= LevelFilter::current()
}

/// Runs `drain`; in a span, if a subscriber wants one and `begin` returns its fields.
#[cold]
pub(crate) fn of_drain<R>(
    begin: impl FnOnce() -> Option<DrainBegin>,
    drain: impl FnOnce() -> R,
    end: impl FnOnce(&R) -> DrainEnd,
) -> R {
    let open = Open::new(|| {
        let begin = begin()?;
        Some(span!(
            target: "releasepool",
            DRAIN,
            "releasepool::drain",
            pool = begin.pool,
            manager = begin.manager,
            entries = begin.entries,
            released = Empty,
            remaining = Empty,
        ))
    });
    let result = drain();
    open.end(|span| {
        let end = end(&result);
        span.record("released", end.released);
        if let Some(remaining) = end.remaining {
            span.record("remaining", remaining);
        }
    });
    result
}

/// The span of a frame, if a subscriber wants one. Dropping the `FrameSpan` ends the span, also by
/// a panic.
// Boxed, so that the usual `None` takes only a register.
pub(crate) struct FrameSpan(Option<Box<Open>>);

impl FrameSpan {
    /// Enters a span, if a subscriber wants it.
    #[inline]
    pub(crate) fn begin(index: u64) -> Self {
        Self(is_on(FRAME).then(|| enter_frame(index)))
    }

    /// Ends the span.
    #[inline]
    pub(crate) fn end(self, end: impl FnOnce() -> FrameEnd) {
        if let Some(open) = self.0 {
            end_frame(*open, &end());
        }
    }
}

#[cold]
#[inline(never)]
fn enter_frame(index: u64) -> Box<Open> {
    Box::new(Open::new(|| {
        Some(span!(
            target: "releasepool",
            FRAME,
            "releasepool::frame",
            index,
            closures = Empty,
            released = Empty,
            remaining = Empty,
        ))
    }))
}

#[cold]
#[inline(never)]
fn end_frame(open: Open, end: &FrameEnd) {
    open.end(|span| {
        span.record("closures", end.closures);
        span.record("released", end.released);
        span.record("remaining", end.remaining);
    });
}

/// A span that the thread has entered, or `None`. Dropping the `Open` ends the span, also by a
/// panic.
struct Open(Option<EnteredSpan>);

impl Open {
    fn new(span: impl FnOnce() -> Option<Span>) -> Self {
        let mut open = None;
        swallow(|| {
            let wanted = span().filter(|span| !span.is_disabled());
            open = wanted.map(Span::entered);
        });
        Self(open)
    }

    /// Ends the span, after `record` has recorded its figures.
    fn end(self, record: impl FnOnce(&Span)) {
        if let Some(span) = &self.0 {
            swallow(|| record(span));
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            swallow(|| drop(span));
        }
    }
}
