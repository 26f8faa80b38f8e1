//! Mutants by name, and those that neither a test nor a model notices, each with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub const FILE: &str = "ci/mutants/justified.txt";

/// `FILE:LINE:COLUMN: WHAT`, as cargo-mutants prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub what: String,
}

impl Mutant {
    pub fn parse(text: &str) -> Option<Self> {
        let (place, what) = text.split_once(": ")?;
        let mut parts = place.rsplitn(3, ':');
        let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self {
            file: file.to_owned(),
            line: line.parse().ok()?,
            column: column.parse().ok()?,
            what: what.to_owned(),
        })
    }

    /// As it stands in the list: without line and column, which change.
    pub fn name(&self) -> String {
        format!("{}: {}", self.file, self.what)
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            what,
        } = self;
        write!(f, "{file}:{line}:{column}: {what}")
    }
}

/// Names, and why they are not noticed.
pub struct Justified(BTreeMap<String, String>);

impl Justified {
    /// Lines of the form `FILE: MUTANT -- REASON`; a `#` starts a comment.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut found = BTreeMap::new();
        for (i, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.split_once(" -- ") {
                Some((name, reason)) if !reason.trim().is_empty() => {
                    // The first of two is the one that is printed.
                    found.entry(name.to_owned()).or_insert(reason.to_owned());
                }
                _ => return Err(format!("{FILE}:{}: no reason is given", i + 1)),
            }
        }
        Ok(Self(found))
    }

    pub fn reason(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the mutants that are noticed wherever they are made.
    pub fn noticed<'l>(
        &'l self,
        noticed: &BTreeSet<String>,
        missed: &BTreeSet<String>,
    ) -> Vec<&'l str> {
        let names = self.0.keys();
        let wrong = names.filter(|&name| noticed.contains(name) && !missed.contains(name));
        wrong.map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "src/a/b.rs:12:5: replace + with - in <impl A for B>::c: d";

    #[test]
    fn mutants_are_read_as_they_are_printed() {
        let mutant = Mutant::parse(LINE).unwrap();
        assert_eq!(
            (&*mutant.file, mutant.line, mutant.column),
            ("src/a/b.rs", 12, 5)
        );
        assert_eq!(mutant.to_string(), LINE);
        assert_eq!(
            mutant.name(),
            "src/a/b.rs: replace + with - in <impl A for B>::c: d"
        );
        assert_eq!(Mutant::parse("replace + with -"), None);
    }

    #[test]
    fn reasons_are_found_by_name() {
        let list = "# why\n\nsrc/a.rs: replace + -- a -- b\nsrc/a.rs: replace - -- c\n";
        let justified = Justified::parse(list).unwrap();
        assert_eq!(justified.reason("src/a.rs: replace +"), Some("a -- b"));
        assert_eq!(justified.reason("src/a.rs: replace"), None);
        assert!(Justified::parse("src/a.rs: replace + -- \n").is_err());
        assert!(Justified::parse("src/a.rs: replace +\n").is_err());
    }

    #[test]
    fn what_is_noticed_wherever_it_is_made_is_no_survivor() {
        let justified = Justified::parse("a: x -- why\na: y -- why\na: z -- why\n").unwrap();
        let set = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
        let wrong = justified.noticed(&set(&["a: x", "a: y", "a: w"]), &set(&["a: y"]));
        assert_eq!(wrong, ["a: x"]);
    }
}
