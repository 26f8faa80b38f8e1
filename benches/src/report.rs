//! The results of a run as a page: a chart of each row, and the table. It needs neither network nor
//! scripts, so that it can be opened, sent and kept as a file.
//!
//! In a chart each implementation has a line of its own with a point for each number of threads, so
//! no label has to find a free place; that is less code here than by a library for charts.

use crate::markdown::{TITLES, cells, machine, summary};
use crate::results::{Measured, Results, Side};
use crate::text::{counted, digits, number};
use crate::workload::Role;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeSet;

const STYLE: &str = include_str!("report.css");

const WIDTH: f64 = 900.0;
/// The width of the names.
const NAMES: f64 = 320.0;
/// The height of a line.
const LINE: f64 = 22.0;

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn over<'s>(sides: impl Iterator<Item = &'s Side>) -> Self {
        let times = sides.filter_map(|side| side.samples.time());
        let (low, high) = times.fold((f64::MAX, 0.0), |(low, high): (f64, f64), time| {
            (low.min(time.low), high.max(time.high))
        });
        // So that noise does not look like a difference.
        let high = (high * 1.1).max(low * 4.0);
        Self {
            low: low * 0.9,
            high,
        }
    }

    fn at(&self, value: f64) -> f64 {
        NAMES + (WIDTH - NAMES - 20.0) * (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// Returns the numbers that have a label: 1, 2, 5, 10, 20 and so on, or powers of ten.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let digits: &[f64] = if self.high / self.low > 1_000.0 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        decades
            .flat_map(move |decade| digits.iter().map(move |digit| digit * 10f64.powi(decade)))
            .filter(|tick| (self.low..=self.high).contains(tick))
    }
}

/// Draws a side's point, with its quartiles.
fn point(axis: &Axis, side: &Side, y: f64) -> Markup {
    let Some(time) = side.samples.time() else {
        return html! {};
    };
    // Beside each other, so that no point hides another.
    let y = y + 3.0 * (side.threads as f64).log2() - 3.0;
    let [low, at, high] = [time.low, time.median, time.high].map(|value| axis.at(value));
    html! {
        g class=(format!("on{}", side.threads)) {
            path d=(format!("M{low:.1},{y}H{high:.1}")) {}
            circle cx=(format!("{at:.1}")) cy=(y) r="5" {
                title {
                    (side.title(0)) ": " (digits(Some(time))) " ns, "
                    (counted(side.samples.rounds(), "round"))
                }
            }
        }
    }
}

/// Draws rows of one title, with different numbers of threads.
fn chart(rows: &[Measured]) -> Markup {
    let sides = || rows.iter().flat_map(|row| &row.sides);
    let mut names: Vec<&Side> = Vec::new();
    for side in sides() {
        if !names.iter().any(|other| other.name == side.name) {
            names.push(side);
        }
    }
    let axis = Axis::over(sides());
    let height = LINE * names.len() as f64 + 24.0;
    html! {
        section {
            h2 { (rows[0].what) }
            @for text in &rows[0].about { p { (text) } }
            svg role="img" viewBox=(format!("0 0 {WIDTH} {height}")) {
                @for tick in axis.ticks() {
                    @let x = axis.at(tick);
                    path .grid d=(format!("M{x:.1},0V{}", height - 20.0)) {}
                    text .tick x=(format!("{x:.1}")) y=(height - 6.0) { (number(tick)) }
                }
                text x="0" y=(height - 6.0) { "ns per operation; left is better" }
                @for (at, name) in names.iter().enumerate() {
                    @let y = LINE * (at as f64 + 0.5);
                    text .ours[name.role == Role::Ours] .reference[name.role == Role::Reference]
                        x="0" y=(y + 4.0) {
                        (name.name)
                        @if let Some(note) = &name.note { title { (note) } }
                    }
                    @for side in sides().filter(|side| side.name == name.name) {
                        (point(&axis, side, y))
                    }
                }
            }
        }
    }
}

/// Returns the whole page.
pub fn html(results: &Results) -> String {
    let charts = results.rows.chunk_by(|one, other| one.what == other.what);
    let sides = results.rows.iter().flat_map(|row| &row.sides);
    let threads: BTreeSet<_> = sides.map(|side| side.threads).collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "releasepool: benchmarks" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "releasepool and its alternatives" }
                @if results.quick {
                    p { b { "A quick run: its figures are not reliable." } }
                }
                ul { @for fact in machine(&results.machine) { li { (fact) } } }
                p { (summary(results)) }
                p {
                    "A point is the median of a row, a line through it the quartiles; "
                    @for threads in threads {
                        b class=(format!("on{threads}")) { (counted(threads, "thread")) } " "
                    }
                    "– releasepool is bold; what is grey can do less than the others."
                }
                @for rows in charts { (chart(rows)) }
                h2 { "All rows" }
                table {
                    tr { @for title in TITLES { th { (title) } } }
                    @for row in &results.rows {
                        tr { @for cell in cells(row) { td { (cell) } } }
                    }
                }
            }
        }
    };
    page.into_string()
}
