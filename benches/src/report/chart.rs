//! The chart of a scenario: time by number of threads, for all implementations.
//!
//! plotters and charming draw with fixed colours, sizes and label places; this chart takes its
//! colours from the page, in light and dark mode, and puts its labels below on narrow screens. The
//! names beside the ends of the lines are outside of the view box: the page leaves room for them
//! where it is wide, and shows the legend where it is not.

use super::look::{Look, Looks};
use super::scale::{Log, apart};
use super::standing::usable;
use crate::contest::Figure;
use crate::results::{Point, Role, Scenario, Series};
use crate::text::{counted, list, shortened, spread, tick, time};
use maud::{Markup, html};

const WIDTH: f64 = 560.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 6.0;
const TOP: f64 = 50.0;
/// The smallest height of the plot.
const HEIGHT: f64 = 290.0;
/// The height of the axis labels below the plot.
const BELOW: f64 = 48.0;
/// The distance between names.
const NAME_GAP: f64 = 17.0;
/// The left edge of the names.
const NAMES: f64 = WIDTH + 26.0;
/// The longest name beside a line, in characters.
const MOST_NAME: usize = 32;

/// The line of an implementation.
struct Line<'r> {
    series: &'r Series,
    look: Look,
    /// The points that can be drawn.
    points: Vec<(&'r Point, Figure)>,
    /// A horizontal offset, so that no marker hides another.
    aside: f64,
}

/// The positions in a chart.
struct Plot<'r> {
    /// Numbers of threads, each with true if it is larger than the number of processors.
    threads: Vec<(usize, bool)>,
    scale: Log,
    bottom: f64,
    lines: Vec<Line<'r>>,
}

/// Formats a coordinate.
fn px(value: f64) -> String {
    format!("{value:.1}")
}

impl<'r> Plot<'r> {
    fn of(scenario: &'r Scenario, looks: &Looks) -> Self {
        let threads: Vec<_> = scenario.threads().into_iter().collect();
        let count = scenario.series.len();
        let step = (RIGHT - LEFT) / threads.len().max(1) as f64;
        // All markers of a column take less than half of its width.
        let apart = (step * 0.4 / count.max(1) as f64).min(7.0);
        let line = |(at, series): (usize, &'r Series)| Line {
            series,
            look: looks.get(&series.implementation),
            points: drawable(series),
            aside: (at as f64 - (count as f64 - 1.0) / 2.0) * apart,
        };
        let lines: Vec<_> = scenario.series.iter().enumerate().map(line).collect();
        let bottom = TOP + HEIGHT.max(NAME_GAP * count as f64);
        let figures = lines.iter().flat_map(|line| &line.points);
        let values = figures.flat_map(|(_, figure)| [figure.low, figure.high]);
        Self {
            threads,
            scale: Log::over(values, TOP + 8.0, bottom),
            bottom,
            lines,
        }
    }

    /// Returns the middle of the column with this index.
    fn column(&self, at: usize) -> f64 {
        LEFT + self.step() * (at as f64 + 0.5)
    }

    /// Returns the width of a column.
    fn step(&self) -> f64 {
        (RIGHT - LEFT) / self.threads.len().max(1) as f64
    }

    fn x(&self, line: &Line, threads: usize) -> f64 {
        let at = self.threads.iter().position(|&(n, _)| n == threads);
        self.column(at.unwrap_or(0)) + line.aside
    }

    /// Returns the end of a line, beside which its name should be.
    fn end(&self, line: &Line) -> (f64, f64) {
        let Some((point, figure)) = line.points.last() else {
            return (RIGHT, f64::midpoint(TOP, self.bottom));
        };
        let x = if is_level(line) {
            RIGHT
        } else {
            self.x(line, point.threads)
        };
        (x, self.scale.at(figure.median))
    }

    /// Returns the background of the columns with more threads than processors.
    fn shade(&self) -> Markup {
        let mut start = 0;
        let runs = self.threads.chunk_by(|(_, a), (_, b)| a == b).map(|run| {
            start += run.len();
            (run[0].1, start - run.len(), run.len())
        });
        html! {
            @for (_, start, count) in runs.filter(|(over, ..)| *over) {
                @let x = LEFT + self.step() * start as f64;
                @let width = self.step() * count as f64;
                rect .over x=(px(x)) y=(px(TOP - 19.0)) width=(px(width))
                    height=(px(self.bottom - TOP + 19.0)) {}
                text .note text-anchor="end" x=(px(x + width - 7.0)) y=(px(TOP - 5.0)) {
                    "more threads than processors"
                }
            }
        }
    }

    fn axes(&self) -> Markup {
        html! {
            text .axis x="4" y="15" {
                "Time per operation " tspan .note { "(logarithmic; lower is better)" }
            }
            @for (value, labelled) in self.scale.ticks() {
                @let y = self.scale.at(value);
                path .grid .faint[!labelled] d=(format!("M{LEFT},{y:.1}H{RIGHT}")) {}
                @if labelled {
                    text text-anchor="end" x=(px(LEFT - 8.0)) y=(px(y + 4.5)) { (tick(value)) }
                }
            }
            @for (at, (threads, _)) in self.threads.iter().enumerate() {
                @let x = self.column(at);
                path .grid d=(format!("M{x:.1},{:.1}v5", self.bottom)) {}
                text text-anchor="middle" x=(px(x)) y=(px(self.bottom + 20.0)) { (threads) }
            }
            text .axis text-anchor="middle" x=(px(f64::midpoint(LEFT, RIGHT)))
                y=(px(self.bottom + 40.0)) { "threads" }
        }
    }

