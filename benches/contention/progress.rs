//! Where a run is, and how long it will take: on standard error.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

pub struct Progress {
    /// One line that is written over.
    terminal: bool,
    steps: usize,
    step: usize,
    /// What the steps are thought to take, in any unit.
    weight: f64,
    done: f64,
    start: Instant,
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

impl Progress {
    pub fn new(steps: usize, weight: f64) -> Self {
        Self {
            terminal: stderr().is_terminal(),
            steps,
            step: 0,
            weight,
            done: 0.0,
            start: Instant::now(),
        }
    }

    /// A step begins, and what came before has ended.
    pub fn step(&mut self, what: &str) {
        self.step += 1;
        let mut line = format!("[{}/{}] {what}", self.step, self.steps);
        if self.done > 0.0 {
            let left = (self.weight - self.done).max(0.0) / self.done;
            let left = self.start.elapsed().mul_f64(left);
            line += &format!("; about {} left", minutes(left));
        }
        if self.terminal {
            eprint!("\r\x1b[K{line}");
            // It is a display only.
            let _ = stderr().flush();
        } else {
            eprintln!("{line}");
        }
    }

    /// So much of the weight is done.
    pub fn advance(&mut self, weight: f64) {
        self.done += weight;
    }

    /// Makes room for what is written elsewhere.
    pub fn clear(&self) {
        if self.terminal {
            eprint!("\r\x1b[K");
            let _ = stderr().flush();
        }
    }
}
