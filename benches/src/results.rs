//! The results of a run of the benchmark `contention`: `--json` writes them, `--baseline` reads them,
//! and the report shows them.

use crate::comparison::{Judged, Spread};
use crate::contest::{Figure, Samples};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format. It changes when a reader of an older one would misread a newer one.
pub const FORMAT: u32 = 2;

/// A whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// [`FORMAT`].
    pub format: u32,
    /// The machine and the build.
    pub machine: Machine,
    /// True if it was a short run, with less reliable figures.
    pub quick: bool,
    /// The scenarios, in the order of the output.
    pub scenarios: Vec<Scenario>,
    /// The project's targets, and the result of each.
    pub targets: Vec<Verdict>,
    /// The file that this run was compared with.
    pub baseline: Option<String>,
}

/// Everything that a figure depends on, except the code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// The number of threads that can run at the same time.
    pub parallelism: usize,
    /// The operating system and its version.
    pub system: String,
    /// `rustc --version` of the compiler that built the benchmark.
    pub toolchain: String,
    /// The profile and flags of the build.
    pub flags: String,
    /// The implementation of `malloc`.
    pub allocator: String,
    /// The commit, if it is known, and a remark if files were changed since.
    pub commit: Option<String>,
    /// The start of the run, in seconds since 1970, UTC.
    pub began: u64,
    /// The length of the run in seconds.
    pub seconds: f64,
}

/// One kind of work, done by several implementations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scenario {
    /// A short name without spaces, for options and links.
    pub id: String,
    /// The title in the output.
    pub title: String,
    /// A description of the work, and of one operation.
    pub what: String,
    /// What to consider besides time. It says nothing about time, which is measured anew in each run.
    pub remarks: String,
    /// The comparisons that the output has a sentence on.
    pub questions: Vec<Question>,
    /// The implementations, releasepool's first.
    pub series: Vec<Series>,
}

impl Results {
    /// Returns all points, each with its scenario and its series.
    pub fn points(&self) -> impl Iterator<Item = (&Scenario, &Series, &Point)> + Clone {
        self.scenarios.iter().flat_map(|scenario| {
            let points = scenario.points();
            points.map(move |(series, point)| (scenario, series, point))
        })
    }
}

impl Scenario {
    /// Returns all points, each with its series.
    pub fn points(&self) -> impl Iterator<Item = (&Series, &Point)> + Clone {
        self.series.iter().flat_map(|series| {
            let points = series.points.iter();
            points.map(move |point| (series, point))
        })
    }

    /// Returns all numbers of threads in ascending order, each with true if it is larger than the
    /// number of processors.
    pub fn threads(&self) -> BTreeMap<usize, bool> {
        let points = self.points();
        points.map(|(_, p)| (p.threads, p.oversubscribed)).collect()
    }
}

impl Series {
    /// Returns the point with this number of threads.
    pub fn point(&self, threads: usize) -> Option<&Point> {
        self.points.iter().find(|point| point.threads == threads)
    }
}

/// A comparison, by the names of implementations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Question {
    /// Two implementations, with the same number of threads.
    Between(String, String),
    /// One implementation with several threads, compared with one thread.
    Scaling(String),
}

/// The role of an implementation in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An implementation of releasepool's.
    Ours,
    /// An implementation for one thread only, without any synchronization: a lower bound for the
    /// time of thread-safe ones.
    Reference,
    /// An alternative to releasepool.
    Peer,
}

/// One implementation of one scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// The name in the output, which is unique across scenarios.
    pub implementation: String,
    /// The role in the comparison.
    pub role: Role,
    /// A remark on what is special about it.
    pub note: Option<String>,
    /// The measurements, in ascending order of the number of threads.
    pub points: Vec<Point>,
}

