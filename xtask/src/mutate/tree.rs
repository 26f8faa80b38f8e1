//! A copy of the project with mutants in it, and the files of `src/`.

use crate::command::working_files;
use crate::{read, rust};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The parts of the project that the crate, its tests and the models are built of.
const PARTS: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "README.md",
    "debuggers",
    "docs",
    "src",
    "tests",
    "loom_tests",
];

/// Not mutated: the door to loom itself, and what only models use.
const APART: &[&str] = &["src/sync", "src/model", "src/compile_fail_tests"];

/// Returns the files of `src/` whose orderings and statements are mutated, sorted, with their
/// texts.
pub fn sources() -> Result<Vec<(String, String)>, String> {
    let mut files = rust::files("src", "rs")?;
    files.retain(|file| {
        let is_apart = |apart: &&str| {
            let rest = file.strip_prefix(apart);
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        !APART.iter().any(is_apart) && !rust::is_test_file(file)
    });
    let with_text = |file: String| read(&file).map(|text| (file, text));
    files.into_iter().map(with_text).collect()
}

/// Returns the folder that holds the copy, its build, and notes of the last run.
pub fn folder() -> PathBuf {
    Path::new("target/mutate").to_owned()
}

/// Returns the folder of the copy.
pub fn tree() -> PathBuf {
    folder().join("tree")
}

/// Writes the copy, with these files changed. Files whose content stays are not written, so that
/// cargo does not build them anew.
pub fn write(changed: &BTreeMap<String, String>) -> Result<(), String> {
    let is_part = |file: &String| PARTS.contains(&file.split('/').next().unwrap_or(file));
    for file in working_files()?.iter().filter(|file| is_part(file)) {
        let content = std::fs::read(file).map_err(|e| format!("{file} cannot be read: {e}"))?;
        match file.as_str() {
            _ if changed.contains_key(file) => {}
            "Cargo.toml" => write_file(file, alone(content)?.as_bytes())?,
            _ => write_file(file, &content)?,
        }
    }
    changed
        .iter()
        .try_for_each(|(file, text)| write_file(file, text.as_bytes()))
}

fn write_file(file: &str, content: &[u8]) -> Result<(), String> {
    let path = tree().join(file);
    if std::fs::read(&path).is_ok_and(|before| before == content) {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(Path::new("."));
    let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, content));
    written.map_err(|e| format!("{} cannot be written: {e}", path.display()))
}

/// Returns the manifest without the other packages of the workspace, which are not copied.
fn alone(manifest: Vec<u8>) -> Result<String, String> {
    let manifest = String::from_utf8(manifest).map_err(|e| e.to_string())?;
    let lines = manifest.lines().map(|line| match line.split(" = ").next() {
        Some("members" | "default-members") => "",
        _ => line,
    });
    Ok(lines.map(|line| format!("{line}\n")).collect())
}
