//! The times of frames: deltas and fixed steps.

use super::config::{FrameConfig, Pacing};
use std::time::Duration;

/// Computes the times of each frame.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// When the last frame began; `None` if time starts with the next frame.
    last: Option<Duration>,
    /// The time that no step has covered yet.
    leftover: Duration,
    suspended: bool,
}

/// The times of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) delta: Duration,
    pub(super) steps: u32,
    pub(super) step: Duration,
    pub(super) leftover: Duration,
}

impl Times {
    /// No time has passed, and no update is due.
    pub(super) const NONE: Self = Self {
        delta: Duration::ZERO,
        steps: 0,
        step: Duration::ZERO,
        leftover: Duration::ZERO,
    };
}

impl Clock {
    /// Begins a frame at `now`; returns its times.
    pub(super) fn frame(&mut self, now: Duration, config: &FrameConfig) -> Times {
        let passed = self
            .last
            .map_or(Duration::ZERO, |last| now.saturating_sub(last));
        if !self.suspended {
            self.last = Some(now);
        }
        let delta = passed.min(config.max_delta);
        let Pacing::Fixed { step } = config.pacing else {
            return Times {
                delta,
                steps: 1,
                step: delta,
                leftover: Duration::ZERO,
            };
        };
        let time = self.leftover + delta;
        let due = time.as_nanos() / step.as_nanos();
        let steps = u32::try_from(due).unwrap_or(u32::MAX).min(config.max_steps);
        // Whole steps beyond the limit are dropped; only a part of a step is kept.
        let rest = time.as_nanos() % step.as_nanos();
        self.leftover = Duration::from_nanos(u64::try_from(rest).unwrap_or(u64::MAX));
        Times {
            delta,
            steps,
            step,
            leftover: self.leftover,
        }
    }

    /// Stops time until [`resume`](Self::resume).
    pub(super) fn suspend(&mut self) {
        self.suspended = true;
        self.last = None;
    }

    /// Lets time go on, from the next frame.
    pub(super) fn resume(&mut self) {
        self.suspended = false;
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Returns steps and leftover of each frame, for frames at these times in milliseconds.
    fn fixed(config: &FrameConfig, at: &[u64]) -> Vec<(u32, Duration)> {
        let mut clock = Clock::default();
        let frames = at.iter().map(|&now| clock.frame(ms(now), config));
        frames.map(|t| (t.steps, t.leftover)).collect()
    }

    #[test]
    fn a_variable_frame_has_one_step_of_the_time_that_has_passed() {
        let config = FrameConfig::new();
        let mut clock = Clock::default();
        for (now, delta) in [(1_000, 0), (1_016, 16), (1_016, 0), (1_050, 34)] {
            let t = clock.frame(ms(now), &config);
            assert_eq!((t.delta, t.steps, t.step), (ms(delta), 1, ms(delta)));
        }
    }

    #[test]
    fn a_delta_is_limited_and_never_negative() {
        let config = FrameConfig::new().max_delta(ms(100));
        let mut clock = Clock::default();
        let deltas = [5_000, 9_000, 8_000, 8_050].map(|now| clock.frame(ms(now), &config).delta);
        assert_eq!(deltas, [0, 100, 0, 50].map(ms));
    }

    #[test]
    fn time_stops_while_suspended_and_starts_again_on_resume() {
        let config = FrameConfig::new();
        let mut clock = Clock::default();
        clock.frame(ms(0), &config);
        clock.suspend();
        assert_eq!(clock.frame(ms(10), &config).delta, ms(0));
        assert_eq!(clock.frame(ms(20), &config).delta, ms(0));
        clock.resume();
        assert_eq!(clock.frame(ms(30), &config).delta, ms(0));
        assert_eq!(clock.frame(ms(47), &config).delta, ms(17));
    }

    #[test]
    fn fixed_steps_cover_all_the_time_and_keep_the_rest() {
        let config = FrameConfig::new().fixed_step(ms(10));
        assert_eq!(
            fixed(&config, &[0, 9, 18, 40, 40]),
            [(0, ms(0)), (0, ms(9)), (1, ms(8)), (3, ms(0)), (0, ms(0))]
        );
    }

    #[test]
    fn fixed_steps_beyond_the_limit_are_dropped() {
        let config = FrameConfig::new().fixed_step(ms(10)).max_steps(3);
        assert_eq!(
            fixed(&config, &[0, 95, 100, 110]),
            [(0, ms(0)), (3, ms(5)), (1, ms(0)), (1, ms(0))]
        );
    }

    #[test]
    fn extreme_settings_do_not_overflow() {
        let config = FrameConfig::new()
            .fixed_step(Duration::ZERO)
            .max_steps(u32::MAX)
            .max_delta(Duration::MAX);
        let mut clock = Clock::default();
        clock.frame(Duration::ZERO, &config);
        assert_eq!(clock.frame(Duration::MAX, &config).steps, u32::MAX);
        let config = FrameConfig::new()
            .fixed_step(Duration::MAX)
            .max_delta(Duration::MAX);
        let mut clock = Clock::default();
        for now in [Duration::ZERO, Duration::MAX / 2, Duration::MAX] {
            clock.frame(now, &config);
        }
    }
}
