//! Spans of drains and frames, for subscribers of `tracing`.
//!
//! Without the feature `tracing` nothing here does anything or leaves an instruction. With it, a
//! drain or frame costs two loads and a comparison as long as no subscriber wants spans.
//!
//! A subscriber is foreign code: it may use pools, and its panics are swallowed. So a span begins
//! before anything is done, and ends after everything is.

#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(feature = "tracing")]
mod on;

#[cfg(not(feature = "tracing"))]
pub(crate) use off::{FrameSpan, of_drain, wants_drains};
#[cfg(feature = "tracing")]
pub(crate) use on::{FrameSpan, of_drain, wants_drains};

/// The fields of a span when a drain begins.
#[cfg_attr(not(feature = "tracing"), expect(dead_code))]
pub(crate) struct DrainBegin {
    pub(crate) pool: String,
    pub(crate) manager: Option<String>,
    /// Number of entries in the pool.
    pub(crate) entries: usize,
}

/// The fields of a span when a drain ends.
#[cfg_attr(not(feature = "tracing"), expect(dead_code))]
pub(crate) struct DrainEnd {
    pub(crate) released: usize,
    /// For a drain within a budget: how many releases it has left.
    pub(crate) remaining: Option<usize>,
}

/// The fields of a span when a frame ends.
#[cfg_attr(not(feature = "tracing"), expect(dead_code))]
pub(crate) struct FrameEnd {
    /// Number of posted closures that the frame has run.
    pub(crate) closures: usize,
    pub(crate) released: usize,
    pub(crate) remaining: usize,
}
