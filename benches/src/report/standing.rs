//! How releasepool compares with the others in a scenario, by number of threads.

use crate::contest::Figure;
use crate::results::{Point, Role, Scenario, Series};

/// An implementation with its figures.
#[derive(Clone, Copy)]
pub struct Entrant<'r> {
    pub series: &'r Series,
    pub point: &'r Point,
    pub time: Figure,
}

/// The result of a comparison, as far as the spread allows to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// releasepool is faster than the best of the others.
    Ahead,
    /// One is between the quartiles of the ratio.
    Even,
    /// The best of the others is faster.
    Behind,
    /// One side was not measured.
    Alone,
}

/// The fastest implementation of releasepool's, and the fastest alternative.
pub struct Standing<'r> {
    pub threads: usize,
    pub oversubscribed: bool,
    pub ours: Option<Entrant<'r>>,
    pub peer: Option<Entrant<'r>>,
    /// How many times as long as the alternative releasepool takes.
    pub ratio: Option<Figure>,
    pub outcome: Outcome,
}

/// Returns the figure if it can be drawn and compared, that is, if it was measured and not divided
/// by zero. A quartile that cannot be drawn is replaced by the median.
pub fn usable(figure: Figure) -> Option<Figure> {
    let is_usable = |value: f64| (1e-6..=1e15).contains(&value);
    let Figure { low, median, high } = figure;
    let quartile = |value: f64| if is_usable(value) { value } else { median };
    is_usable(median).then(|| Figure {
        low: quartile(low).min(median),
        median,
        high: quartile(high).max(median),
    })
}

fn fastest(scenario: &Scenario, role: Role, threads: usize) -> Option<Entrant<'_>> {
    let of_role = scenario.series.iter().filter(|series| series.role == role);
    let entrants = of_role.filter_map(|series| {
        let point = series.point(threads)?;
        let time = usable(point.time)?;
        Some(Entrant {
            series,
            point,
            time,
        })
    });
    entrants.min_by(|a, b| a.time.median.total_cmp(&b.time.median))
}

/// Returns how many times as long as `peer` `ours` took: round by round, if that was measured, as it
/// is more reliable than a ratio of medians.
fn ratio(scenario: &Scenario, ours: Entrant, peer: Entrant) -> Figure {
    let is_first = std::ptr::eq(&scenario.series[0], ours.series);
    match peer.point.ratio.and_then(usable) {
        Some(theirs) if is_first => Figure {
            low: 1.0 / theirs.high,
            median: 1.0 / theirs.median,
            high: 1.0 / theirs.low,
        },
        _ => Figure {
            low: ours.time.low / peer.time.high,
            median: ours.time.median / peer.time.median,
            high: ours.time.high / peer.time.low,
        },
    }
}

impl<'r> Standing<'r> {
    fn with(scenario: &'r Scenario, threads: usize, oversubscribed: bool) -> Self {
        let ours = fastest(scenario, Role::Ours, threads);
        let peer = fastest(scenario, Role::Peer, threads);
        let ratio = ours
            .zip(peer)
            .map(|(ours, peer)| ratio(scenario, ours, peer));
        let outcome = match ratio {
            None => Outcome::Alone,
            Some(ratio) if ratio.high < 1.0 => Outcome::Ahead,
            Some(ratio) if ratio.low > 1.0 => Outcome::Behind,
            Some(_) => Outcome::Even,
        };
        Self {
            threads,
            oversubscribed,
            ours,
            peer,
            ratio,
            outcome,
        }
    }

    /// Returns the comparison with the fewest threads, and that with the most threads that can run
    /// at the same time, or, if there is none, with the most threads. Returns one if they are the
    /// same.
    pub fn ends(scenario: &'r Scenario) -> Vec<Self> {
        let all = scenario.threads().into_iter();
        let mut found: Vec<_> = all
            .map(|(threads, oversubscribed)| Self::with(scenario, threads, oversubscribed))
            .filter(|standing| standing.ours.is_some() || standing.peer.is_some())
            .collect();
        // If both sides were measured for some numbers of threads, only these count.
        if found.iter().any(|s| s.outcome != Outcome::Alone) {
            found.retain(|s| s.outcome != Outcome::Alone);
        }
        let at_once = found.iter().rposition(|s| !s.oversubscribed);
        let last = match at_once {
            Some(at) if at > 0 => at,
            _ => found.len().saturating_sub(1),
        };
        let mut at = 0..;
        found.retain(|_| at.next().is_some_and(|at| at == 0 || at == last));
        found
    }

    /// Returns the side with the lower median.
    pub fn best(&self) -> Option<Entrant<'r>> {
        match (self.ours, self.peer) {
            (Some(ours), Some(peer)) if peer.time.median < ours.time.median => Some(peer),
            (ours, peer) => ours.or(peer),
        }
    }
}
