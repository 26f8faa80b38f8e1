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
    /// A condition, a computation, a result or a constant is changed.
    Logic,
    /// A term, a test, or all but the first of several is left out; a decision reads too early, or
    /// under two locks.
    Omit,
    /// A memory ordering is weakened by one step.
    Weaken,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Order, Self::Logic, Self::Omit, Self::Weaken];

    pub fn name(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Logic => "logic",
            Self::Omit => "omit",
            Self::Weaken => "weaken",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    pub kind: Kind,
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
    /// change: see [`number`].
    pub fn name(&self) -> String {
        format!("{} {} -- {}", self.file, self.function, self.what)
    }
}

/// Where several mutants have one name, gives all but the first a number.
pub fn number(mutants: &mut [Mutant]) {
    let mut seen = BTreeMap::new();
    for mutant in mutants {
        let times = seen.entry((mutant.kind, mutant.name())).or_insert(0);
        *times += 1;
        if *times > 1 {
            mutant.what += &format!(" #{times}");
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    DoesNotCompile,
    NoticedByModel(String),
    NoticedByTest(String),
    /// So many of the checks that reach it were shown the mutant, and none noticed it.
    Survived {
        shown: usize,
        of: usize,
    },
}

impl Verdict {
    pub fn noticed_by(&self) -> Option<&str> {
        match self {
            Self::NoticedByModel(by) | Self::NoticedByTest(by) => Some(by),
            Self::DoesNotCompile | Self::Survived { .. } => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoesNotCompile => f.write_str("does not compile"),
            Self::NoticedByModel(by) | Self::NoticedByTest(by) => write!(f, "noticed by {by}"),
            Self::Survived { shown, of } => write!(f, "SURVIVED {shown} of {of} checks"),
        }
    }
}

/// What reasons begin with, and whether the name of something that notices the mutant follows.
const WORDS: [(&str, bool); 5] = [
    // No execution of a user's program differs.
    ("equivalent", false),
    // Only instructions are lost, which this benchmark counts.
    ("slower", true),
    // This check, which is not among those that every mutant is shown to, fails.
    ("noticed", true),
    // It is there for the models alone.
    ("models", false),
    // A user could notice it, and no check does yet.
    ("open", false),
];

/// Reasons, by the kind and the name of a mutant.
#[derive(Default)]
pub struct Reasons(BTreeMap<(Kind, String), String>);

impl Reasons {
    pub fn read() -> Result<Self, String> {
        Self::parse(&read(REASONS)?)
    }

    /// Lines are `KIND FILE FUNCTION -- MUTANT -- WORD [NAME]: why`; a `#` starts a comment.
    fn parse(text: &str) -> Result<Self, String> {
        let mut found = BTreeMap::new();
        let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
        for line in text.lines().filter(is_entry) {
            let parse = || {
                let (kind, rest) = line.split_once(' ')?;
                let (at, separator) = rest.match_indices(" -- ").nth(1)?;
                let reason = rest[at + separator.len()..].trim();
                let (word, why) = reason.split_once(": ")?;
                let (word, name) = word.split_once(' ').unwrap_or((word, ""));
                let is_word = WORDS.contains(&(word, !name.is_empty()));
                let key = (Kind::from_name(kind)?, rest[..at].to_owned());
                let is_new = is_word && !why.is_empty() && !found.contains_key(&key);
                is_new.then(|| (key, reason.to_owned()))
            };
            let (key, reason) = parse().ok_or_else(|| {
                format!("{REASONS}: no mutant with a reason of one of the kinds, or listed twice: {line}")
            })?;
            found.insert(key, reason);
        }
        Ok(Self(found))
    }

    /// Returns whether a mutant has a reason to survive.
    pub fn explain(&self, mutant: &Mutant) -> bool {
        self.0.contains_key(&(mutant.kind, mutant.name()))
    }

    /// Returns the names of the listed mutants of a kind.
    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let of_kind = self.0.keys().filter(move |(of, _)| *of == kind);
        of_kind.map(|(_, name)| &**name)
    }

    /// Returns each mutant whose reason names what notices it, and that check.
    pub fn claims(&self) -> impl Iterator<Item = (Kind, &str, String)> {
        self.0.iter().filter_map(|((kind, name), reason)| {
            let by = match reason.split_once(": ")?.0.split_once(' ')? {
                ("slower", benchmark) => format!("instructions {benchmark}"),
                (_, check) => check.to_owned(),
            };
            Some((*kind, &**name, by))
        })
    }
}

/// Returns the file in the name of a mutant.
pub fn file_of(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_found_by_kind_and_name() {
        let list = "# why\n\nlogic src/a.rs A::f -- replace + with - -- equivalent: a -- b\n\
                    order src/a.rs f -- delete: g(); -- noticed miri a::b: c\n\
                    weaken src/a.rs f -- load -- slower drain: d\n";
        let reasons = Reasons::parse(list).unwrap();
        let names: Vec<_> = reasons.names(Kind::Order).collect();
        assert_eq!(names, ["src/a.rs f -- delete: g();"]);
        assert_eq!(file_of(names[0]), "src/a.rs");
        let names: Vec<_> = reasons.names(Kind::Logic).collect();
        assert_eq!(names, ["src/a.rs A::f -- replace + with -"]);
        let claims: Vec<_> = reasons.claims().map(|claim| claim.2).collect();
        assert_eq!(claims, ["miri a::b", "instructions drain"]);
        for wrong in [
            "logic a f -- x",
            "logic a f -- x -- ",
            "logic a f -- x -- later or sooner",
            "logic a f -- x -- slower: why",
            "logic a f -- x -- equivalent b: why",
            "other a f -- x -- equivalent: y",
        ] {
            assert!(Reasons::parse(wrong).is_err(), "{wrong}");
        }
        let twice = "order a f -- x -- models: y\n".repeat(2);
        assert!(Reasons::parse(&twice).is_err());
    }

    #[test]
    fn a_second_mutant_of_a_name_has_a_number() {
        let mutant = |kind, what: &str| Mutant {
            kind,
            file: "a".to_owned(),
            function: "f".to_owned(),
            what: what.to_owned(),
            lines: 0..1,
        };
        let kinds = [Kind::Order, Kind::Order, Kind::Logic, Kind::Order];
        let mut all = kinds.map(|kind| mutant(kind, "x"));
        number(&mut all);
        assert_eq!(all.map(|mutant| mutant.what), ["x", "x #2", "x", "x #3"]);
    }
}