    fn line(&self, line: &Line) -> Markup {
        let name = &line.series.implementation;
        let at = |(point, figure): &(&Point, Figure)| {
            let x = self.x(line, point.threads);
            format!("{x:.1},{:.1}", self.scale.at(figure.median))
        };
        let mut path: Vec<_> = line.points.iter().map(at).collect();
        if is_level(line) {
            let y = self.scale.at(line.points[0].1.median);
            path = vec![format!("{LEFT},{y:.1}"), format!("{RIGHT},{y:.1}")];
        }
        html! {
            g class={ "line " (line.look.class()) } data-implementation=(name)
                data-points=(line.points.len()) {
                @if path.len() > 1 {
                    path .path d={ "M" (path.join("L")) } {}
                }
                @for (point, figure) in &line.points {
                    @let x = self.x(line, point.threads);
                    @let (low, high) = (self.scale.at(figure.low), self.scale.at(figure.high));
                    path .whisker
                        d=(format!("M{:.1},{low:.1}h6m-3,0V{high:.1}m-3,0h6", x - 3.0)) {}
                    path .marker d=(line.look.marker(x, self.scale.at(figure.median))) {
                        title {
                            (name) ", " (counted(point.threads, "thread")) ": "
                            (time(figure.median)) " " (spread(*figure)) ", "
                            (counted(point.rounds(), "round"))
                        }
                    }
                }
            }
        }
    }

    /// Returns the names, moved apart, each with a thin line to its place in the plot.
    fn names(&self) -> Markup {
        let named: Vec<_> = self.lines.iter().filter(|l| !l.points.is_empty()).collect();
        let ends: Vec<_> = named.iter().map(|line| self.end(line)).collect();
        let wanted: Vec<_> = ends.iter().map(|&(_, y)| y).collect();
        let places = apart(&wanted, NAME_GAP, TOP, self.bottom);
        html! {
            g .names {
                @for ((line, (x, y)), place) in named.iter().zip(ends).zip(places) {
                    @let radius = if is_level(line) { 0.0 } else { line.look.radius() };
                    @let from = x + radius + 4.0;
                    g class=(line.look.class()) {
                        path .leader d=(format!(
                            "M{from:.1},{y:.1}H{:.1}L{:.1},{place:.1}H{:.1}",
                            RIGHT.max(from), NAMES - 17.0, NAMES - 12.0,
                        )) {}
                        path .marker d=(line.look.marker(NAMES - 3.0, place)) {}
                        text .name x=(px(NAMES + 8.0)) y=(px(place + 4.5)) {
                            (shortened(&line.series.implementation, MOST_NAME))
                        }
                    }
                }
            }
        }
    }

    /// Returns the text that a screen reader says.
    fn description(&self) -> String {
        let threads: Vec<_> = self.threads.iter().map(|(n, _)| n.to_string()).collect();
        let lines = self.lines.iter().map(|line| {
            let times = line.points.iter();
            let times: Vec<_> = times.map(|(_, figure)| time(figure.median)).collect();
            format!("{}: {}. ", line.series.implementation, list(&times))
        });
        format!(
            "Median time of one operation with {} threads. {}",
            list(&threads),
            lines.collect::<String>()
        )
    }
}

/// Returns true if the line is a level to compare others with: a single-threaded reference.
fn is_level(line: &Line) -> bool {
    line.series.role == Role::Reference && line.points.len() == 1
}

fn drawable(series: &Series) -> Vec<(&Point, Figure)> {
    let points = series.points.iter();
    points
        .filter_map(|point| usable(point.time).map(|figure| (point, figure)))
        .collect()
}

/// Returns the chart, the legend, and a note on missing points. `index` is the number of the chart
/// on the page.
pub fn figure(scenario: &Scenario, looks: &Looks, index: usize) -> Markup {
    let plot = Plot::of(scenario, looks);
    // The lines of releasepool come last, so that they are drawn above all others.
    let is_ours = |line: &&Line| line.series.role == Role::Ours;
    let (ours, others): (Vec<_>, Vec<_>) = plot.lines.iter().partition(is_ours);
    let all = scenario.series.iter().map(|series| series.points.len());
    let drawn = plot.lines.iter().map(|line| line.points.len());
    let missing = all.sum::<usize>() - drawn.sum::<usize>();
    let (title, description) = (
        format!("chart-{index}-title"),
        format!("chart-{index}-desc"),
    );
    html! {
        figure {
            svg xmlns="http://www.w3.org/2000/svg" role="img" data-scenario=(scenario.id)
                aria-labelledby={ (title) " " (description) }
                viewBox=(format!("0 0 {WIDTH} {}", plot.bottom + BELOW)) {
                title id=(title) { (scenario.title) ": time per operation by number of threads" }
                desc id=(description) { (plot.description()) }
                (plot.shade())
                (plot.axes())
                @for line in others.into_iter().chain(ours) { (plot.line(line)) }
                (plot.names())
            }
            figcaption {
                ul .legend {
                    @for line in &plot.lines {
                        li { (mark(line.look)) " " (line.series.implementation) }
                    }
                }
                @if missing > 0 {
                    p .missing {
                        (counted(missing, "point"))
                        " not drawn, as there is no usable figure. The table has them."
                    }
                }
            }
        }
    }
}

/// Returns the marker of an implementation, for text.
pub fn mark(look: Look) -> Markup {
    html! { span class={ "mark " (look.class()) } aria-hidden="true" { (look.character()) } }
}
