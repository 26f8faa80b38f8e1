//! Settings of a frame loop.

use crate::pool::budget::Budget;
use std::time::Duration;

/// When a loop makes frames, and how many updates to each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pacing {
    Variable,
    Fixed { step: Duration },
    OnDemand,
}

/// Settings of a [`FrameLoop`](crate::FrameLoop).
///
/// ```
/// use releasepool::{FrameConfig, FrameLoop};
/// use std::time::Duration;
/// let config = FrameConfig::new()
///     .frames_per_second(30)
///     .fixed_step(Duration::from_millis(10))
///     .max_steps(4);
/// let frames = FrameLoop::new(config);
/// # drop(frames);
/// ```
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until a loop is made of them"]
pub struct FrameConfig {
    pub(super) pacing: Pacing,
    pub(super) frame_time: Option<Duration>,
    pub(super) max_delta: Duration,
    pub(super) max_steps: u32,
    pub(super) min_drain: Duration,
    pub(super) arena_capacity: usize,
}

impl Default for FrameConfig {
    fn default() -> Self {
        Self {
            pacing: Pacing::Variable,
            frame_time: Some(Duration::from_nanos(1_000_000_000 / 60)),
            max_delta: Duration::from_millis(250),
            max_steps: 5,
            min_drain: Duration::from_millis(1),
            arena_capacity: 64 * 1024,
        }
    }
}

impl FrameConfig {
    /// One update to each frame, 60 frames a second.
    pub fn new() -> Self {
        Self::default()
    }

    /// One update to each frame, by the time since the last one. This is the default.
    pub fn variable(mut self) -> Self {
        self.pacing = Pacing::Variable;
        self
    }

    /// As many updates to each frame as make up for the time since the last one, each
    /// by `step`: see [`Frame::steps`](crate::Frame::steps). A step of zero counts as a
    /// nanosecond.
    pub fn fixed_step(mut self, step: Duration) -> Self {
        let step = step.max(Duration::from_nanos(1));
        self.pacing = Pacing::Fixed { step };
        self
    }

    /// Frames only when there is something to do: a post, a delayed post that is due,
    /// or [`request_frame`](crate::FrameProxy::request_frame). Concerns
    /// [`run`](crate::FrameLoop::run); [`tick`](crate::FrameLoop::tick) makes a frame
    /// whenever it is called.
    pub fn on_demand(mut self) -> Self {
        self.pacing = Pacing::OnDemand;
        self
    }

    /// The time from the beginning of a frame to that of the next. [`run`](crate::FrameLoop::run)
    /// waits for it, and the drain at a frame's end has what is left of it. A sixtieth of a
    /// second unless set.
    pub fn frame_time(mut self, time: Duration) -> Self {
        self.frame_time = Some(time);
        self
    }

    /// [`frame_time`](Self::frame_time) by its inverse; 0 counts as 1.
    pub fn frames_per_second(self, n: u32) -> Self {
        self.frame_time(Duration::from_secs(1) / n.max(1))
    }

    /// No waiting between frames, in [`run`](crate::FrameLoop::run): for hosts that wait for
    /// the display by themselves, and for tests. So a frame has no time to keep to, and its
    /// drain goes on to the end. To have a limit for that, set a [`frame_time`](Self::frame_time)
    /// and call [`tick`](crate::FrameLoop::tick), which never waits.
    pub fn unlimited(mut self) -> Self {
        self.frame_time = None;
        self
    }

    /// The upper limit of [`Frame::delta`](crate::Frame::delta): after a debugger's stop or
    /// a long load the world is not to jump. 250 ms unless set.
    pub fn max_delta(mut self, limit: Duration) -> Self {
        self.max_delta = limit;
        self
    }

    /// Updates to a frame of [`fixed_step`](Self::fixed_step), at most; the time that
    /// they do not make up for is given up. 5 unless set; 0 counts as 1.
    pub fn max_steps(mut self, n: u32) -> Self {
        self.max_steps = n.max(1);
        self
    }

    /// What the drain at a frame's end has at least, even if the frame was late: so that it
    /// keeps up in the long run. 1 ms unless set.
    pub fn min_drain(mut self, time: Duration) -> Self {
        self.min_drain = time;
        self
    }

    /// How many bytes [`Frame::arena`](crate::Frame::arena) has at first. They are allocated
    /// when a frame uses it for the first time; between frames it grows to what was needed.
    /// 64 KiB unless set.
    pub fn arena_capacity(mut self, bytes: usize) -> Self {
        self.arena_capacity = bytes;
        self
    }

    /// For the drain of a frame that has taken so long.
    pub(super) fn drain_budget(&self, spent: Duration) -> Budget {
        match self.frame_time {
            None => Budget::All,
            Some(time) => Budget::Time(time.saturating_sub(spent).max(self.min_drain)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_has_what_is_left_of_the_frame_and_a_minimum() {
        let ms = Duration::from_millis;
        let config = FrameConfig::new().frame_time(ms(10)).min_drain(ms(2));
        for (spent, left) in [(0, 10), (7, 3), (9, 2), (500, 2)] {
            assert_eq!(config.drain_budget(ms(spent)), Budget::Time(ms(left)));
        }
        assert_eq!(config.unlimited().drain_budget(ms(1)), Budget::All);
    }
    #[test]
    fn a_setting_leaves_the_others_alone() {
        let ms = Duration::from_millis;
        let odd = || {
            let config = FrameConfig::new().frame_time(ms(7)).max_delta(ms(8));
            config.max_steps(9).min_drain(ms(10))
        };
        let step = ms(11);
        let (variable, fixed) = (Pacing::Variable, Pacing::Fixed { step });
        let (time, second) = (Some(ms(7)), Some(ms(1_000)));
        for (config, pacing, frame_time) in [
            (odd(), variable, time),
            (odd().fixed_step(step), fixed, time),
            (odd().fixed_step(step).variable(), variable, time),
            (odd().on_demand(), Pacing::OnDemand, time),
            (odd().frames_per_second(50), variable, Some(ms(20))),
            (odd().frames_per_second(0), variable, second),
            (odd().unlimited(), variable, None),
        ] {
            assert_eq!((config.pacing, config.frame_time), (pacing, frame_time));
            assert_eq!((config.max_delta, config.max_steps), (ms(8), 9));
            assert_eq!(config.min_drain, ms(10));
        }
    }
}
