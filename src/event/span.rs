//! Spans of drains and frames, for subscribers of `tracing`.
//!
//! Without the feature `tracing` these functions are empty and leave no instruction. With it, a
//! drain or frame costs two loads and a comparison as long as no subscriber wants spans.
//!
//! A subscriber is foreign code: it may use pools, and its panics are swallowed. So a span begins
//! before the drain or frame does anything, and ends after it has done everything.

#[cfg(not(feature = "tracing"))]
pub(crate) use no_spans::{FrameSpan, of_drain, wants_drains};
#[cfg(feature = "tracing")]
pub(crate) use on::{FrameSpan, of_drain, wants_drains};

/// The fields of a drain's span that are known at its beginning.
#[cfg_attr(not(feature = "tracing"), expect(dead_code))]
pub(crate) struct DrainBegin {
    pub(crate) pool: String,
    pub(crate) manager: Option<String>,
    /// Number of entries in the pool.
    pub(crate) entries: usize,
}

/// The figures for the end of a drain's span: how many releases the drain has made, and how many it
/// has left; `None` for a drain without a budget.
pub(crate) type DrainEnd = (usize, Option<usize>);

#[cfg(feature = "tracing")]
mod on {
    use super::{DrainBegin, DrainEnd};
    use crate::event::swallow;
    use tracing::field::Empty;
    use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
    use tracing::span::EnteredSpan;
    use tracing::{Level, Span, span};

    /// The level of the spans of drains: low, as small pools are drained by the million.
    const DRAIN: Level = Level::TRACE;

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
        level <= STATIC_MAX_LEVEL.min(LevelFilter::current())
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
            let (released, remaining) = end(&result);
            span.record("released", released);
            span.record("remaining", remaining);
        });
        result
    }

    /// The span of a frame, if a subscriber wants one. Dropping the `FrameSpan`, also during a
    /// panic, ends the span.
    // Boxed, so that the usual `None` takes only a register.
    pub(crate) struct FrameSpan(Option<Box<Open>>);

    impl FrameSpan {
        /// Enters a span, if a subscriber wants it.
        #[inline]
        pub(crate) fn begin(index: u64) -> Self {
            Self(is_on(FRAME).then(|| enter_frame(index)))
        }

        /// Ends the span, and records how many posted closures the frame has run and the figures of
        /// its drain.
        #[inline]
        pub(crate) fn end(self, closures: usize, drained: DrainEnd) {
            if let Some(open) = self.0 {
                end_frame(*open, closures, drained);
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
    fn end_frame(open: Open, closures: usize, (released, remaining): DrainEnd) {
        open.end(|span| {
            span.record("closures", closures);
            span.record("released", released);
            span.record("remaining", remaining);
        });
    }

    /// A span that the thread has entered, or `None`. Dropping the `Open`, also during a panic,
    /// ends the span.
    struct Open(Option<EnteredSpan>);

    impl Open {
        fn new(span: impl FnOnce() -> Option<Span>) -> Self {
            let mut open = None;
            swallow(|| open = span().map(Span::entered));
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
}

/// Stand-ins for spans without the feature `tracing`.
#[cfg(not(feature = "tracing"))]
mod no_spans {
    use super::{DrainBegin, DrainEnd};

    #[inline(always)]
    pub(crate) fn wants_drains() -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn of_drain<R>(
        _: impl FnOnce() -> Option<DrainBegin>,
        drain: impl FnOnce() -> R,
        _: impl FnOnce(&R) -> DrainEnd,
    ) -> R {
        drain()
    }

    pub(crate) struct FrameSpan;

    impl FrameSpan {
        #[inline(always)]
        pub(crate) fn begin(_index: u64) -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn end(self, _closures: usize, _drained: DrainEnd) {}
    }
}
