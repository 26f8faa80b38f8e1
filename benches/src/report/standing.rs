//! How releasepool stands in a scenario, with so many threads.

use super::sound;
use crate::contest::Figure;
use crate::results::{Point, Role, Scenario, Series};

/// An implementation with its figures.
#[derive(Clone, Copy)]
pub struct Entrant<'r> {
    pub series: &'r Series,
    pub point: &'r Point,
    pub time: Figure,
}

/// Who is ahead, as far as the spread allows to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// releasepool takes less than the best of the others.
    Ahead,
    /// The quartiles of the ratio have one between them.
    Even,
    /// The best of the others takes less.
    Behind,
    /// One side is missing.
    Alone,
}

/// The fastest of ours and the fastest that a program could use instead.
pub struct Standing<'r> {
    pub threads: usize,
    pub oversubscribed: bool,
    pub ours: Option<Entrant<'r>>,
    pub peer: Option<Entrant<'r>>,
    /// How many times as long ours takes.
    pub ratio: Option<Figure>,
    pub outcome: Outcome,
}

fn point(series: &Series, threads: usize) -> Option<(&Point, Figure)> {
    let point = series
        .points
        .iter()
        .find(|point| point.threads == threads)?;
    Some((point, sound(point.time)?))
}

fn fastest(scenario: &Scenario, role: Role, threads: usize) -> Option<Entrant<'_>> {
    let of_role = scenario.series.iter().filter(|series| series.role == role);
    of_role
        .filter_map(|series| {
            point(series, threads).map(|(point, time)| Entrant {
                series,
                point,
                time,
            })
        })
        .min_by(|a, b| a.time.median.total_cmp(&b.time.median))
}

/// How many times as long as `peer` ours took. What was compared round by round
/// is better than what is divided afterwards.
fn ratio(scenario: &Scenario, ours: Entrant, peer: Entrant) -> Figure {
    let is_first = std::ptr::eq(&scenario.series[0], ours.series);
    match peer.point.ratio.and_then(sound) {
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
    fn with(scenario: &'r Scenario, threads: usize) -> Self {
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
            oversubscribed: is_oversubscribed(scenario, threads),
            ours,
            peer,
            ratio,
            outcome,
        }
    }

    /// With the fewest threads of the scenario, and with the most that can run at once, or, if
    /// there are no such, with the most; one only if these are the same.
    pub fn ends(scenario: &'r Scenario) -> Vec<Self> {
        let all = thread_counts(scenario);
        let mut found: Vec<_> = all
            .into_iter()
            .map(|threads| Self::with(scenario, threads))
            .filter(|standing| standing.ours.is_some() || standing.peer.is_some())
            .collect();
        // Where both were measured, if that is anywhere.
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

    /// Who takes less, by the medians.
    pub fn best(&self) -> Option<Entrant<'r>> {
        match (self.ours, self.peer) {
            (Some(ours), Some(peer)) if peer.time.median < ours.time.median => Some(peer),
            (ours, peer) => ours.or(peer),
        }
    }
}

/// All numbers of threads in it, rising.
pub fn thread_counts(scenario: &Scenario) -> Vec<usize> {
    let points = scenario.series.iter().flat_map(|series| &series.points);
    let mut counts: Vec<_> = points.map(|point| point.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Whether so many threads cannot run at the same time.
pub fn is_oversubscribed(scenario: &Scenario, threads: usize) -> bool {
    let mut points = scenario.series.iter().flat_map(|series| &series.points);
    points.any(|point| point.threads == threads && point.oversubscribed)
}
