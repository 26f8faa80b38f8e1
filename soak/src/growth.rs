//! Finds out whether memory grows, from measurements at times when all workers have ended and no object
//! is alive.
//!
//! The first quarter of the measurements is the warm-up, in which caches, tables and the allocator
//! reach their sizes. The largest measurement in the second half of the warm-up is the baseline.
//! Memory has grown if even the smallest of the last three measurements exceeds the baseline by
//! more than a margin; a single large measurement is noise.

use crate::heap::{self, mib};

/// For allocated bytes. They are counted exactly, but the sizes of tables vary.
const HEAP_MARGIN: u64 = 128 << 10;

/// For resident bytes: allocators do not return all free memory to the system.
const RESIDENT_MARGIN: u64 = 32 << 20;

/// How many of the last measurements are compared.
const LAST: usize = 3;

#[derive(Clone, Copy)]
struct Point {
    allocated: u64,
    resident: u64,
}

/// One figure, before and now.
struct Compared {
    baseline: u64,
    now: u64,
}

pub struct Growth {
    points: Vec<Point>,
    warm_up: usize,
}

impl Growth {
    pub fn new(planned: usize) -> Self {
        Self {
            points: Vec::with_capacity(planned),
            warm_up: (planned / 4).max(2),
        }
    }

    pub fn measure(&mut self) {
        self.points.push(Point {
            allocated: heap::allocated(),
            resident: heap::resident().unwrap_or(0),
        });
    }

    fn compare(&self, figure: fn(&Point) -> u64) -> Option<Compared> {
        if self.points.len() < self.warm_up + LAST {
            return None;
        }
        let warm = &self.points[self.warm_up / 2..self.warm_up];
        let last = &self.points[self.points.len() - LAST..];
        let baseline = warm.iter().map(figure).max()?;
        let now = last.iter().map(figure).min()?;
        Some(Compared { baseline, now })
    }

    /// Returns the name, the values and the margin of each figure.
    fn figures(&self) -> [(&'static str, Option<Compared>, u64); 2] {
        [
            (
                "allocated memory",
                self.compare(|p| p.allocated),
                HEAP_MARGIN,
            ),
            (
                "resident memory",
                self.compare(|p| p.resident),
                RESIDENT_MARGIN,
            ),
        ]
    }

    /// Returns a message for each figure that has grown.
    pub fn found(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (what, compared, margin) in self.figures() {
            let Some(Compared { baseline, now }) = compared else {
                continue;
            };
            if now > baseline + margin {
                found.push(format!(
                    "{what} has grown by {:.2} MiB, from {:.2} to {:.2}; the margin is {:.2}",
                    mib(now - baseline),
                    mib(baseline),
                    mib(now),
                    mib(margin),
                ));
            }
        }
        found
    }

    /// Returns the lines for the report.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (what, compared, _) in self.figures() {
            text += &match compared {
                Some(Compared { baseline, now }) => {
                    format!(
                        "{what}: {:.2} MiB warmed up, {:.2} MiB at the end\n",
                        mib(baseline),
                        mib(now)
                    )
                }
                None => format!("{what}: too short a run to compare\n"),
            };
        }
        text
    }
}
