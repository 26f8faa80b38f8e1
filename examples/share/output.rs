//! Tables, and figures with their units.

use releasepool_examples_common::output::grouped;
use std::fmt;
use std::time::Duration;

/// Rows of cells. The first column is aligned to the left, the others to the right.
#[derive(Default)]
pub struct Table(Vec<Vec<String>>);

impl Table {
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.0.push(cells.into_iter().map(Into::into).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.0.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.0.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.0 {
            write!(f, "  {:<1$}", row[0], widths[0])?;
            for (cell, width) in row.iter().zip(&widths).skip(1) {
                write!(f, "  {cell:>width$}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Returns how many there were per second, or 0 if no time has passed.
pub fn rate(n: u64, time: Duration) -> f64 {
    if time.is_zero() {
        return 0.0;
    }
    n as f64 / time.as_secs_f64()
}

/// Formats a rate: rates below 100 with a decimal place, others without.
pub fn shown_rate(rate: f64) -> String {
    if rate < 100.0 {
        format!("{rate:.1}")
    } else {
        grouped(rate.round() as u64)
    }
}

/// Formats a count in six characters at most: 9999, 10k, 1234M.
pub fn short_count(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..10_000_000 => format!("{}k", n / 1_000),
        10_000_000..10_000_000_000 => format!("{}M", n / 1_000_000),
        _ => format!("{}G", (n / 1_000_000_000).min(9_999)),
    }
}

/// Formats a time in microseconds or milliseconds.
pub fn short_time(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    if millis < 0.1 {
        format!("{:.1} µs", millis * 1e3)
    } else {
        format!("{millis:.2} ms")
    }
}

/// Formats a number of bytes in bytes, kB or MB.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Formats a count of things: "1 document", "2 documents".
pub fn counted(n: u64, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(n))
}
