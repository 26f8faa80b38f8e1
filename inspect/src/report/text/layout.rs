//! Lays text out: lines, paragraphs, tables, and numbers.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::fmt::{Display, Write};

/// The width that all text fits into, except for names that are longer.
pub const WIDTH: usize = 80;

/// Text that is being laid out.
#[derive(Default)]
pub(super) struct Page(pub(super) String);

impl Page {
    pub(super) fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.0, "{line}");
    }

    /// Adds a paragraph that begins with `first`; its other lines are indented by `first`'s width.
    pub(super) fn wrap(&mut self, first: &str, paragraph: &str) {
        let indent = " ".repeat(first.chars().count());
        let options = textwrap::Options::new(WIDTH)
            .initial_indent(first)
            .subsequent_indent(&indent)
            .break_words(false);
        self.line(textwrap::fill(paragraph, options));
    }

    /// Adds a table with these titles; all but the first `texts` columns are numbers.
    pub(super) fn table<const N: usize>(
        &mut self,
        titles: [&str; N],
        texts: usize,
        rows: impl IntoIterator<Item = [String; N]>,
    ) {
        let mut table = Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(WIDTH as u16)
            .set_header(titles)
            .add_rows(rows);
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if at >= texts {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            self.line(line.trim_end());
        }
    }

    /// Adds a line with how many `what` are not shown, if there are any.
    pub(super) fn rest(&mut self, all: usize, shown: usize, what: &str) {
        if all > shown {
            self.line(format_args!("{} {what}; --limit shows more", all - shown));
        }
    }
}

/// Returns a number of bytes with a unit.
pub fn bytes(n: u64) -> String {
    let mut size = n as f64;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for next in units {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, next);
    }
    match unit {
        "B" => format!("{n} B"),
        unit => format!("{size:.1} {unit}"),
    }
}

/// Returns a number with commas between thousands.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number and a noun.
pub(super) fn count(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", number(n))
}

/// Returns a difference with its sign.
pub(super) fn signed([before, after]: [u64; 2]) -> String {
    let sign = if after < before { "-" } else { "+" };
    format!("{sign}{}", number(after.abs_diff(before)))
}
