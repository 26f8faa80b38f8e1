//! Mutants of every kind, and what becomes of them.

use std::fmt;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A statement is misplaced or deleted.
    Order,
    /// A condition, a computation or a result is changed.
    Logic,
    /// A memory ordering is weakened by one step.
    Weaken,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Order, Self::Logic, Self::Weaken];

    pub fn name(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Logic => "logic",
            Self::Weaken => "weaken",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// From the root of the project, with slashes.
    pub file: String,
    /// `-` outside of functions.
    pub function: String,
    pub what: String,
    /// A commit that changes one of these lines changes the mutant.
    pub lines: Range<usize>,
}

impl Mutant {
    /// Returns the name in the report and in the list of reasons. It has no line numbers, which
    /// change, so several mutants of a function may have one name.
    pub fn name(&self) -> String {
        format!("{} {} -- {}", self.file, self.function, self.what)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    DoesNotCompile,
    NoticedByModel(String),
    NoticedByTest(String),
    /// This many checks ran, and none noticed it.
    Survived(usize),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoesNotCompile => f.write_str("does not compile"),
            Self::NoticedByModel(by) | Self::NoticedByTest(by) => write!(f, "noticed by {by}"),
            Self::Survived(checks) => write!(f, "SURVIVED {checks} checks"),
        }
    }
}
