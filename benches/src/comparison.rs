//! Decides which of two implementations takes longer, from their samples. All that the benchmarks say
//! of which side is ahead comes from [`Spread::outcome`].
//!
//! All computing is done with the logarithms of times and ratios, so that swapping the two sides
//! mirrors the result exactly.

/// Ratios between `MARGIN` and its reciprocal are called even: differences of a few percent come
/// from the layout of code and memory, and change with every build.
const MARGIN: f64 = 1.05;

/// If the quartiles of a ratio are further from 1 than this, or than its reciprocal, the two sides are
/// not called even, however many rounds there were.
const WIDEST: f64 = 1.25;

/// The probability that the confidence interval of a median is beside the true median.
const ERROR: f64 = 0.01;

/// A median and its quartiles.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// A quarter of the values are below this.
    pub low: f64,
    /// Half of the values are below this.
    pub median: f64,
    /// A quarter of the values are above this.
    pub high: f64,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The first side takes less time than the second.
    Faster,
    /// The first side takes more time than the second.
    Slower,
    /// The difference is smaller than `MARGIN`.
    Even,
    /// The rounds disagree too much.
    TooNoisy,
    /// There were fewer rounds than [`least_rounds`] returns.
    TooFew,
}

impl Outcome {
    /// Returns the outcome with the sides swapped.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            other => other,
        }
    }
}

/// The result of checking a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The limit is kept.
    Met,
    /// The limit is not kept.
    Missed,
    /// The rounds disagree too much.
    TooNoisy,
    /// There were fewer rounds than [`least_rounds`] returns.
    TooFew,
}

/// Returns the smallest number of rounds from which anything is concluded.
pub fn least_rounds() -> usize {
    (1..)
        .find(|&rounds| beside_median(rounds).is_some())
        .expect("many rounds are enough")
}

/// Returns the largest number of values on each side that can be left out of the sorted values of this
/// many rounds, so that the rest is a confidence interval of the median. The interval makes no
/// assumption on the distribution of the values. Returns `None` if there are too few rounds.
fn beside_median(rounds: usize) -> Option<usize> {
    // The median is below the smallest `n` of the values only if fewer than `n` values are below the
    // median, and each value is below it with a probability of one half.
    let mut term = -(rounds as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut left_out = None;
    for n in 0..rounds {
        below += term.exp();
        if 2.0 * below > ERROR {
            break;
        }
        left_out = Some(n);
        term += ((rounds - n) as f64 / (n + 1) as f64).ln();
    }
    left_out
}

/// The distribution of times, or of ratios of times, as logarithms.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    low: f64,
    median: f64,
    high: f64,
    /// The confidence interval of the median, if there were enough rounds.
    interval: Option<(f64, f64)>,
    rounds: usize,
}

impl Spread {
    /// Returns the distribution of these values. Values that are not positive, or not finite, do not
    /// count. Returns `None` if no value counts.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        Self::of_logs(values.into_iter().map(f64::ln))
    }

    fn of_logs(logs: impl Iterator<Item = f64>) -> Option<Self> {
        let mut logs: Vec<_> = logs.filter(|log| log.is_finite()).collect();
        logs.sort_by(f64::total_cmp);
        let last = logs.len().checked_sub(1)?;
        // Each quartile is the value of a round; rounding moves the quartiles apart, not together.
        let quarter = last / 4;
        let interval = beside_median(logs.len());
        Some(Self {
            low: logs[quarter],
            median: f64::midpoint(logs[last / 2], logs[last - last / 2]),
            high: logs[last - quarter],
            interval: interval.map(|out| (logs[out], logs[last - out])),
            rounds: logs.len(),
        })
    }

    /// Returns the distribution of the ratio of two sides that were measured in the same rounds, by
    /// turns. A round that is `None` for one of the sides does not count.
    pub fn paired(one: &[Option<f64>], other: &[Option<f64>]) -> Option<Self> {
        let pairs = one.iter().zip(other);
        Self::of_logs(pairs.filter_map(|(one, other)| Some((*one)?.ln() - (*other)?.ln())))
    }

    /// Returns the median and the quartiles.
    pub fn figure(&self) -> Figure {
        Figure {
            low: self.low.exp(),
            median: self.median.exp(),
            high: self.high.exp(),
        }
    }

    /// Returns the median, and the range that leaves an outcome undecided: between the quartiles,
    /// and if there were enough rounds, extended to the confidence interval.
    pub fn undecided(&self) -> Figure {
        let (least, most) = self.interval.unwrap_or((self.low, self.high));
        Figure {
            low: self.low.min(least).exp(),
            median: self.median.exp(),
            high: self.high.max(most).exp(),
        }
    }

    /// Returns the number of rounds that count.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Decides which side takes longer, if these are ratios of the first side's time to the second
    /// side's.
    pub fn outcome(&self) -> Outcome {
        let Some((least, most)) = self.interval else {
            return Outcome::TooFew;
        };
        let within = |low: f64, high: f64, limit: f64| -limit.ln() <= low && high <= limit.ln();
        if within(least, most, MARGIN) && within(self.low, self.high, WIDEST) {
            Outcome::Even
        } else if most < 0.0 && self.high < 0.0 {
            Outcome::Faster
        } else if least > 0.0 && self.low > 0.0 {
            Outcome::Slower
        } else {
            Outcome::TooNoisy
        }
    }

    /// Decides whether the median is at least `limit`, or at most. If the limit is between the
    /// quartiles, these have to be close to the median.
    pub fn judge(&self, limit: f64, at_least: bool) -> Judged {
        let limit = limit.ln();
        let Some((least, most)) = self.interval else {
            return Judged::TooFew;
        };
        let around = |low: f64, high: f64| low < high && low <= limit && limit <= high;
        let wide = (self.high - self.median).max(self.median - self.low) > WIDEST.ln();
        if around(least, most) || (wide && around(self.low, self.high)) {
            return Judged::TooNoisy;
        }
        let kept = if at_least {
            least >= limit
        } else {
            most <= limit
        };
        if kept { Judged::Met } else { Judged::Missed }
    }
}