/// One implementation of one scenario on some number of threads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// The number of threads that did the work at the same time.
    pub threads: usize,
    /// True if there were more threads than processors.
    pub oversubscribed: bool,
    /// Nanoseconds per operation of one thread.
    pub time: Figure,
    /// How many times as long as the scenario's first series it took, with as many threads and round
    /// by round of this run.
    pub ratio: Option<Figure>,
    /// Nanoseconds per operation of each round, in the order of the rounds. All implementations of
    /// the scenario with as many threads took turns in the same rounds. `None` if the round does not
    /// count, as the threads could have run at the same time but did not.
    pub samples: Vec<Option<f64>>,
    /// False if the threads could have run at the same time, but did so in no round. Then all rounds
    /// count, but show little.
    pub together: bool,
    /// Instructions per operation, counted by callgrind on one thread.
    pub instructions: Option<f64>,
    /// The figure of an earlier run.
    pub before: Option<Before>,
}

impl Point {
    /// Creates the point of these samples. `first` has those of the scenario's first series, unless
    /// these are.
    pub fn new(
        threads: usize,
        oversubscribed: bool,
        samples: &Samples,
        first: Option<&Samples>,
    ) -> Self {
        Self {
            threads,
            oversubscribed,
            time: samples.time(),
            ratio: first.map(|first| samples.ratio_to(first)),
            samples: samples.each().iter().copied().map(rounded).collect(),
            together: samples.together(),
            instructions: None,
            before: None,
        }
    }

    /// Returns the number of rounds that count.
    pub fn rounds(&self) -> usize {
        self.samples.iter().flatten().count()
    }

    /// Returns how many times as long as `other` it took, round by round, if some rounds count for
    /// both. `other` must be of the same scenario and number of threads.
    pub fn over(&self, other: &Self) -> Option<Spread> {
        Spread::paired(&self.samples, &other.samples)
    }

    /// Returns how many times as long as `other` it took, if the two were not measured by turns.
    pub fn over_unpaired(&self, other: &Self) -> Option<Spread> {
        Spread::unpaired(&self.samples, &other.samples)
    }
}

/// Rounds to six significant digits, as a file with more is large and no more exact.
fn rounded(sample: Option<f64>) -> Option<f64> {
    sample.map(|sample| format!("{sample:.5e}").parse().unwrap_or(sample))
}

/// A point's figure in an earlier run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Before {
    /// Nanoseconds per operation in the earlier run.
    pub time: Figure,
    /// True if the two runs differ by more than the spread of both.
    pub changed: bool,
}

/// A target of the project, and its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The two sides of the comparison.
    pub what: String,
    /// The target in words, such as "at least 8 times as fast".
    pub asked: String,
    /// The target as a number.
    pub limit: f64,
    /// True if `limit` is a lower bound, false if it is an upper bound.
    pub at_least: bool,
    /// The measured value.
    pub measured: Figure,
    /// The measured value of each round, or `None` if the round does not count.
    pub samples: Vec<Option<f64>>,
    /// Whether the median keeps the limit; if the limit is for single calls, whether all calls do.
    pub result: Judged,
    /// An explanation, if there is one.
    pub remark: Option<String>,
}

/// Returns the results as JSON: indented, with a line for each list of numbers.
///
/// # Errors
/// If a value cannot be written as JSON.
pub fn to_json(results: &Results) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(results)?;
    let mut lines = text.lines().peekable();
    let mut json = String::with_capacity(text.len());
    let is_number = |line: &str| {
        let line = line.trim().trim_end_matches(',');
        line == "null" || line.parse::<f64>().is_ok()
    };
    while let Some(line) = lines.next() {
        json += line;
        if line.ends_with('[') && lines.peek().is_some_and(|next| is_number(next)) {
            while let Some(number) = lines.next_if(|next| is_number(next)) {
                json += number.trim().strip_suffix(',').map_or(number.trim(), |n| n);
                json += ", ";
            }
            json.truncate(json.len() - 2);
            json += lines.next().map_or("", str::trim);
        }
        json.push('\n');
    }
    Ok(json)
}
