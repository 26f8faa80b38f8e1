//! Spans of drains and frames, for subscribers of `tracing`.
//!
//! Without the feature `tracing` nothing here does anything or leaves an instruction. With it, a
//! drain or frame costs two loads and a comparison as long as no subscriber wants spans.
//!
//! A subscriber is foreign code: it may use pools, and its panics are swallowed. So a span begins
//! before anything is done, and ends after everything is.

mod fields;
#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(feature = "tracing")]
mod on;

pub(crate) use fields::{DrainBegin, DrainEnd, FrameEnd};
#[cfg(not(feature = "tracing"))]
pub(crate) use off::{FrameSpan, of_drain, wants_drains};
#[cfg(feature = "tracing")]
pub(crate) use on::{FrameSpan, of_drain, wants_drains};
