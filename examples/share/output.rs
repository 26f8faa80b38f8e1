//! Standard output and error, either of which may go away, and tables.

use crate::error::Error;
use std::io::{self, ErrorKind, Write};
use std::time::Duration;

/// Standard output. If its reader has gone, the rest is not said, and that is no
/// error: the exit code still tells how the run went.
pub struct Output {
    closed: bool,
}

impl Output {
    pub fn new() -> Self {
        Self { closed: false }
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    pub fn say(&mut self, text: &str) -> Result<(), Error> {
        if self.closed {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            other => other.map_err(Error::Output),
        }
    }
}

/// A line on standard error. Where even that is closed, there is nobody to tell.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Rows of cells, the first left and the others right aligned.
#[derive(Default)]
pub struct Table(Vec<Vec<String>>);

impl Table {
    pub fn row<const N: usize>(&mut self, cells: [impl Into<String>; N]) {
        self.0.push(cells.into_iter().map(Into::into).collect());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

/// 1234567 as "1,234,567".
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many in this time, per second.
pub fn rate(n: u64, time: Duration) -> f64 {
    if time.is_zero() {
        return 0.0;
    }
    n as f64 / time.as_secs_f64()
}

/// A rate, with as many digits as make sense.
pub fn shown_rate(rate: f64) -> String {
    if rate < 100.0 {
        format!("{rate:.1}")
    } else {
        grouped(rate.round() as u64)
    }
}

pub fn short_time(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    if millis < 0.1 {
        format!("{:.1} µs", millis * 1e3)
    } else {
        format!("{millis:.2} ms")
    }
}

pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// "1 document", "2 documents".
pub fn counted(n: u64, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(n))
}
