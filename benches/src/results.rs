//! What a run of the benchmark `contention` found: what `--json` writes, what
//! `--baseline` reads, and what the report is drawn from.

use crate::contest::Figure;
use serde::{Deserialize, Serialize};

/// Changes when a reader of an older one would misunderstand a newer.
pub const FORMAT: u32 = 1;

/// A whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// [`FORMAT`].
    pub format: u32,
    /// Where it ran, and what.
    pub machine: Machine,
    /// Whether it was a short run, of which the figures mean less.
    pub quick: bool,
    /// In the order in which they are shown.
    pub scenarios: Vec<Scenario>,
    /// What the project asks of itself, and what this run says of it.
    pub targets: Vec<Verdict>,
    /// The file that this run was compared with.
    pub baseline: Option<String>,
}

/// All that a figure depends on, beside the code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// As the processor calls itself.
    pub processor: String,
    /// How many threads can run at the same time.
    pub parallelism: usize,
    /// The operating system, and its version.
    pub system: String,
    /// `rustc --version` of what built it.
    pub toolchain: String,
    /// Profile and flags of the build.
    pub flags: String,
    /// What `malloc` is, for all that use it.
    pub allocator: String,
    /// The commit, if that is known, and whether it was changed.
    pub commit: Option<String>,
    /// When it began: seconds since 1970, UTC.
    pub began: u64,
    /// How long the run took, in seconds.
    pub seconds: f64,
}

/// One kind of work, done by several implementations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scenario {
    /// Short, without spaces: for options and links.
    pub id: String,
    /// For people.
    pub title: String,
    /// What is done, and what one operation is.
    pub what: String,
    /// What one can choose by it, in a sentence or two; says where releasepool loses, too.
    pub lesson: String,
    /// The implementations, ours first.
    pub series: Vec<Series>,
}

/// Whose implementation it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// releasepool's.
    Ours,
    /// One thread only, without any care for others: the line that nothing safe is
    /// expected to be below.
    Reference,
    /// What else a program could use.
    Peer,
}

/// One implementation of one scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// For people, and the same in all scenarios.
    pub implementation: String,
    /// Whose it is.
    pub role: Role,
    /// What it does otherwise than the rest, if that has to be said.
    pub note: Option<String>,
    /// By number of threads, rising.
    pub points: Vec<Point>,
}

/// One implementation of one scenario, by so many threads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// How many did the same at the same time.
    pub threads: usize,
    /// Whether they were more than can run at the same time.
    pub oversubscribed: bool,
    /// Nanoseconds for an operation of one thread.
    pub time: Figure,
    /// How many times as long it took as the first series of the scenario, with as
    /// many threads, round by round of this run.
    pub ratio: Option<Figure>,
    /// Rounds that were measured.
    pub rounds: usize,
    /// Instructions for an operation, counted by callgrind with one thread.
    pub instructions: Option<f64>,
    /// What an earlier run had here.
    pub before: Option<Before>,
}

/// The same point of an earlier run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Before {
    /// Nanoseconds for an operation then.
    pub time: Figure,
    /// Whether the quartiles of then and now do not overlap.
    pub changed: bool,
}

/// One thing that the project asks of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// What is compared with what.
    pub what: String,
    /// What is asked, for people: "at least 8 times as fast".
    pub asked: String,
    /// The limit.
    pub limit: f64,
    /// Whether `measured` may not be below the limit; otherwise it may not be above.
    pub at_least: bool,
    /// What was measured.
    pub measured: Figure,
    /// Whether its median keeps the limit; where that is for every single call, whether
    /// all do.
    pub met: bool,
    /// Why not, if that is known.
    pub remark: Option<String>,
}
