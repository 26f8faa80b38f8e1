//! The progress display, on standard error.

use crate::output::{rate, short_count, short_time};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// One line, which is rewritten; nothing if it is quiet, or standard error is no terminal.
pub struct Progress {
    bar: ProgressBar,
    quiet: bool,
    start: Instant,
    last_update: Instant,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        let now = Instant::now();
        Self {
            bar: bar(quiet),
            quiet,
            start: now,
            last_update: now,
        }
    }

    /// Shows figures if enough time has passed since the last update: documents, the time of the last
    /// frame, and live objects. Called in every frame.
    pub fn update(&mut self, documents: u64, frame: Duration, live: u64) {
        if self.last_update.elapsed() >= Duration::from_millis(100) {
            self.note(&line(self.start.elapsed(), documents, frame, live));
            self.last_update = Instant::now();
        }
    }

    /// Shows what is done now.
    pub fn note(&self, line: &str) {
        self.bar.set_message(line.to_owned());
    }

    /// Removes the display from the terminal, so that other output can follow.
    pub fn clear(&mut self) {
        self.bar.finish_and_clear();
        self.bar = bar(self.quiet);
    }
}

/// Returns the figures in a line that fits a terminal of 80 columns.
fn line(elapsed: Duration, documents: u64, frame: Duration, live: u64) -> String {
    format!(
        "{:4.1} s  {} documents, {}/s  frame {}  {} live",
        elapsed.as_secs_f64(),
        short_count(documents),
        short_count(rate(documents, elapsed) as u64),
        short_time(frame.min(Duration::from_secs(9))),
        short_count(live),
    )
}

/// Makes a display that consists of one line of text.
fn bar(quiet: bool) -> ProgressBar {
    let target = match quiet {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    };
    let bar = ProgressBar::with_draw_target(None, target);
    bar.with_style(ProgressStyle::with_template("{wide_msg}").expect("the template is valid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_80_columns() {
        let line = line(
            Duration::from_millis(86_400_123),
            u64::MAX,
            Duration::MAX,
            u64::MAX,
        );
        assert!(line.chars().count() < 80, "{line}");
    }
}
