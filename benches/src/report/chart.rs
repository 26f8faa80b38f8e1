//! A scenario as a drawing: time against threads, all implementations.
//!
//! The names stand beside the ends of the lines, outside of the view box: the page
//! leaves room for them where it is wide, and shows a list below where it is not.

use super::look::{Look, Looks};
use super::scale::{Log, apart};
use super::standing::{is_oversubscribed, thread_counts};
use super::text::{counted, escape, list, shortened, spread, tick, time};
use super::{put, sound};
use crate::contest::Figure;
use crate::results::{Point, Role, Scenario, Series};

const WIDTH: f64 = 560.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 6.0;
const TOP: f64 = 50.0;
/// The least height of the plot.
const HEIGHT: f64 = 290.0;
/// For the numbers of threads.
const BELOW: f64 = 48.0;
/// From one name to the next.
const NAME_GAP: f64 = 17.0;
/// Where the names begin.
const NAMES: f64 = WIDTH + 26.0;
/// How many characters of a name stand beside its line.
const MOST_NAME: usize = 32;

/// An implementation, and what of it can be drawn.
struct Line<'r> {
    series: &'r Series,
    look: Look,
    points: Vec<(&'r Point, Figure)>,
    /// To the side, so that no marker hides another.
    aside: f64,
}

/// Where everything is.
struct Plot<'r> {
    scenario: &'r Scenario,
    threads: Vec<usize>,
    scale: Log,
    bottom: f64,
    lines: Vec<Line<'r>>,
}

impl<'r> Plot<'r> {
    fn of(scenario: &'r Scenario, looks: &Looks) -> Self {
        let threads = thread_counts(scenario);
        let count = scenario.series.len();
        let step = RIGHT - LEFT;
        let step = step / threads.len().max(1) as f64;
        // All beside each other take less than half of what is between two numbers of threads.
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
            scenario,
            threads,
            scale: Log::over(values, TOP + 8.0, bottom),
            bottom,
            lines,
        }
    }

    /// The middle of a number of threads.
    fn column(&self, at: usize) -> f64 {
        LEFT + self.step() * (at as f64 + 0.5)
    }

    fn step(&self) -> f64 {
        (RIGHT - LEFT) / self.threads.len().max(1) as f64
    }

    fn x(&self, line: &Line, threads: usize) -> f64 {
        let at = self.threads.iter().position(|&n| n == threads);
        self.column(at.unwrap_or(0)) + line.aside
    }

    /// Where the name of a line wants to be, and where the line ends.
    fn end(&self, line: &Line) -> (f64, f64) {
        let middle = (RIGHT, (TOP + self.bottom) / 2.0);
        line.points.last().map_or(middle, |(point, figure)| {
            let x = if is_level(line) {
                RIGHT
            } else {
                self.x(line, point.threads)
            };
            (x, self.scale.at(figure.median))
        })
    }

    fn shade(&self, out: &mut String) {
        let over: Vec<_> = self
            .threads
            .iter()
            .map(|&n| is_oversubscribed(self.scenario, n))
            .collect();
        let mut at = 0;
        while at < over.len() {
            let run = over[at..].iter().take_while(|&&over| over).count();
            if run > 0 {
                let x = LEFT + self.step() * at as f64;
                let (width, height) = (self.step() * run as f64, self.bottom - TOP + 19.0);
                let y = TOP - 19.0;
                put!(
                    out,
                    "<rect class=\"over\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\n\
                     <text class=\"note\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">more threads than processors</text>\n",
                    x + width - 7.0,
                    TOP - 5.0,
                );
            }
            at += run.max(1);
        }
    }

    fn axes(&self, out: &mut String) {
        put!(
            out,
            "<text class=\"axis\" x=\"4\" y=\"15\">Time per operation \
             <tspan class=\"note\">(logarithmic; lower is better)</tspan></text>\n"
        );
        for (value, labelled) in self.scale.ticks() {
            let y = self.scale.at(value);
            let class = if labelled { "grid" } else { "grid faint" };
            put!(
                out,
                "<path class=\"{class}\" d=\"M{LEFT},{y:.1}H{RIGHT}\"/>\n"
            );
            if labelled {
                let (x, y) = (LEFT - 8.0, y + 4.5);
                let label = tick(value);
                put!(
                    out,
                    "<text text-anchor=\"end\" x=\"{x}\" y=\"{y:.1}\">{label}</text>\n"
                );
            }
        }
        for (at, threads) in self.threads.iter().enumerate() {
            let (x, y) = (self.column(at), self.bottom);
            put!(
                out,
                "<path class=\"grid\" d=\"M{x:.1},{y:.1}v5\"/>\n\
                 <text text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{threads}</text>\n",
                y + 20.0
            );
        }
        put!(
            out,
            "<text class=\"axis\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">threads</text>\n",
            f64::midpoint(LEFT, RIGHT),
            self.bottom + 40.0
        );
    }

    fn line(&self, out: &mut String, line: &Line) {
        let name = escape(&line.series.implementation);
        put!(
            out,
            "<g class=\"line {}\" data-implementation=\"{name}\" data-points=\"{}\">\n",
            line.look.class(),
            line.points.len()
        );
        let at = |(point, figure): &(&Point, Figure)| {
            let x = self.x(line, point.threads);
            format!("{x:.1},{:.1}", self.scale.at(figure.median))
        };
        let mut path: Vec<_> = line.points.iter().map(at).collect();
        if is_level(line) {
            let y = self.scale.at(line.points[0].1.median);
            path = vec![format!("{LEFT},{y:.1}"), format!("{RIGHT},{y:.1}")];
        }
        if path.len() > 1 {
            put!(out, "<path class=\"path\" d=\"M{}\"/>\n", path.join("L"));
        }
        for (point, figure) in &line.points {
            let x = self.x(line, point.threads);
            let y = self.scale.at(figure.median);
            let (low, high) = (self.scale.at(figure.low), self.scale.at(figure.high));
            put!(
                out,
                "<path class=\"whisker\" d=\"M{:.1},{low:.1}h6m-3,0V{high:.1}m-3,0h6\"/>\n\
                 <path class=\"marker\" d=\"{}\"><title>{name}, {}: {} {}</title></path>\n",
                x - 3.0,
                line.look.marker(x, y),
                counted(point.threads, "thread"),
                time(figure.median),
                spread(*figure),
            );
        }
        out.push_str("</g>\n");
    }

    /// The names, none above another, each with a thin line to what it names.
    fn names(&self, out: &mut String) {
        let named: Vec<_> = self.lines.iter().filter(|l| !l.points.is_empty()).collect();
        let ends: Vec<_> = named.iter().map(|line| self.end(line)).collect();
        let wanted: Vec<_> = ends.iter().map(|&(_, y)| y).collect();
        let places = apart(&wanted, NAME_GAP, TOP, self.bottom);
        out.push_str("<g class=\"names\">\n");
        for ((line, (x, y)), place) in named.iter().zip(ends).zip(places) {
            let name = escape(&shortened(&line.series.implementation, MOST_NAME));
            let from = if is_level(line) {
                x + 4.0
            } else {
                x + line.look.radius() + 4.0
            };
            put!(
                out,
                "<g class=\"{}\"><path class=\"leader\" d=\"M{from:.1},{y:.1}H{:.1}L{:.1},{place:.1}H{:.1}\"/>\n\
                 <path class=\"marker\" d=\"{}\"/>\n\
                 <text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{name}</text></g>\n",
                line.look.class(),
                RIGHT.max(from),
                NAMES - 17.0,
                NAMES - 12.0,
                line.look.marker(NAMES - 3.0, place),
                NAMES + 8.0,
                place + 4.5,
            );
        }
        out.push_str("</g>\n");
    }

    /// What a reader hears who does not see it.
    fn description(&self) -> String {
        let threads: Vec<_> = self.threads.iter().map(ToString::to_string).collect();
        let mut text = format!(
            "Median time of one operation with {} threads. ",
            list(&threads)
        );
        for line in &self.lines {
            let times = line.points.iter();
            let times: Vec<_> = times.map(|(_, figure)| time(figure.median)).collect();
            put!(text, "{}: {}. ", line.series.implementation, list(&times));
        }
        text
    }
}

