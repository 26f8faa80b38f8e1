//! Orderings that no model notices when they are weaker, each with its reason.

use super::written::root;
use std::collections::BTreeMap;

/// From the root of the package.
pub const FILE: &str = "loom_tests/justified.txt";

pub struct Justified(BTreeMap<String, String>);

impl Justified {
    /// Lines of the form `FILE FUNCTION OPERATION PART FROM -> TO: REASON`; a `#`
    /// starts a comment.
    ///
    /// # Panics
    /// If a line has no reason.
    pub fn read() -> Self {
        let text = std::fs::read_to_string(root().join(FILE))
            .unwrap_or_else(|e| panic!("{FILE} cannot be read: {e}"));
        let lines = text.lines().map(str::trim);
        let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let parse = |line: &str| match line.split_once(": ") {
            Some((name, reason)) if !reason.trim().is_empty() => {
                (name.trim().to_owned(), reason.trim().to_owned())
            }
            _ => panic!("{FILE}: no reason in the line {line:?}"),
        };
        Self(entries.map(parse).collect())
    }

    pub fn reason(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
