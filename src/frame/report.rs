//! What a frame came to.

use crate::pool::budget::Drained;
use std::time::Duration;

/// What a frame came to: given by [`FrameLoop::tick`](crate::FrameLoop::tick), and of the
/// frame before by [`Frame::last_report`](crate::Frame::last_report).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FrameReport {
    /// The frame's number, from 0.
    pub index: u64,
    /// Closures that were posted and have run.
    pub closures: usize,
    /// How many of them panicked; each panic is an [event](crate::event).
    pub panics: usize,
    /// [`Frame::delta`](crate::Frame::delta) of this frame.
    pub delta: Duration,
    /// Updates that were due.
    pub steps: u32,
    /// How long [`run`](crate::FrameLoop::run) slept before the frame; zero by `tick`.
    pub waited: Duration,
    /// The most that was in use in the frame's [arena](crate::Frame::arena) at once, in
    /// bytes; for [`arena_capacity`](crate::FrameConfig::arena_capacity).
    pub arena_high_water: usize,
    /// From the frame's beginning to its end, the drain included.
    pub busy: Duration,
    /// What was released at its end, and what is left for the next frames.
    pub drained: Drained,
}
