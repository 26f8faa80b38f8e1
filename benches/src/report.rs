//! The results of a run as a page, which needs neither network nor scripts, so that it can be opened, sent and
//! kept as a file; and what docs/PERFORMANCE.md and its chart show of benches/TABLE.md.

use crate::markdown::{TITLES, cells, summary};
use crate::results::Results;

const STYLE: &str = "body { font: 14px sans-serif } td, th { padding: 3px 8px; text-align: left; vertical-align: top } \
                     tr:nth-child(even) { background: #8882 }";

fn element(name: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!("<{name}>{text}</{name}>\n")
}

fn row(cell: &str, texts: &[impl AsRef<str>]) -> String {
    let cells = texts.iter().map(|text| element(cell, text.as_ref()));
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

/// Returns the page.
pub fn html(results: &Results) -> String {
    let quick = match results.quick {
        true => element("p", "A quick run: its figures are not reliable."),
        false => String::new(),
    };
    let facts = results.machine.iter().map(|fact| element("li", fact));
    let rows = results
        .rows
        .iter()
        .map(|measured| row("td", &cells(measured)));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>releasepool: benchmarks</title>\n\
         <style>{STYLE}</style>\n<h1>releasepool and its alternatives</h1>\n{quick}<ul>{}</ul>\n{}\
         <table>{}{}</table></html>\n",
        facts.collect::<String>(),
        element("p", &summary(results)),
        row("th", &TITLES),
        rows.collect::<String>(),
    )
}

/// The text before the rows of the first table in docs/PERFORMANCE.md, and the text after them.
const ABOVE: &str = "\n|---|---|---|---|\n";
const BELOW: &str = "\n\n";

/// Where the bars of the chart begin, and how long a factor of two is.
const ONE: f64 = 400.0;
const TWICE: f64 = 44.0;

/// Returns docs/PERFORMANCE.md with the figures of benches/TABLE.md, and a chart of these figures.
///
/// Each row of the page's first table names a row of that table: the title, then `, 2 threads` if
/// there are two, and alternatives, each with its figure.
///
/// # Errors
/// If the page has no such table, or `table` lacks a row or an alternative.
pub fn choices(page: &str, table: &str) -> Result<(String, String), String> {
    let split = page.split_once(ABOVE);
    let split = split.and_then(|(above, rest)| Some((above, rest.split_once(BELOW)?)));
    let (above, (rows, below)) = split.ok_or("the page has no table")?;
    let (mut text, mut bars, mut y) = (format!("{above}{ABOVE}"), String::new(), 20);
    for row in rows.lines() {
        let [_, work, sides, rest] = row.splitn(4, '|').collect::<Vec<_>>()[..] else {
            return Err(format!("no row: {row}"));
        };
        let head = element("text", work.trim());
        bars += &head.replace("<text>", &format!("<text x=\"8\" y=\"{}\">", y + 22));
        let mut renewed = Vec::new();
        for side in sides.trim().split("; ") {
            let name = side.rsplit_once(' ').map_or(side, |(name, _)| name);
            let figure = figure(table, work.trim(), name)
                .ok_or_else(|| format!("no row {work}, or no {name} in it"))?;
            y += 16;
            bars += &bar(y + 22, name, figure);
            renewed.push(format!("{name} {figure}"));
        }
        y += 26;
        text += &format!("|{work}| {} |{rest}\n", renewed.join("; "));
    }
    let height = y + 10;
    let chart = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"800\" height=\"{height}\" fill=\"white\"/>\n\
         <path d=\"M{ONE} 24V{height}\" stroke=\"gray\"/>\n<text x=\"8\" y=\"18\" fill=\"gray\">How many times as \
         long the alternative takes. To the left of the line, releasepool is behind. The scale is logarithmic.</text>\n{bars}</svg>\n"
    );
    Ok((format!("{}{BELOW}{below}", text.trim_end()), chart))
}

/// Returns how many times as long an alternative takes, according to `table`.
fn figure<'t>(table: &'t str, work: &str, name: &str) -> Option<&'t str> {
    let two = work.strip_suffix(", 2 threads");
    let (title, threads) = two.map_or((work, "1"), |title| (title, "2"));
    let others = table.lines().find_map(|line| {
        let [first, on, _, _, others, ..] = line.split(" | ").collect::<Vec<_>>()[..] else {
            return None;
        };
        let before = first.strip_suffix(title)?;
        let is_it = before == "| " || before.ends_with(": ");
        (is_it && on.split(',').next() == Some(threads)).then_some(others)
    });
    let figures = others?
        .split("; ")
        .filter_map(|side| side.strip_prefix(name));
    figures
        .map(str::trim)
        .find(|rest| rest.parse::<f64>().is_ok())
}

/// Returns a bar, to the right if the alternative takes longer.
fn bar(y: i32, name: &str, figure: &str) -> String {
    let length = TWICE * figure.parse().map_or(0.0, f64::log2);
    let (x, color) = match length {
        behind if behind < 0.0 => (ONE + behind, "#d07010"),
        _ => (ONE, "#2060a0"),
    };
    format!(
        "<text x=\"{:.0}\" y=\"{y}\" text-anchor=\"end\">{name}</text>\
         <rect x=\"{x:.0}\" y=\"{}\" width=\"{:.0}\" height=\"12\" fill=\"{color}\"/>\
         <text x=\"{:.0}\" y=\"{y}\">{figure}</text>\n",
        ONE - 2.2 * TWICE,
        y - 11,
        length.abs(),
        ONE + length.max(0.0) + 5.0,
    )
}
