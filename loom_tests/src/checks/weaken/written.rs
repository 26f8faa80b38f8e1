//! The atomic operations that are written in `src/`, found by reading it.
//!
//! What the models reach is known from running them; only the source says what
//! they do not reach.

use releasepool_order_mutants::written;
use std::path::{Path, PathBuf};

pub use releasepool_order_mutants::Written;

/// The root of the package that is checked.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All of them, but for the door to loom itself and what only models use.
pub fn all() -> Vec<Written> {
    let mut found: Vec<_> = sources().iter().flat_map(|file| of_file(file)).collect();
    found.sort();
    found
}

/// Statistics, settings and numbers are plain atomics in loom builds too, so no model can tell
/// whether they order anything: they must not mean to.
pub fn counters_are_relaxed() -> bool {
    let written = of_file("src/sync/counter.rs");
    !written.is_empty()
        && written
            .iter()
            .all(|w| w.orderings.iter().all(|o| o == "Relaxed"))
}

fn of_file(file: &str) -> Vec<Written> {
    let text = std::fs::read_to_string(root().join(file))
        .unwrap_or_else(|e| panic!("{file} cannot be read: {e}"));
    written(file, &text).unwrap_or_else(|e| panic!("{file} cannot be parsed: {e}"))
}

/// The files of `src/`, but for the door to loom itself, what only models use, and tests, whose
/// `mod` items say so.
pub fn sources() -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec!["src".to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(root().join(&folder)).expect("src/ can be read");
        for entry in entries {
            let entry = entry.expect("src/ can be read");
            let name = entry.file_name().into_string().expect("names are ASCII");
            let path = format!("{folder}/{name}");
            let skipped = [
                "src/sync",
                "src/sync.rs",
                "src/model",
                "src/model.rs",
                "src/compile_fail_tests",
            ];
            if skipped.contains(&path.as_str()) {
                continue;
            }
            if entry.path().is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("_tests.rs") {
                files.push(path);
            }
        }
    }
    files
}
