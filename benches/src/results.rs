//! The results of a run, as the benchmarks print them, and write them to files.

use crate::comparison::{Judged, Outcome, Spread};
use crate::contest::Samples;
use crate::terminal::counted;
use crate::workload::Role;

/// A whole run.
#[derive(Clone, Debug)]
pub struct Results {
    /// Facts on the machine and the build, which all figures depend on.
    pub machine: Vec<String>,
    /// True if it was a short run, with less reliable figures.
    pub quick: bool,
    /// The rows, in the order of the output.
    pub rows: Vec<Measured>,
}

/// One kind of work, done by several implementations that took turns in one run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The title, which no other kind of work has.
    pub what: String,
    /// The number of threads that did the work at the same time.
    pub threads: usize,
    /// True if there were more threads than processors.
    pub oversubscribed: bool,
    /// The implementations, the one of releasepool's that the others are compared with first.
    pub sides: Vec<Side>,
    /// The targets, and the result of each.
    pub targets: Vec<Verdict>,
}

/// One implementation.
#[derive(Clone, Debug)]
pub struct Side {
    /// The name in the output.
    pub name: String,
    /// The role in the comparison.
    pub role: Role,
    /// The number of threads, which is not the row's if the row compares numbers of threads.
    pub threads: usize,
    /// Nanoseconds per operation of one thread.
    pub samples: Samples,
}

/// A target of the project, and its result.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The target in words, such as "at least 8 × as fast as Arc in a Vec".
    pub asked: String,
    /// The measured value of each round, or `None` if the round does not count.
    pub samples: Vec<Option<f64>>,
    /// True if the median keeps the limit; if the limit is for single calls, true if all calls do.
    pub result: Judged,
    /// An explanation, if there is one.
    pub remark: Option<String>,
}

/// How the first implementation compares with the fastest alternative.
pub struct Standing<'m> {
    /// The fastest alternative.
    pub peer: &'m Side,
    /// How many times as long as releasepool the alternative takes, if some rounds count for both.
    pub ratio: Option<Spread>,
    /// The conclusion from the samples. The first side is the alternative.
    pub outcome: Outcome,
    /// False if the threads took turns, which shows nothing.
    pub together: bool,
}

impl Side {
    /// Returns the name, with the number of threads unless it is the row's.
    pub fn title(&self, threads: usize) -> String {
        match self.threads {
            same if same == threads => self.name.clone(),
            other => format!("{}, {}", self.name, counted(other, "thread")),
        }
    }

    /// Returns the median time.
    pub fn median(&self) -> f64 {
        self.samples
            .time()
            .map_or(f64::INFINITY, |time| time.median)
    }
}

impl Measured {
    /// Returns the implementation of releasepool's that the others are compared with.
    pub fn ours(&self) -> &Side {
        &self.sides[0]
    }

    /// Returns `threads`, with a remark if there were more threads than processors.
    pub fn on(&self, threads: impl std::fmt::Display) -> String {
        if self.oversubscribed {
            return format!("{threads}, more than processors");
        }
        threads.to_string()
    }

    /// Compares [`ours`](Self::ours) with the alternative that has the smallest median, among those
    /// on as many threads. Returns `None` if there is none.
    pub fn standing(&self) -> Option<Standing<'_>> {
        let is_in = |side: &&Side| side.role == Role::Peer && side.threads == self.threads;
        let peers = self.sides.iter().filter(is_in);
        let peer = peers.min_by(|a, b| a.median().total_cmp(&b.median()))?;
        let ours = &self.ours().samples;
        let ratio = peer.samples.over(ours);
        let together = ours.together() && peer.samples.together();
        let outcome = match ratio.map_or(Outcome::TooFew, |ratio| ratio.outcome()) {
            found if found != Outcome::TooFew && !together => Outcome::TooNoisy,
            found => found,
        };
        Some(Standing {
            peer,
            ratio,
            outcome,
            together,
        })
    }
}
