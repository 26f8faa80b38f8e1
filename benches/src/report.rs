//! The results of a run as a page. It needs neither network nor scripts, so that it can be opened, sent and
//! kept as a file.

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
