//! Lists of what nothing notices, each with its reason.

use super::weaken::written::root;
use std::collections::BTreeMap;

/// Names, and reasons.
pub struct Justified(BTreeMap<String, String>);

impl Justified {
    /// Lines of the form `NAME: REASON` of a file, which is named from the root of the package;
    /// a name has `colons` times a `: ` in it. A `#` starts a comment.
    ///
    /// # Panics
    /// If the file cannot be read, or a line has no reason.
    pub fn read(file: &str, colons: usize) -> Self {
        let text = std::fs::read_to_string(root().join(file))
            .unwrap_or_else(|e| panic!("{file} cannot be read: {e}"));
        let lines = text.lines().map(str::trim);
        let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let parse = |line: &str| {
            let (at, separator) = line
                .match_indices(": ")
                .nth(colons)
                .unwrap_or_else(|| panic!("{file}: no reason in the line {line:?}"));
            let (name, reason) = (&line[..at], &line[at + separator.len()..]);
            (name.trim().to_owned(), reason.trim().to_owned())
        };
        Self(entries.map(parse).collect())
    }

    pub fn reason(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The names of what is in a file.
    pub fn of_file(&self, file: &str) -> impl Iterator<Item = &str> {
        let start = format!("{file} ");
        self.names().filter(move |name| name.starts_with(&start))
    }
}
