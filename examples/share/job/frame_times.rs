//! How long frames took.

use hdrhistogram::Histogram;
use std::time::Duration;

/// A histogram of frame times with three significant digits. Its memory does not grow with the
/// length of the run.
pub struct FrameTimes(Histogram<u64>);

/// The longest time that can be told from longer ones.
const HOUR: Duration = Duration::from_secs(3600);

impl FrameTimes {
    pub fn new() -> Self {
        let histogram = Histogram::new_with_max(nanos(HOUR), 3);
        Self(histogram.expect("three digits are supported"))
    }

    pub fn record(&mut self, time: Duration) {
        self.0.saturating_record(nanos(time));
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.0.max())
    }

    /// Returns the time that this part (0 to 1) of all frames did not exceed.
    pub fn quantile(&self, part: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_quantile(part))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
