//! Mutants of every kind, what becomes of them, and the list of those that may survive, each with its
//! reason.

use crate::command::read;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

pub const REASONS: &str = "ci/mutate/reasons.txt";

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

/// Reasons, by the kind and the name of a mutant.
#[derive(Default)]
pub struct Reasons(BTreeMap<(Kind, String), String>);

impl Reasons {
    pub fn read() -> Result<Self, String> {
        Self::parse(&read(REASONS)?)
    }

    /// Parses lines of the form `KIND FILE FUNCTION -- MUTANT -- REASON`; a `#` starts a comment.
    fn parse(text: &str) -> Result<Self, String> {
        let mut found = BTreeMap::new();
        let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
        for line in text.lines().filter(is_entry) {
            let parse = || {
                let (kind, rest) = line.split_once(' ')?;
                let (at, separator) = rest.match_indices(" -- ").nth(1)?;
                let reason = rest[at + separator.len()..].trim();
                let key = (Kind::from_name(kind)?, rest[..at].to_owned());
                let is_new = !reason.is_empty() && !found.contains_key(&key);
                is_new.then(|| (key, reason.to_owned()))
            };
            let (key, reason) = parse().ok_or_else(|| {
                format!("{REASONS}: no mutant with a reason, or listed twice: {line}")
            })?;
            found.insert(key, reason);
        }
        Ok(Self(found))
    }

    /// Returns whether a mutant has a reason to survive.
    pub fn explain(&self, kind: Kind, mutant: &Mutant) -> bool {
        self.0.contains_key(&(kind, mutant.name()))
    }

    /// Returns the names of the listed mutants of a kind.
    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let of_kind = self.0.keys().filter(move |(of, _)| *of == kind);
        of_kind.map(|(_, name)| &**name)
    }
}

/// Returns the file and the function in the name of a mutant.
pub fn place(name: &str) -> (&str, &str) {
    let place = name.split(" -- ").next().unwrap_or(name);
    place.split_once(' ').unwrap_or((place, ""))
}

/// Returns whether the text of a file has a function: `name`, `Type::name`, `<impl Trait for
/// Type>::name`.
pub fn has_function(text: &str, function: &str) -> bool {
    let (of, name) = function.rsplit_once("::").unwrap_or(("", function));
    let of = of.rsplit(" for ").next().unwrap_or(of);
    let of = of.split(['<', '>']).next().unwrap_or(of);
    let starts = |end| text.contains(&format!("fn {name}{end}"));
    function == "-" || (starts('(') || starts('<')) && text.contains(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_found_by_kind_and_name() {
        let list = "# why\n\nlogic src/a.rs A::f -- replace + with - -- a -- b\norder src/a.rs f -- delete: g(); -- c\n";
        let reasons = Reasons::parse(list).unwrap();
        let names: Vec<_> = reasons.names(Kind::Order).collect();
        assert_eq!(names, ["src/a.rs f -- delete: g();"]);
        assert_eq!(place(names[0]), ("src/a.rs", "f"));
        let names: Vec<_> = reasons.names(Kind::Logic).collect();
        assert_eq!(names, ["src/a.rs A::f -- replace + with -"]);
        for wrong in "logic a f -- x, logic a f -- x -- , other a f -- x -- y".split(", ") {
            assert!(Reasons::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Reasons::parse("order a f -- x -- y\norder a f -- x -- z").is_err());
    }

    #[test]
    fn functions_are_found_in_the_text() {
        let text = "impl Drop for A<T> { fn drop(&mut self) {} } fn f<T>(x: T) {}";
        let is_there = |function: &&str| has_function(text, function);
        assert!(
            ["f", "A::drop", "<impl Drop for A<T>>::drop", "-"]
                .iter()
                .all(is_there)
        );
        assert!(!["B::drop", "dro"].iter().any(is_there));
    }
}
