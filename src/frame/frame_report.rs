//! `FrameReport`: the figures of a frame.

use crate::pool::stack::budget::Drained;
use std::time::Duration;

/// The figures of a frame: how much it has done, and how long that took.
/// [`FrameLoop::tick`](crate::FrameLoop::tick) returns its frame's report, and
/// [`Frame::last_report`](crate::Frame::last_report) the report of the frame before.
///
/// # How to read it
/// A frame is on time if [`busy`](Self::busy) is less than the
/// [frame's time](crate::FrameConfig::frame_time). One report says little: look at the largest
/// values of the last few seconds, and at whether a value grows.
///
/// | what you see | what it means | what to do |
/// |---|---|---|
/// | `busy` above the frame's time, `drained.elapsed` small | updating and drawing, or posted closures, take too long | move work to a [`Looper`](crate::Looper); post less per frame |
/// | `busy` above the frame's time, `drained.elapsed` far above [`min_drain`](crate::FrameConfig::min_drain) | a destructor takes too long: the budget is only checked between two of them | `drained.slowest` names its type: destroy such objects on a [reclaimer](crate::Looper::reclaimer), by a [`HandoffPool`](crate::HandoffPool) |
/// | `drained.remaining` is above zero now and then, and goes back | a burst, which is spread over some frames as it should be | nothing |
/// | `drained.remaining` grows from frame to frame | more is released than the drains get to; memory grows | a larger `min_drain`, a reclaimer, or fewer temporaries |
/// | `waited` is near zero in [`run`](crate::FrameLoop::run), frame after frame | the loop has no time to spare, or its pacing is [`unlimited`](crate::FrameConfig::unlimited) | see `busy` |
/// | `closures` grows | threads post faster than the frames run it, or a frame was late | let posters wait for an answer ([`FrameProxy::call`](crate::FrameProxy::call)), or post less often |
/// | `panics` above zero | a posted closure has a bug; the frame went on | the [event](crate::event) has its message |
/// | `steps` is 0 now and then | the step is longer than a frame: nothing is due | draw with [`leftover`](crate::Frame::leftover) |
/// | `steps` is [`max_steps`](crate::FrameConfig::max_steps), frame after frame | updates take longer than the time they cover, and the world slows down | cheaper updates or a longer step |
/// | `arena_high_water` above [`arena_capacity`](crate::FrameConfig::arena_capacity) | what did not fit was on the heap; the next frames' arena is larger | set the capacity to the most that you see |
///
/// The first frame has a `delta` of zero, and may be late, as it allocates memory that later frames
/// reuse. The feature `metrics` records reports for dashboards, `serde` serializes them, and
/// `tracing` shows frames as spans.
///
/// # Example
/// ```
/// use releasepool::{FrameConfig, FrameLoop};
///
/// let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
/// let report = frames.tick(|frame| _ = frame.pool().create(5));
/// assert_eq!((report.index, report.drained.released, report.drained.remaining), (0, 1, 0));
/// println!("busy for {:?}", report.busy);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameReport {
    /// The frame's number, counted from 0.
    pub index: u64,
    /// How many posted closures have run, including delayed ones.
    pub closures: usize,
    /// How many of them panicked; each panic is an [event](crate::event).
    pub panics: usize,
    /// The frame's [`delta`](crate::Frame::delta): the time since the last frame began, at most
    /// [`max_delta`](crate::FrameConfig::max_delta). If it equals `max_delta`, time may have been
    /// dropped.
    pub delta: Duration,
    /// How many updates were due: 1, or with a [fixed step](crate::FrameConfig::fixed_step) from 0
    /// to [`max_steps`](crate::FrameConfig::max_steps).
    pub steps: u32,
    /// How long [`run`](crate::FrameLoop::run) slept before the frame; zero for `tick`.
    pub waited: Duration,
    /// The most bytes of the frame's [arena](crate::Frame::arena) in use at once: a guide for
    /// [`arena_capacity`](crate::FrameConfig::arena_capacity).
    pub arena_high_water: usize,
    /// The time from the frame's beginning to its end, including the drain, without `waited`.
    pub busy: Duration,
    /// The result of the drain at the frame's end: releases made, and releases left to the next
    /// frames.
    pub drained: Drained,
}
