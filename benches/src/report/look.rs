//! The look of an implementation: the same in every scenario, and different from the others not
//! only by its colour.

use crate::results::{Results, Role, Scenario};
use std::collections::BTreeMap;

/// Colours in the style sheet for peers: `--k0` to `--k6`.
const COLOURS: usize = 7;

/// A marker: a character that is filled, one that is an outline, and the corners around the origin.
type Shape = (char, char, fn() -> Vec<(f64, f64)>);

/// The shapes of peers, one for each colour. All other implementations have circles.
const SHAPES: [Shape; COLOURS] = [
    ('■', '□', || {
        vec![(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]
    }),
    ('▲', '△', || {
        vec![(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)]
    }),
    ('◆', '◇', || {
        vec![(0.0, -1.25), (1.1, 0.0), (0.0, 1.25), (-1.1, 0.0)]
    }),
    ('▼', '▽', || {
        vec![(0.0, 1.15), (1.1, -0.85), (-1.1, -0.85)]
    }),
    ('★', '☆', || {
        around(10, |i| if i % 2 == 0 { 1.4 } else { 0.6 })
    }),
    ('⬢', '⬡', || around(6, |_| 1.1)),
    ('▮', '▯', || {
        vec![(-0.55, -1.2), (0.55, -1.2), (0.55, 1.2), (-0.55, 1.2)]
    }),
];

/// A colour, a shape, and a filled or an outlined marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    role: Role,
    slot: usize,
}

impl Look {
    /// Returns true if the marker is an outline, and the line is dashed.
    fn is_second(self) -> bool {
        match self.role {
            Role::Peer => self.slot >= COLOURS,
            _ => self.slot % 2 == 1,
        }
    }

    /// Returns the classes that select its style in the style sheet.
    pub fn class(self) -> String {
        let second = if self.is_second() { " second" } else { "" };
        match self.role {
            Role::Ours => format!("ours{second}"),
            Role::Reference => format!("reference{second}"),
            Role::Peer => format!("k{}{second}", self.slot % COLOURS),
        }
    }

    /// Returns the shape, unless it is a circle.
    fn shape(self) -> Option<Shape> {
        (self.role == Role::Peer).then(|| SHAPES[self.slot % COLOURS])
    }

    /// Returns the radius of its markers.
    pub fn radius(self) -> f64 {
        match self.role {
            Role::Ours => 5.5,
            _ => 4.5,
        }
    }

    /// Returns the marker as a character, for text.
    pub fn character(self) -> char {
        let (filled, outline) = match self.shape() {
            Some((filled, outline, _)) => (filled, outline),
            None => ('●', '○'),
        };
        if self.is_second() { outline } else { filled }
    }

    /// Returns the marker at a point, as the data of an SVG path.
    pub fn marker(self, x: f64, y: f64) -> String {
        let r = self.radius();
        let Some((.., corners)) = self.shape() else {
            let (left, across) = (x - r, 2.0 * r);
            return format!(
                "M{left:.2},{y:.2}a{r},{r} 0 1 0 {across},0a{r},{r} 0 1 0 -{across},0Z"
            );
        };
        let corner = |(dx, dy): (f64, f64)| format!("{:.2},{:.2}", x + dx * r, y + dy * r);
        let corners: Vec<_> = corners().into_iter().map(corner).collect();
        format!("M{}Z", corners.join("L"))
    }
}

/// Returns the corners of a polygon around the origin, beginning at the top.
fn around(corners: usize, radius: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
    let corner = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / corners as f64;
        (radius(i) * angle.sin(), -radius(i) * angle.cos())
    };
    (0..corners).map(corner).collect()
}

/// The looks of all implementations of a run.
pub struct Looks<'r>(BTreeMap<&'r str, Look>);

impl<'r> Looks<'r> {
    /// Gives each implementation a look of its own, in the order of their first appearance. When all
    /// looks are used, it gives one that no other implementation has in the same chart.
    pub fn of(results: &'r Results) -> Self {
        let mut looks = BTreeMap::<&str, Look>::new();
        for series in results.scenarios.iter().flat_map(|s| &s.series) {
            let name = series.implementation.as_str();
            if looks.contains_key(name) {
                continue;
            }
            let role = series.role;
            let used = looks.values().filter(|look| look.role == role).count();
            let met = met_by(name, &results.scenarios);
            let is_free = |slot: &usize| {
                let look = Look { role, slot: *slot };
                !met.iter().any(|other| looks.get(other) == Some(&look))
            };
            let slots = 2 * if role == Role::Peer { COLOURS } else { 1 };
            let slot = if used < slots {
                used
            } else {
                (0..slots).find(is_free).unwrap_or(used % slots)
            };
            looks.insert(name, Look { role, slot });
        }
        Self(looks)
    }

    /// Returns the look of an implementation.
    pub fn get(&self, implementation: &str) -> Look {
        self.0[implementation]
    }
}

/// Returns all implementations that are in a scenario with this one.
fn met_by<'r>(name: &str, scenarios: &'r [Scenario]) -> Vec<&'r str> {
    scenarios
        .iter()
        .filter(|scenario| scenario.series.iter().any(|s| s.implementation == name))
        .flat_map(|scenario| &scenario.series)
        .map(|series| series.implementation.as_str())
        .collect()
}
