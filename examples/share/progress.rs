//! The progress display, on standard error.

use crate::output::{rate, short_count, short_time};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// The figures that are displayed.
pub struct Figures {
    pub documents: u64,
    pub frame_time: Duration,
    /// Documents that wait for the UI thread.
    pub waiting: u64,
    pub live: u64,
}

/// One line, which is rewritten; nothing if it is quiet, or standard error is no terminal.
pub struct Progress {
    bar: ProgressBar,
    quiet: bool,
    start: Instant,
    last_update: Instant,
    last_documents: u64,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        let now = Instant::now();
        Self {
            bar: bar(quiet),
            quiet,
            start: now,
            last_update: now,
            last_documents: 0,
        }
    }

    /// Counts time and documents from zero again.
    pub fn restart(&mut self) {
        self.start = Instant::now();
        self.last_update = self.start;
        self.last_documents = 0;
    }

    /// Shows the figures if enough time has passed since the last update. Called in every frame.
    pub fn update(&mut self, figures: impl FnOnce() -> Figures) {
        let since = self.last_update.elapsed();
        if self.bar.is_hidden() || since < Duration::from_millis(100) {
            return;
        }
        let figures = figures();
        let documents = figures.documents - self.last_documents;
        self.note(&line(
            self.start.elapsed(),
            &figures,
            rate(documents, since),
        ));
        self.last_update = Instant::now();
        self.last_documents = figures.documents;
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
fn line(elapsed: Duration, figures: &Figures, documents_per_second: f64) -> String {
    let frame_time = figures.frame_time.min(Duration::from_secs(9));
    format!(
        "{:4.1} s  {} documents, {}/s  frame {}  {} queued  {} live",
        elapsed.as_secs_f64(),
        short_count(figures.documents),
        short_count(documents_per_second as u64),
        short_time(frame_time),
        short_count(figures.waiting),
        short_count(figures.live),
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
        let figures = Figures {
            documents: u64::MAX,
            frame_time: Duration::MAX,
            waiting: u64::MAX,
            live: u64::MAX,
        };
        let line = line(Duration::from_secs(86_400), &figures, f64::MAX);
        assert!(line.chars().count() < 80, "{line}");
    }
}
