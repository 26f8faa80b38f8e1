//! The results of a run as a page: a chart of each row, and the table. It needs neither network nor
//! scripts, so that it can be opened, sent and kept as a file.
//!
//! In a chart each implementation has its name, and below that a line with a point for each number of
//! threads, so no label has to find a free place, and a phone is wide enough; that is less code here than by a
//! library for charts.

use crate::markdown::{TITLES, cells, sentence, summary};
use crate::results::{Measured, Results, Side};
use crate::terminal::{counted, digits, number};
use crate::workload::Role;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeSet;

const STYLE: &str = include_str!("report.css");

/// As wide as a phone, so that texts have their size there.
const WIDTH: f64 = 380.0;
/// The height of a name and its line.
const LINE: f64 = 40.0;
/// The lines that a user would choose between; the others are faint.
const CHOICES: usize = 5;

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
        10.0 + (WIDTH - 20.0) * (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// Returns the numbers that have a label: 1, 3, 10, 30 and so on, or powers of ten.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let digits: &[f64] = if self.high / self.low > 1_000.0 {
            &[1.0]
        } else {
            &[1.0, 3.0]
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

/// Returns the sides of one name each, in the order of a chart: those that a user would choose between, and the
/// others. Of both, the fastest first.
fn lines(rows: &[Measured]) -> (Vec<&Side>, Vec<&Side>) {
    let mut names: Vec<&Side> = Vec::new();
    for side in rows.iter().flat_map(|row| &row.sides) {
        if !names.iter().any(|other| other.name == side.name) {
            names.push(side);
        }
    }
    let ours = names.remove(0);
    names.sort_by(|a, b| a.median().total_cmp(&b.median()));
    let (alternatives, references): (Vec<&Side>, Vec<&Side>) = names
        .into_iter()
        .partition(|side| side.role != Role::Reference);
    let (near, far) = alternatives.split_at(alternatives.len().min(CHOICES - 1));
    let mut choices = [&[ours], near].concat();
    choices.sort_by(|a, b| a.median().total_cmp(&b.median()));
    (choices, [references, far.to_vec()].concat())
}

/// Draws rows of one title, with different numbers of threads.
fn chart(rows: &[Measured]) -> Markup {
    let sides = || rows.iter().flat_map(|row| &row.sides);
    let (choices, others) = lines(rows);
    let axis = Axis::over(sides());
    let height = LINE * (choices.len() + others.len()) as f64 + 24.0;
    let names = choices.iter().map(|side| (side, false));
    let names = names.chain(others.iter().map(|side| (side, true)));
    // The fewest threads, and the most.
    let said = rows.iter().take(1).chain(rows.iter().skip(1).last());
    html! {
        section {
            h2 { (rows[0].what) }
            p { @for row in said { (sentence(row)) " " } }
            svg role="img" viewBox=(format!("0 0 {WIDTH} {height}")) {
                @for tick in axis.ticks() {
                    @let x = axis.at(tick);
                    path .grid d=(format!("M{x:.1},0V{}", height - 20.0)) {}
                    text .tick x=(format!("{x:.1}")) y=(height - 6.0) { (number(tick)) }
                }
                @for (at, (name, is_faint)) in names.enumerate() {
                    @let y = LINE * at as f64;
                    g .faint[is_faint] {
                        text .ours[name.role == Role::Ours] .reference[name.role == Role::Reference]
                            x="0" y=(y + 14.0) {
                            (name.name)
                            @if let Some(note) = &name.note { title { (note) } }
                        }
                        @for side in sides().filter(|side| side.name == name.name) {
                            (point(&axis, side, y + 27.0))
                        }
                    }
                }
            }
            @if !rows[0].about.is_empty() {
                details {
                    summary { "What was measured" }
                    @for text in &rows[0].about { p { (text) } }
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
                ul { @for fact in &results.machine { li { (fact) } } }
                p { (summary(results)) }
                p {
                    "A point is the median of a row, a line through it the quartiles; "
                    @for threads in threads {
                        b class=(format!("on{threads}")) { (counted(threads, "thread")) } " "
                    }
                    "– nanoseconds per operation, so left is better. releasepool is bold. What is faint is slower than "
                    (CHOICES) " others, or, if it is grey, can do less: a lower bound."
                }
                div .charts { @for rows in charts { (chart(rows)) } }
                details {
                    summary { "All rows" }
                    table {
                        tr { @for title in TITLES { th { (title) } } }
                        @for row in &results.rows {
                            tr { @for cell in cells(row) { td { (cell) } } }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}
