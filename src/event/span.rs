//! Spans of drains and frames, for subscribers of `tracing`.
//!
//! Without the feature `tracing` these functions are empty and leave no instruction. With it, a
//! drain or frame costs two loads and a comparison as long as no subscriber wants spans.
//!
//! A subscriber is foreign code: it may use pools, and its panics are swallowed. So a span begins
//! before the drain or frame does anything, and ends after it has done everything.

mod fields;
#[cfg(not(feature = "tracing"))]
mod no_spans;
#[cfg(feature = "tracing")]
mod on;

pub(crate) use fields::{DrainBegin, DrainEnd, FrameEnd};
#[cfg(not(feature = "tracing"))]
pub(crate) use no_spans::{FrameSpan, of_drain, wants_drains};
#[cfg(feature = "tracing")]
pub(crate) use on::{FrameSpan, of_drain, wants_drains};
