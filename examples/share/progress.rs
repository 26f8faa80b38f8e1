//! What goes on, on standard error while it does.

use crate::output::{complain, grouped, rate, short_time, shown_rate};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// As they are now.
pub struct Figures {
    pub documents: u64,
    pub frames: u64,
    pub frame_time: Duration,
    pub queue: u64,
    pub live: u64,
}

enum Mode {
    Quiet,
    /// A terminal: one line, written anew.
    Rewritten,
    /// A file or pipe: a line now and then.
    Lines,
}

pub struct Progress {
    mode: Mode,
    start: Instant,
    /// When the display was last written, and how many documents there were.
    last: (Instant, u64),
    /// Characters on the line that is to be rewritten.
    width: usize,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        let mode = if quiet {
            Mode::Quiet
        } else if io::stderr().is_terminal() {
            Mode::Rewritten
        } else {
            Mode::Lines
        };
        let now = Instant::now();
        Self {
            mode,
            start: now,
            last: (now, 0),
            width: 0,
        }
    }

    /// From now on it is about something new.
    pub fn restart(&mut self) {
        let now = Instant::now();
        self.start = now;
        self.last = (now, 0);
    }

    /// Shows the figures, if it is time to. Asked in every frame.
    pub fn update(&mut self, figures: impl FnOnce() -> Figures) {
        let interval = match self.mode {
            Mode::Quiet => return,
            Mode::Rewritten => Duration::from_millis(100),
            Mode::Lines => Duration::from_secs(1),
        };
        let now = Instant::now();
        let since = now - self.last.0;
        if since < interval {
            return;
        }
        let figures = figures();
        let line = format!(
            "{:4.1} s  {} documents ({}/s)  frame {} ({})  queue {}  {} live objects",
            (now - self.start).as_secs_f64(),
            grouped(figures.documents),
            shown_rate(rate(figures.documents - self.last.1, since)),
            grouped(figures.frames),
            short_time(figures.frame_time),
            figures.queue,
            grouped(figures.live),
        );
        self.last = (now, figures.documents);
        self.write(&line);
    }

    /// Says what is done now.
    pub fn note(&mut self, line: &str) {
        self.write(line);
    }

    /// The same, if it is not worth a line of its own.
    pub fn detail(&mut self, line: &str) {
        if let Mode::Rewritten = self.mode {
            self.rewrite(line);
        }
    }

    /// Leaves the terminal's line empty, for others to write on.
    pub fn clear(&mut self) {
        if self.width > 0 {
            self.rewrite("");
        }
    }

    fn write(&mut self, line: &str) {
        match self.mode {
            Mode::Quiet => {}
            Mode::Rewritten => self.rewrite(line),
            Mode::Lines => complain(line),
        }
    }

    fn rewrite(&mut self, line: &str) {
        let mut err = io::stderr();
        let _ = write!(err, "\r{line:<0$}", self.width);
        if line.is_empty() {
            let _ = write!(err, "\r");
        }
        let _ = err.flush();
        self.width = line.chars().count();
    }
}
