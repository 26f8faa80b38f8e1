//! How releasepool compares with the others in a scenario, by number of threads.

use crate::comparison::{Outcome, Spread};
use crate::contest::Figure;
use crate::findings::outcome;
use crate::results::{Point, Role, Scenario, Series};

/// An implementation with its figures.
#[derive(Clone, Copy)]
pub struct Entrant<'r> {
    pub series: &'r Series,
    pub point: &'r Point,
    pub time: Figure,
}

/// The fastest implementation of releasepool's, and the fastest alternative, by their medians.
pub struct Standing<'r> {
    pub oversubscribed: bool,
    pub ours: Option<Entrant<'r>>,
    pub peer: Option<Entrant<'r>>,
    /// How many times as long as the alternative releasepool takes, and what that shows. `None` if
    /// one side was not measured.
    pub compared: Option<(Spread, Outcome)>,
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

impl<'r> Standing<'r> {
    /// Compares the two sides with this number of threads. Returns `None` if neither was measured.
    pub fn with(scenario: &'r Scenario, threads: usize) -> Option<Self> {
        let ours = fastest(scenario, Role::Ours, threads);
        let peer = fastest(scenario, Role::Peer, threads);
        let any = ours.or(peer)?;
        let compared = ours.zip(peer).and_then(|(ours, peer)| {
            let spread = ours.point.over(peer.point)?;
            Some((spread, outcome(&spread, ours.point, peer.point)))
        });
        Some(Self {
            oversubscribed: any.point.oversubscribed,
            ours,
            peer,
            compared,
        })
    }

    /// Returns the result, if both sides were measured.
    pub fn outcome(&self) -> Option<Outcome> {
        self.compared.map(|(_, outcome)| outcome)
    }
}
