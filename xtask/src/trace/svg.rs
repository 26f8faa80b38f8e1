//! A trace as a picture: a row for each thread, frames above their drains.

use super::{Kind, Span, Trace, Track};
use std::fmt::Write;
use std::ops::Range;

const WIDTH: f64 = 960.0;
/// Where time begins, right of the names of the threads.
const LEFT: f64 = 96.0;
const RIGHT: f64 = 16.0;
/// Where the first thread begins, below the legend and the axis.
const TOP: f64 = 68.0;
/// The height of a span, and from one to the next.
const LANE: f64 = 24.0;
const STEP: f64 = 26.0;
/// The room between two threads.
const GAP: f64 = 18.0;
/// Spans that are narrower are drawn together with their neighbors.
const NARROW: f64 = 2.0;
/// The room that a character takes.
const CHARACTER: f64 = 7.2;

// The class `trace` keeps the rules from a page that contains the picture.
const STYLE: &str = "\
.trace text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.trace .back { fill: #ffffff }
.trace .thread { font-weight: 600 }
.trace .time, .trace .note { fill: #59636e }
.trace .grid { stroke: #d1d9e0 }
.trace .frame { fill: #b6d7ff; stroke: #2f6fb5 }
.trace .drain { fill: #ffc9a3; stroke: #b5581c }
@media (prefers-color-scheme: dark) {
  .trace text { fill: #e6edf3 }
  .trace .back { fill: #0d1117 }
  .trace .time, .trace .note { fill: #9ba5b0 }
  .trace .grid { stroke: #343b44 }
  .trace .frame { fill: #1d4678; stroke: #6aa9f0 }
  .trace .drain { fill: #7a3b12; stroke: #f0975a }
}
.trace .thin { stroke: none }
.trace .many { stroke: none; fill-opacity: 0.5 }";

/// From milliseconds to the picture.
struct Scale(Range<f64>);

impl Scale {
    fn x(&self, time: f64) -> f64 {
        let part = (time - self.0.start) / (self.0.end - self.0.start);
        LEFT + part.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn shows(&self, span: &Span) -> bool {
        span.end >= self.0.start && span.begin <= self.0.end
    }
}

/// A mark to be drawn: a span, or several that are narrow and side by side.
struct Mark {
    kind: Kind,
    left: f64,
    right: f64,
    /// How many spans it stands for.
    spans: usize,
    name: String,
    released: u64,
    /// How long these took, in milliseconds.
    time: f64,
}

/// Draws what is in the window; by default, all.
pub fn draw(trace: &Trace, window: Option<Range<f64>>) -> Result<String, String> {
    let spans = || trace.tracks.iter().flat_map(|track| &track.spans);
    let window = window.unwrap_or_else(|| {
        let begin = spans().map(|span| span.begin).fold(f64::INFINITY, f64::min);
        let end = spans().map(|span| span.end).fold(0.0, f64::max);
        begin..end
    });
    if window.is_empty() || !spans().any(|span| Scale(window.clone()).shows(span)) {
        return Err("there is nothing to draw".to_owned());
    }
    let scale = Scale(window);
    let mut body = String::new();
    let mut y = TOP;
    for track in &trace.tracks {
        let lanes = lanes(track);
        row(&mut body, track, lanes, &scale, y);
        y += lanes as f64 * STEP + GAP;
    }
    let height = y;
    let mut picture = format!(
        "<svg class=\"trace\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" style=\"max-width:100%;height:auto\">\n\
         <title>Frames and drains of each thread, over time</title>\n<style>\n{STYLE}\n</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\"/>\n"
    );
    legend(&mut picture);
    axis(&mut picture, &scale, height - GAP / 2.0);
    picture += &body;
    picture += "</svg>\n";
    Ok(picture)
}

/// Returns how many lanes a thread has.
fn lanes(track: &Track) -> usize {
    let depths = track.spans.iter().map(|span| span.depth + 1);
    depths.max().unwrap_or(1)
}

fn legend(out: &mut String) {
    let entries = [
        ("frame", "a frame of the UI thread's loop", LEFT),
        (
            "drain",
            "a drain of a pool, with the entries it released",
            LEFT + 250.0,
        ),
        ("drain many", "many short ones", LEFT + 600.0),
    ];
    for (class, text, x) in entries {
        line(
            out,
            &format!(
                "<rect class=\"{class}\" x=\"{x}\" y=\"8\" width=\"18\" height=\"16\" rx=\"2\"/>"
            ),
        );
        line(
            out,
            &format!(
                "<text class=\"note\" x=\"{}\" y=\"21\">{text}</text>",
                x + 26.0
            ),
        );
    }
}

/// Lines at round times, from the beginning of the window.
fn axis(out: &mut String, scale: &Scale, bottom: f64) {
    let length = scale.0.end - scale.0.start;
    let step = step(length);
    for nth in 0..=(length / step) as usize {
        let time = nth as f64 * step;
        let x = scale.x(scale.0.start + time);
        line(
            out,
            &format!("<path class=\"grid\" d=\"M{x:.1} 52V{bottom:.1}\"/>"),
        );
        let (anchor, unit) = match nth {
            0 => ("start", " ms"),
            _ if x > WIDTH - RIGHT - 20.0 => ("end", ""),
            _ => ("middle", ""),
        };
        line(
            out,
            &format!(
                "<text class=\"time\" x=\"{x:.1}\" y=\"46\" text-anchor=\"{anchor}\">{time}{unit}</text>"
            ),
        );
    }
}

/// Returns a round step with which the axis has some five to ten lines.
fn step(length: f64) -> f64 {
    let rough = length / 8.0;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|f| f * power >= rough);
    factor.unwrap_or(10.0) * power
}

fn row(out: &mut String, track: &Track, lanes: usize, scale: &Scale, y: f64) {
    let middle = y + LANE / 2.0 + 5.0;
    let thread = escape(&track.thread);
    line(
        out,
        &format!("<text class=\"thread\" x=\"8\" y=\"{middle}\">{thread}</text>"),
    );
    for lane in 0..lanes {
        let y = y + lane as f64 * STEP;
        for mark in marks(track, lane, scale) {
            draw_mark(out, &mark, y);
        }
    }
}

/// Returns what is drawn in one lane.
fn marks(track: &Track, lane: usize, scale: &Scale) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let shown = |span: &&Span| span.depth == lane && scale.shows(span);
    for span in track.spans.iter().filter(shown) {
        let (left, right) = (scale.x(span.begin), scale.x(span.end));
        let is_narrow = |left: f64, right: f64| right - left < NARROW;
        if let Some(last) = marks.last_mut() {
            let joins = last.spans > 1 || is_narrow(last.left, last.right);
            if joins
                && last.kind == span.kind
                && is_narrow(left, right)
                && is_narrow(last.right, left)
            {
                last.right = right;
                last.spans += 1;
                last.released += span.released;
                last.time += span.length();
                continue;
            }
        }
        marks.push(Mark {
            kind: span.kind,
            left,
            right,
            spans: 1,
            name: span.name.clone(),
            released: span.released,
            time: span.length(),
        });
    }
    marks
}

fn draw_mark(out: &mut String, mark: &Mark, y: f64) {
    let (kind, many) = match mark.kind {
        Kind::Frame => ("frame", "frames"),
        Kind::Drain => ("drain", "drains"),
    };
    // A mark of less than a pixel is drawn as one pixel.
    let width = (mark.right - mark.left).max(1.0);
    let class = match mark.spans {
        2.. => format!("{kind} many"),
        _ if width < 3.0 => format!("{kind} thin"),
        _ => kind.to_owned(),
    };
    let (spans, released) = (grouped(mark.spans as u64), grouped(mark.released));
    let name = escape(&mark.name);
    let subject = match mark.kind {
        _ if mark.spans > 1 => format!("{spans} {many}"),
        Kind::Frame => format!("frame {name}"),
        Kind::Drain => format!("drain of pool {name}"),
    };
    let tip = format!(
        "{subject}: {:.3} ms, {released} entries released",
        mark.time
    );
    line(
        out,
        &format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{LANE}\" \
             rx=\"{}\"><title>{tip}</title></rect>",
            mark.left,
            if width < 6.0 { 0 } else { 2 },
        ),
    );
    let labels = match mark.kind {
        _ if mark.spans > 1 => [subject, spans],
        Kind::Frame => [subject, name],
        Kind::Drain => [format!("{name}: {released}"), released],
    };
    let fits = |label: &String| label.chars().count() as f64 * CHARACTER + 6.0 <= width;
    if let Some(label) = labels.into_iter().find(fits) {
        let (x, y) = (mark.left + width / 2.0, y + LANE / 2.0 + 5.0);
        line(
            out,
            &format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>"),
        );
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("a string takes all");
}

/// Formats 1234567 as "1,234,567".
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let (first, rest) = digits.split_at((digits.len() - 1) % 3 + 1);
    let rest = rest.as_bytes().chunks(3).map(String::from_utf8_lossy);
    rest.fold(first.to_owned(), |text, group| format!("{text},{group}"))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::{parse, tests::TRACE};
    use super::*;

    #[test]
    fn threads_frames_and_drains_are_drawn() {
        let picture = draw(&parse(TRACE).unwrap(), None).unwrap();
        for part in [
            ">main</text>",
            ">worker</text>",
            ">frame 3</text>",
            ">frame: 12</text>",
            "<title>drain of pool a&lt;b: 6.000 ms, 1 entries released</title>",
            "prefers-color-scheme: dark",
            ">0 ms</text>",
        ] {
            assert!(picture.contains(part), "{part} in {picture}");
        }
        assert!(!picture.contains("a<b"));
        // A page of Markdown may contain it.
        assert!(!picture.contains("\n\n"));
        // The drain is in the lane below its frame's.
        let y = |title: &str| {
            let rect = picture.lines().find(|line| line.contains(title)).unwrap();
            let y = rect.split("y=\"").nth(1).unwrap();
            y.split('"').next().unwrap().parse::<f64>().unwrap()
        };
        assert_eq!(y("drain of pool frame") - y("<title>frame 3"), STEP);
    }

    #[test]
    fn a_window_shows_what_is_in_it() {
        let trace = parse(TRACE).unwrap();
        let picture = draw(&trace, Some(6.0..8.0)).unwrap();
        assert!(!picture.contains("frame 3"), "{picture}");
        assert!(picture.contains("a&lt;b"), "{picture}");
        for empty in [20.0..30.0, 2.0..2.0] {
            assert!(draw(&trace, Some(empty)).is_err());
        }
    }

    #[test]
    fn narrow_spans_side_by_side_are_drawn_as_one() {
        let span = |begin: f64, end: f64| Span {
            kind: Kind::Drain,
            begin,
            end,
            depth: 0,
            name: "p".to_owned(),
            released: 2,
        };
        let mut spans: Vec<_> = (0..100)
            .map(|n| span(f64::from(n) * 0.1, f64::from(n) * 0.1 + 0.01))
            .collect();
        spans.push(span(500.0, 900.0));
        spans.push(span(999.0, 1_000.0));
        let track = Track {
            thread: "t".to_owned(),
            spans,
        };
        let marks = marks(&track, 0, &Scale(0.0..1_000.0));
        let counts: Vec<_> = marks
            .iter()
            .map(|mark| (mark.spans, mark.released))
            .collect();
        assert_eq!(counts, [(100, 200), (1, 2), (1, 2)]);
        assert!((marks[0].time - 1.0).abs() < 1e-6);
    }

    #[test]
    fn numbers_are_grouped() {
        let texts = [0, 12, 999, 1_000, 123_456, 1_234_567].map(grouped);
        let wanted = ["0", "12", "999", "1,000", "123,456", "1,234,567"];
        assert_eq!(texts, wanted);
    }

    #[test]
    fn steps_of_the_axis_are_round() {
        let steps = [0.8, 8.0, 10.0, 30.0, 100.0, 1_000.0].map(step);
        assert_eq!(steps, [0.1, 1.0, 2.0, 5.0, 20.0, 200.0]);
    }
}
