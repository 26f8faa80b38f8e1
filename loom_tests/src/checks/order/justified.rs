//! Mutants that nothing notices, each with its reason.

use crate::checks::weaken::written::root;
use std::collections::BTreeMap;

/// From the root of the package.
pub const FILE: &str = "loom_tests/order/justified.txt";

pub struct Justified(BTreeMap<String, String>);

impl Justified {
    /// Lines of the form `FILE FUNCTION KIND: STATEMENTS: REASON`; a `#` starts a comment. There
    /// is no `: ` in the statements.
    ///
    /// # Panics
    /// If a line has no reason.
    pub fn read() -> Self {
        let text = std::fs::read_to_string(root().join(FILE))
            .unwrap_or_else(|e| panic!("{FILE} cannot be read: {e}"));
        let lines = text.lines().map(str::trim);
        let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let parse = |line: &str| {
            let mut parts = line.splitn(3, ": ");
            match (parts.next(), parts.next(), parts.next()) {
                (Some(kind), Some(what), Some(reason)) if !reason.trim().is_empty() => {
                    (format!("{kind}: {}", what.trim()), reason.trim().to_owned())
                }
                _ => panic!("{FILE}: no reason in the line {line:?}"),
            }
        };
        Self(entries.map(parse).collect())
    }

    pub fn reason(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The names that are listed of a file's mutants.
    pub fn of_file(&self, file: &str) -> impl Iterator<Item = &str> {
        let start = format!("{file} ");
        let names = self.0.keys().map(String::as_str);
        names.filter(move |name| name.starts_with(&start))
    }
}
