//! What each file's mutants came to when they were last examined.

use super::Counts;
use crate::command::git;
use std::collections::BTreeMap;

pub const FILE: &str = "ci/mutants/report.txt";

pub struct Report {
    /// The comments that it begins with.
    head: String,
    /// Its lines, by file.
    lines: BTreeMap<String, String>,
}

impl Report {
    /// Lines of the form `FILE CONTENT COUNT...`; a `#` starts a comment.
    pub fn parse(text: &str) -> Self {
        let (head, lines): (Vec<_>, Vec<_>) = text.lines().partition(|l| l.starts_with('#'));
        let file = |line: &str| line.split(' ').next().unwrap_or("").to_owned();
        let lines = lines.iter().filter(|line| !line.is_empty());
        Self {
            head: head.iter().map(|line| format!("{line}\n")).collect(),
            lines: lines.map(|line| (file(line), (*line).to_owned())).collect(),
        }
    }

    /// What a file was when it was last examined.
    pub fn content(&self, file: &str) -> Option<&str> {
        self.lines.get(file)?.split(' ').nth(1)
    }

    pub fn set(&mut self, file: &str, content: &str, counts: &Counts) {
        let Counts {
            unviable,
            tests,
            models,
            justified,
            unexplained,
        } = counts;
        let line =
            format!("{file} {content} {unviable} {tests} {models} {justified} {unexplained}");
        self.lines.insert(file.to_owned(), line);
    }

    pub fn text(&self) -> String {
        let lines = self.lines.values().map(|line| format!("{line}\n"));
        self.head.clone() + &lines.collect::<String>()
    }
}

/// What a file is, without the commit that it came with: that may be rebased, or not be in a
/// shallow clone.
pub fn content(file: &str) -> Result<String, String> {
    let hash = git(&["hash-object", file])?;
    Ok(hash.chars().take(12).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_by_file() {
        let text = "# head\n#\nsrc/a.rs 0123 1 2 3 4 5\nsrc/c.rs 4567 0 0 0 0 0\n";
        let mut report = Report::parse(text);
        assert_eq!(report.text(), text);
        assert_eq!(report.content("src/a.rs"), Some("0123"));
        assert_eq!(report.content("src/b.rs"), None);
        let counts = Counts {
            unviable: 1,
            tests: 2,
            models: 3,
            justified: 4,
            unexplained: 5,
        };
        report.set("src/c.rs", "89ab", &Counts::default());
        report.set("src/b.rs", "cdef", &counts);
        assert_eq!(
            report.text(),
            "# head\n#\nsrc/a.rs 0123 1 2 3 4 5\nsrc/b.rs cdef 1 2 3 4 5\nsrc/c.rs 89ab 0 0 0 0 0\n"
        );
    }
}
