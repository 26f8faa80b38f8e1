//! What an implementation looks like: the same in every scenario, and told apart
//! by more than its colour.

use crate::results::{Results, Role, Scenario};
use std::collections::BTreeMap;

/// Colours that the style sheet has for peers: `--k0` and so on.
const COLOURS: usize = 7;

/// A marker, drawn around the origin with a radius of about one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Square,
    Up,
    Diamond,
    Down,
    Star,
    Hexagon,
    Bar,
}

/// The shapes of peers, as many as there are colours.
const SHAPES: [Shape; COLOURS] = [
    Shape::Square,
    Shape::Up,
    Shape::Diamond,
    Shape::Down,
    Shape::Star,
    Shape::Hexagon,
    Shape::Bar,
];

/// Colour, shape, and whether that is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    role: Role,
    slot: usize,
}

impl Look {
    /// Whether the marker is an outline only, and the line dashed.
    fn is_second(self) -> bool {
        match self.role {
            Role::Peer => self.slot >= COLOURS,
            _ => self.slot % 2 == 1,
        }
    }

    /// The classes by which the style sheet knows it.
    pub fn class(self) -> String {
        let second = if self.is_second() { " second" } else { "" };
        match self.role {
            Role::Ours => format!("ours{second}"),
            Role::Reference => format!("reference{second}"),
            Role::Peer => format!("k{}{second}", self.slot % COLOURS),
        }
    }

    fn shape(self) -> Shape {
        match self.role {
            Role::Peer => SHAPES[self.slot % COLOURS],
            _ => Shape::Circle,
        }
    }

    /// How large its markers are.
    pub fn radius(self) -> f64 {
        match self.role {
            Role::Ours => 5.5,
            _ => 4.5,
        }
    }

    /// The marker as a character, for text.
    pub fn character(self) -> char {
        let (filled, outline) = match self.shape() {
            Shape::Circle => ('●', '○'),
            Shape::Square => ('■', '□'),
            Shape::Up => ('▲', '△'),
            Shape::Diamond => ('◆', '◇'),
            Shape::Down => ('▼', '▽'),
            Shape::Star => ('★', '☆'),
            Shape::Hexagon => ('⬢', '⬡'),
            Shape::Bar => ('▮', '▯'),
        };
        if self.is_second() { outline } else { filled }
    }

    /// The marker as the data of an SVG path, around a point.
    pub fn marker(self, x: f64, y: f64) -> String {
        let r = self.radius();
        let polygon = |corners: &[(f64, f64)]| {
            let corner = |(dx, dy): &(f64, f64)| format!("{:.2},{:.2}", x + dx * r, y + dy * r);
            let corners: Vec<_> = corners.iter().map(corner).collect();
            format!("M{}Z", corners.join("L"))
        };
        match self.shape() {
            Shape::Circle => {
                let (left, across) = (x - r, 2.0 * r);
                format!("M{left:.2},{y:.2}a{r},{r} 0 1 0 {across},0a{r},{r} 0 1 0 -{across},0Z")
            }
            Shape::Square => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            Shape::Up => polygon(&[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)]),
            Shape::Diamond => polygon(&[(0.0, -1.25), (1.1, 0.0), (0.0, 1.25), (-1.1, 0.0)]),
            Shape::Down => polygon(&[(0.0, 1.15), (1.1, -0.85), (-1.1, -0.85)]),
            Shape::Star => polygon(&around(10, |i| if i % 2 == 0 { 1.4 } else { 0.6 })),
            Shape::Hexagon => polygon(&around(6, |_| 1.1)),
            Shape::Bar => polygon(&[(-0.55, -1.2), (0.55, -1.2), (0.55, 1.2), (-0.55, 1.2)]),
        }
    }
}

/// Corners around the origin, the first on top.
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
    /// Gives each its own, in the order in which they appear; when there are no more,
    /// one that no other has in the same chart.
    pub fn of(results: &'r Results) -> Self {
        let mut looks = BTreeMap::<&str, Look>::new();
        for series in results
            .scenarios
            .iter()
            .flat_map(|scenario| &scenario.series)
        {
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

    /// The look of one of them.
    pub fn get(&self, implementation: &str) -> Look {
        self.0[implementation]
    }
}

/// All that are in a scenario with it.
fn met_by<'r>(name: &str, scenarios: &'r [Scenario]) -> Vec<&'r str> {
    scenarios
        .iter()
        .filter(|scenario| scenario.series.iter().any(|s| s.implementation == name))
        .flat_map(|scenario| &scenario.series)
        .map(|series| series.implementation.as_str())
        .collect()
}
