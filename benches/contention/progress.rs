//! The progress display, on standard error.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line on a terminal that is rewritten, or a line for each step elsewhere. The line has no timer
/// of its own, which would disturb the measurements.
pub struct Progress {
    bar: ProgressBar,
    steps: usize,
    step: usize,
}

impl Progress {
    /// Creates a display for this many steps. `weight` is the sum of their expected lengths, in any
    /// unit.
    pub fn new(steps: usize, weight: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(weight), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{msg}").expect("the template is valid");
        Self {
            bar: bar.with_style(style),
            steps,
            step: 0,
        }
    }

    /// Shows the next step.
    pub fn step(&mut self, what: &str) {
        self.step += 1;
        let mut line = format!("[{}/{}] {what}", self.step, self.steps);
        // Not by `eta`, which looks at the last seconds only: steps differ too much for that.
        let done = self.bar.position() as f64;
        if done > 0.0 {
            let all = self.bar.length().unwrap_or_default() as f64;
            let left = self.bar.elapsed().mul_f64((all - done).max(0.0) / done);
            line += &format!("; about {} left", HumanDuration(left));
        }
        if self.bar.is_hidden() {
            eprintln!("{line}");
        } else {
            self.bar.set_message(line);
        }
    }

    /// Adds the length of a completed step.
    pub fn advance(&self, weight: u64) {
        self.bar.inc(weight);
    }

    /// Hides the display while `print` writes to standard output.
    pub fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