/// A single-threaded reference is a line to be compared with, not a point.
fn is_level(line: &Line) -> bool {
    line.series.role == Role::Reference && line.points.len() == 1
}

fn drawable(series: &Series) -> Vec<(&Point, Figure)> {
    let points = series.points.iter();
    points
        .filter_map(|point| sound(point.time).map(|figure| (point, figure)))
        .collect()
}

/// The drawing, the list of names, and what is missing in it. `index` is which chart of
/// the page it is.
pub fn figure(scenario: &Scenario, looks: &Looks, index: usize) -> String {
    let plot = Plot::of(scenario, looks);
    let mut out = String::from("<figure>\n");
    put!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" data-scenario=\"{}\" \
         aria-labelledby=\"chart-{index}-title chart-{index}-desc\" viewBox=\"0 0 {WIDTH} {}\">\n\
         <title id=\"chart-{index}-title\">{}: time per operation by number of threads</title>\n\
         <desc id=\"chart-{index}-desc\">{}</desc>\n",
        escape(&scenario.id),
        plot.bottom + BELOW,
        escape(&scenario.title),
        escape(&plot.description()),
    );
    plot.shade(&mut out);
    plot.axes(&mut out);
    // Ours last, above all others.
    let is_ours = |line: &&Line| line.series.role == Role::Ours;
    for line in plot.lines.iter().filter(|line| !is_ours(line)) {
        plot.line(&mut out, line);
    }
    for line in plot.lines.iter().filter(is_ours) {
        plot.line(&mut out, line);
    }
    plot.names(&mut out);
    out.push_str("</svg>\n<figcaption>\n<ul class=\"legend\">\n");
    for line in &plot.lines {
        put!(
            out,
            "<li>{} {}</li>\n",
            mark(line.look),
            escape(&line.series.implementation)
        );
    }
    out.push_str("</ul>\n");
    let all = scenario.series.iter().map(|series| series.points.len());
    let drawn = plot.lines.iter().map(|line| line.points.len());
    let missing = all.sum::<usize>() - drawn.sum::<usize>();
    if missing > 0 {
        put!(
            out,
            "<p class=\"missing\">{} not drawn: no usable figure. The table has them.</p>\n",
            counted(missing, "point")
        );
    }
    out.push_str("</figcaption>\n</figure>\n");
    out
}

/// The marker of an implementation, in text.
pub fn mark(look: Look) -> String {
    format!(
        "<span class=\"mark {}\" aria-hidden=\"true\">{}</span>",
        look.class(),
        look.character()
    )
}
