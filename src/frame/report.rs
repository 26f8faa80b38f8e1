//! `FrameReport`: what a frame has done.

use crate::pool::budget::Drained;
use std::time::Duration;

/// What a frame has done and how long it took: returned by
/// [`FrameLoop::tick`](crate::FrameLoop::tick), and for the frame before by
/// [`Frame::last_report`](crate::Frame::last_report).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FrameReport {
    /// The frame's number, counted from 0.
    pub index: u64,
    /// How many posted closures have run.
    pub closures: usize,
    /// How many of them panicked; each panic is an [event](crate::event).
    pub panics: usize,
    /// The frame's [`delta`](crate::Frame::delta).
    pub delta: Duration,
    /// How many updates were due.
    pub steps: u32,
    /// How long [`run`](crate::FrameLoop::run) slept before the frame; zero for `tick`.
    pub waited: Duration,
    /// The most bytes of the frame's [arena](crate::Frame::arena) in use at once: a guide for
    /// [`arena_capacity`](crate::FrameConfig::arena_capacity).
    pub arena_high_water: usize,
    /// The time from the frame's beginning to its end, including the drain.
    pub busy: Duration,
    /// What was released at the frame's end, and what is left to the next frames.
    pub drained: Drained,
}
