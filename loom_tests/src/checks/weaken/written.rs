//! The atomic operations that are written in `src/`, found by reading it.
//!
//! What the models reach is known from running them; only the source says what
//! they do not reach.

use std::path::{Path, PathBuf};

/// One atomic operation, as it stands in the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Written {
    /// From the root of the package, with slashes.
    pub file: String,
    pub line: u32,
    /// Of the operation's name, from 1: what `#[track_caller]` gives.
    pub column: u32,
    /// The function that it is in.
    pub function: String,
    pub operation: String,
    /// One, or those of success and failure.
    pub orderings: Vec<String>,
    /// The models that the comment above it names.
    pub models: Vec<String>,
}

const OPERATIONS: &[&str] = &[
    "load",
    "store",
    "swap",
    "compare_exchange",
    "compare_exchange_weak",
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_or",
    "fetch_xor",
    "fetch_max",
    "fetch_min",
    "fetch_update",
    "fence",
];

/// The root of the package that is checked.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All of them, but for the door to loom itself and what only models use.
pub fn all() -> Vec<Written> {
    let mut found = Vec::new();
    for file in sources() {
        let path = root().join(&file);
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("{} cannot be read: {e}", path.display()));
        found.extend(scan(&file, &text));
    }
    found.sort();
    found
}

/// Statistics, settings and numbers are plain atomics in loom builds too, so no model can tell
/// whether they order anything: they must not mean to.
pub fn counters_are_relaxed() -> bool {
    let path = root().join("src/sync/counter.rs");
    let text = std::fs::read_to_string(path).expect("src/sync/counter.rs can be read");
    let written = scan("src/sync/counter.rs", &text);
    !written.is_empty()
        && written
            .iter()
            .all(|w| w.orderings.iter().all(|o| o == "Relaxed"))
}

/// The files of `src/`, but for the door to loom itself and what only models use.
pub fn sources() -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec!["src".to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(root().join(&folder)).expect("src/ can be read");
        for entry in entries {
            let entry = entry.expect("src/ can be read");
            let name = entry.file_name().into_string().expect("names are ASCII");
            let path = format!("{folder}/{name}");
            let skipped = ["src/sync", "src/sync.rs", "src/model", "src/model.rs"];
            if skipped.contains(&path.as_str()) {
                continue;
            }
            if entry.path().is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") {
                files.push(path);
            }
        }
    }
    files
}

/// The atomic operations in one file: calls of an operation's name with an
/// `Ordering::` among the arguments.
fn scan(file: &str, text: &str) -> Vec<Written> {
    let code = blank_comments(text);
    // Unit tests stand at the end of their files.
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or("");
    let mut found = Vec::new();
    let mut function = String::new();
    // Comments are read from here on.
    let mut after_last = 0;
    for (start, word) in words(code) {
        if start >= 3 && &code[start - 3..start] == "fn " {
            function = word.to_owned();
            after_last = start;
        }
        let after = &code[start + word.len()..];
        if !OPERATIONS.contains(&word) || !after.starts_with('(') {
            continue;
        }
        let orderings = orderings(arguments(after));
        if orderings.is_empty() {
            continue;
        }
        let line_start = code[..start].rfind('\n').map_or(0, |at| at + 1);
        found.push(Written {
            file: file.to_owned(),
            line: 1 + code[..start].matches('\n').count() as u32,
            column: 1 + (start - line_start) as u32,
            function: function.clone(),
            operation: word.to_owned(),
            orderings,
            models: models(&text[after_last..start]),
        });
        after_last = start;
    }
    found
}

/// The names in the last `Model: a, b.` of these lines.
fn models(text: &str) -> Vec<String> {
    let Some((_, rest)) = text.rsplit_once("Model: ") else {
        return Vec::new();
    };
    let names = rest.lines().next().unwrap_or("").trim_end_matches('.');
    names.split(", ").map(str::to_owned).collect()
}

/// Comments become spaces, so that what follows stays where it is.
fn blank_comments(text: &str) -> String {
    let blank = |line: &str| match line.find("//") {
        Some(at) => format!("{}{}", &line[..at], " ".repeat(line.len() - at)),
        None => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(blank).collect();
    lines.join("\n")
}

/// Identifiers, and where they start.
fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + code[at..].find(part)?;
        let len = code[start..]
            .find(|c| !part(c))
            .unwrap_or(code.len() - start);
        at = start + len;
        Some((start, &code[start..at]))
    })
}

/// What is between the first parenthesis and the one that closes it.
fn arguments(code: &str) -> &str {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &code[..at];
        }
    }
    code
}

fn orderings(arguments: &str) -> Vec<String> {
    let named = arguments.split("Ordering::").skip(1);
    named
        .map(|rest| words(rest).next().map_or("", |(_, word)| word).to_owned())
        .collect()
}
