//! `FrameConfig`: the settings of a frame loop.

use crate::macros::setters;
use crate::pool::stack::budget::Budget;
use std::time::Duration;

/// The rule by which a loop makes frames, and updates in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pacing {
    Variable,
    Fixed { step: Duration },
    OnDemand,
}

/// Settings of a [`FrameLoop`](crate::FrameLoop).
///
/// ```
/// use releasepool::{FrameLoop, frame::FrameConfig};
/// use std::time::Duration;
/// let config = FrameConfig::new()
///     .frames_per_second(30)
///     .fixed_step(Duration::from_millis(10))
///     .max_steps(4);
/// let frames = FrameLoop::new(config);
/// # drop(frames);
/// ```
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until a loop is created with them"]
pub struct FrameConfig {
    pub(super) pacing: Pacing,
    pub(super) frame_time: Option<Duration>,
    pub(super) max_delta: Duration,
    pub(super) max_steps: u32,
    pub(super) min_drain: Duration,
    pub(super) max_drain: Duration,
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
            max_drain: Duration::MAX,
            arena_capacity: 64 * 1024,
        }
    }
}

impl FrameConfig {
    /// Returns the default settings: 60 frames a second, one update per frame.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Makes one update per frame, which covers the time since the last frame. This is the default.
        pub variable() => pacing = Pacing::Variable;

        /// Makes as many updates of `step` per frame as cover the time since the last frame: see
        /// [`Frame::steps`](crate::frame::Frame::steps). A step of zero counts as one nanosecond.
        pub fixed_step(step: Duration) => pacing = Pacing::Fixed { step: step.max(Duration::from_nanos(1)) };

        /// Makes frames only when there is something to do: a post, a delayed post that is due, or a
        /// [request](crate::frame::LoopProxy::request_frame). Affects [`run`](crate::FrameLoop::run) only;
        /// [`tick`](crate::FrameLoop::tick) makes a frame whenever it is called.
        pub on_demand() => pacing = Pacing::OnDemand;

        /// Sets the time from the beginning of one frame to the beginning of the next; the default is
        /// 1/60 s.
        ///
        /// [`run`](crate::FrameLoop::run) waits until this time has passed, and the drain at a frame's
        /// end gets the rest of it.
        ///
        /// A post does not end that wait, but runs in the next frame. With `Duration::MAX`, `run`
        /// makes one frame and waits for ever. For no limit use [`unlimited`](Self::unlimited), for
        /// frames that come with posts [`on_demand`](Self::on_demand).
        pub frame_time(time: Duration) => frame_time = Some(time);

        /// Sets the [`frame_time`](Self::frame_time) to the `n`th part of a second; 0 counts as 1.
        pub frames_per_second(n: u32) => frame_time = Some(Duration::from_secs(1) / n.max(1));

        /// Does not wait between frames in [`run`](crate::FrameLoop::run): for hosts that wait for the
        /// display themselves, and for tests.
        ///
        /// The drain at a frame's end then has no limit but [`max_drain`](Self::max_drain). To give
        /// it the rest of a frame's time, without waiting, set a [`frame_time`](Self::frame_time)
        /// and call [`tick`](crate::FrameLoop::tick), which never waits.
        pub unlimited() => frame_time = None;

        /// Limits [`Frame::delta`](crate::frame::Frame::delta), so that the world does not jump after a
        /// breakpoint or a long load; the default is 250 ms.
        pub max_delta(limit: Duration) => max_delta = limit;

        /// Limits the updates per frame of [`fixed_step`](Self::fixed_step); the time that they do not
        /// cover is dropped. The default is 5; 0 counts as 1.
        pub max_steps(n: u32) => max_steps = n.max(1);

        /// Sets the least time that the drain at a frame's end gets, even if the frame is late, so that
        /// the drain keeps up in the long run; the default is 1 ms.
        pub min_drain(time: Duration) => min_drain = time;

        /// Sets the most time that the drain at a frame's end gets, even if the frame has more to
        /// spare or is [`unlimited`](Self::unlimited). There is no such limit by default: after a
        /// frame that releases much, a frame with nothing to do drains until its time is over. The
        /// limit also holds where [`min_drain`](Self::min_drain) is longer.
        pub max_drain(time: Duration) => max_drain = time;

        /// Sets the initial capacity of [`Frame::arena`](crate::frame::Frame::arena); the default is 64 KiB.
        ///
        /// The arena is allocated when a frame first uses it, and grows after a frame that needed
        /// more than its capacity.
        pub arena_capacity(bytes: usize) => arena_capacity = bytes;
    }

    /// Returns the budget for the drain of a frame that has taken `spent` so far.
    pub(super) fn drain_budget(&self, spent: Duration) -> Budget {
        let rest = |time: Duration| time.saturating_sub(spent).max(self.min_drain);
        match self
            .frame_time
            .map_or(Duration::MAX, rest)
            .min(self.max_drain)
        {
            Duration::MAX => Budget::All,
            time => Budget::Time(time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_gets_the_rest_of_the_frame_between_a_minimum_and_a_maximum() {
        let ms = Duration::from_millis;
        let config = FrameConfig::new().frame_time(ms(10)).min_drain(ms(2));
        for (spent, left) in [(0, 10), (7, 3), (9, 2), (500, 2)] {
            assert_eq!(config.drain_budget(ms(spent)), Budget::Time(ms(left)));
        }
        assert_eq!(config.clone().unlimited().drain_budget(ms(1)), Budget::All);
        for (max, left) in [(4, 4), (1, 1), (20, 10)] {
            let config = config.clone().max_drain(ms(max));
            assert_eq!(config.drain_budget(ms(0)), Budget::Time(ms(left)));
            assert_eq!(
                config.unlimited().drain_budget(ms(0)),
                Budget::Time(ms(max))
            );
        }
    }

    #[test]
    fn a_setting_leaves_the_others_alone() {
        let ms = Duration::from_millis;
        let odd = || {
            let config = FrameConfig::new().frame_time(ms(7)).max_delta(ms(8));
            config.max_steps(9).min_drain(ms(10)).max_drain(ms(12))
        };
        let step = ms(11);
        let with = |pacing, frame_time| FrameConfig {
            pacing,
            frame_time,
            ..odd()
        };
        let (variable, fixed) = (Pacing::Variable, Pacing::Fixed { step });
        let (time, second) = (Some(ms(7)), Some(ms(1_000)));
        for (config, expected) in [
            (odd().fixed_step(step), with(fixed, time)),
            (odd().fixed_step(step).variable(), with(variable, time)),
            (odd().on_demand(), with(Pacing::OnDemand, time)),
            (odd().frames_per_second(50), with(variable, Some(ms(20)))),
            (odd().frames_per_second(0), with(variable, second)),
            (odd().unlimited(), with(variable, None)),
        ] {
            assert_eq!(format!("{config:?}"), format!("{expected:?}"));
        }
    }
}
