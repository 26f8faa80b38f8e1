//! Which lines a commit has changed.

use std::ops::Range;

/// The lines that a diff without context changes, by file, as they are now. Where lines have
/// gone, the one that is there now.
pub fn changed_lines(diff: &str) -> Vec<(String, Range<usize>)> {
    let (mut file, mut changed) = (String::new(), Vec::new());
    for line in diff.lines() {
        if let Some(path) = line.strip_prefix("+++ b/") {
            file = path.to_owned();
        } else if let Some(rest) = line.strip_prefix("@@ ") {
            let now = rest.split(' ').find_map(|part| part.strip_prefix('+'));
            let (start, len) = match now.and_then(|now| now.split_once(',')) {
                Some((start, len)) => (start, len.parse().unwrap_or(1)),
                None => (now.unwrap_or("0"), 1_usize),
            };
            let start: usize = start.parse().unwrap_or(0);
            changed.push((file.clone(), start..start + len.max(1)));
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_changed_or_went_are_found() {
        let diff = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3,2 +4,3 @@ fn f() {\n-x\n+y\n\
                    @@ -9 +11 @@\n@@ -20,2 +22,0 @@\n--- a/src/b.rs\n+++ b/src/b.rs\n@@ -1 +1 @@\n";
        let lines = |file: &str, range| (file.to_owned(), range);
        assert_eq!(
            changed_lines(diff),
            [
                lines("src/a.rs", 4..7),
                lines("src/a.rs", 11..12),
                lines("src/a.rs", 22..23),
                lines("src/b.rs", 1..2),
            ]
        );
    }
}
