//! Finds out whether memory grows, from measurements at times when all workers have ended and no object
//! is alive.
//!
//! The first quarter of the measurements is the warm-up, in which caches, tables and the allocator
//! reach their sizes. The largest measurement in the second half of the warm-up is the baseline.
//! Memory has grown if even the smallest of the last three measurements exceeds the baseline by
//! more than a margin; a single large measurement is noise.

use crate::heap::{self, mib};

/// The figures, each with its margin. Allocated bytes are counted exactly, but the sizes of tables vary.
/// Allocators do not return all free memory to the system.
const FIGURES: [(&str, u64); 2] = [
    ("allocated memory", 128 << 10),
    ("resident memory", 32 << 20),
];

/// How many of the last measurements are compared.
const LAST: usize = 3;

pub struct Growth {
    points: Vec<[u64; 2]>,
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
        let point = [heap::allocated(), heap::resident().unwrap_or(0)];
        self.points.push(point);
    }

    /// Returns a line about each figure, and whether it has grown; no line after too short a run.
    pub fn lines(&self) -> Vec<(String, bool)> {
        if self.points.len() < self.warm_up + LAST {
            return Vec::new();
        }
        let warm = &self.points[self.warm_up / 2..self.warm_up];
        let last = &self.points[self.points.len() - LAST..];
        let compared = |(n, (what, margin)): (usize, &(&str, u64))| {
            let baseline = warm.iter().map(|point| point[n]).max().unwrap_or(0);
            let now = last.iter().map(|point| point[n]).min().unwrap_or(0);
            let [from, to, by] = [baseline, now, *margin].map(mib);
            let line = format!(
                "{what}: {from:.2} MiB warmed up, {to:.2} MiB at the end; the margin is {by:.2} MiB"
            );
            (line, now > baseline + margin)
        };
        FIGURES.iter().enumerate().map(compared).collect()
    }
}
