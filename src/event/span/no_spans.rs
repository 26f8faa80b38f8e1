//! Spans without the feature `tracing`: empty.

use super::fields::{DrainBegin, DrainEnd, FrameEnd};

/// Returns whether a subscriber may want spans of drains.
#[inline(always)]
pub(crate) fn wants_drains() -> bool {
    false
}

/// Runs `drain`.
#[inline(always)]
pub(crate) fn of_drain<R>(
    _: impl FnOnce() -> Option<DrainBegin>,
    drain: impl FnOnce() -> R,
    _: impl FnOnce(&R) -> DrainEnd,
) -> R {
    drain()
}

/// The span of a frame.
pub(crate) struct FrameSpan;

impl FrameSpan {
    #[inline(always)]
    pub(crate) fn begin(_index: u64) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn end(self, _: impl FnOnce() -> FrameEnd) {}
}
