//! Durations, counted in buckets, so that a long run needs no more memory than a
//! short one.

use std::time::Duration;

/// Buckets for each power of two: a figure is right to about 1.6 percent.
const FINE: u32 = 6;
const SIDE: usize = 1 << FINE;

pub struct Histogram {
    /// By nanoseconds.
    buckets: Vec<u64>,
    count: u64,
    max: Duration,
}

impl Histogram {
    pub fn new() -> Self {
        Self {
            buckets: vec![0; (64 - FINE as usize + 1) * SIDE],
            count: 0,
            max: Duration::ZERO,
        }
    }

    pub fn record(&mut self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket(nanos)] += 1;
        self.count += 1;
        self.max = self.max.max(time);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn max(&self) -> Duration {
        self.max
    }

    /// The time that this share of all stays within.
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return Duration::from_nanos(upper_bound(index)).min(self.max);
            }
        }
        self.max
    }
}

/// Values below `SIDE` have a bucket each; above, each power of two has `SIDE`.
fn bucket(nanos: u64) -> usize {
    let shift = (63 - FINE).saturating_sub(nanos.leading_zeros());
    if nanos < SIDE as u64 {
        return nanos as usize;
    }
    let within = (nanos >> shift) as usize - SIDE;
    (shift as usize + 1) * SIDE + within
}

/// The greatest value of a bucket.
fn upper_bound(index: usize) -> u64 {
    if index < SIDE {
        return index as u64;
    }
    let shift = index / SIDE - 1;
    let lowest = ((index % SIDE + SIDE) as u64) << shift;
    lowest + ((1 << shift) - 1)
}
