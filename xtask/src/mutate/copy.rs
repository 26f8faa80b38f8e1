//! A copy of the project with mutants in it, the files of `src/`, and what is built of them.

use crate::command::{not_run, read, working_files};
use crate::rust;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder that holds the copy, its build, and notes of the last run.
pub const FOLDER: &str = "target/mutate";

const COPY: &str = "target/mutate/tree";

/// The parts of the project that the crate, its tests and the models are built of.
const PARTS: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "ci",
    "README.md",
    "debuggers",
    "docs",
    "src",
    "tests",
    "loom_tests",
];

/// Files that only programs in C and C++ reach.
const FOR_C: [&str; 2] = ["src/foreign/class.rs", "src/foreign/by_hand.rs"];

/// Returns the files of `src/` that are mutated, sorted, with their texts.
pub fn sources() -> Result<Vec<(String, String)>, String> {
    let mut files = rust::files("src")?;
    files.retain(|file| rust::is_for_all(file) && !FOR_C.contains(&&**file));
    let with_text = |file: String| read(&file).map(|text| (file, text));
    files.into_iter().map(with_text).collect()
}

/// Writes the copy, with these files changed. Files whose content stays are not written, so that
/// cargo does not build them anew.
pub fn write(changed: &BTreeMap<String, String>) -> Result<(), String> {
    let is_part = |file: &String| PARTS.contains(&file.split('/').next().unwrap_or(file));
    for file in working_files()?.iter().filter(|file| is_part(file)) {
        match file.as_str() {
            _ if changed.contains_key(file) => {}
            "Cargo.toml" => write_file(file, alone(&read(file)?).as_bytes())?,
            _ => write_file(
                file,
                &std::fs::read(file).map_err(|e| format!("{file}: {e}"))?,
            )?,
        }
    }
    let mut changed = changed.iter();
    changed.try_for_each(|(file, text)| write_file(file, text.as_bytes()))
}

fn write_file(file: &str, content: &[u8]) -> Result<(), String> {
    let path = Path::new(COPY).join(file);
    if std::fs::read(&path).is_ok_and(|before| before == content) {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(Path::new("."));
    let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, content));
    written.map_err(|e| format!("{} cannot be written: {e}", path.display()))
}

/// Returns the manifest without the other packages of the workspace, which are not copied.
fn alone(manifest: &str) -> String {
    let is_of_others =
        |line: &str| line.starts_with("members = ") || line.starts_with("default-members = ");
    let lines = manifest.lines().filter(|line| !is_of_others(line));
    lines.map(|line| format!("{line}\n")).collect()
}

/// How a library and its programs are built.
#[derive(Clone, Copy)]
pub struct Way {
    /// The folder of what is built. In the copy's folder, it is the copy that is built.
    target: &'static str,
    config: &'static str,
    check: &'static str,
    build: &'static str,
}

/// The copy's models. What a mutant makes superfluous is no error.
pub const LOOM: Way = Way {
    target: "target/mutate/loom",
    config: "build.rustflags=['--cfg=loom','--cap-lints=allow']",
    check: "check --release --features=loom --lib",
    // Optimizing all mutants would take an hour.
    build: "build --release --manifest-path=loom_tests/Cargo.toml --config=profile.release.package.releasepool.opt-level=1 --config=profile.release.package.releasepool-loom-tests.opt-level=1",
};

/// The copy's tests, with the features that have code of their own, but for the ledger: with it, drains do not
/// destroy objects in batches. Models are built without features.
pub const TESTS: Way = Way {
    target: "target/mutate/tests",
    config: "build.rustflags=['--cap-lints=allow']",
    check: "check --profile=mutants --features=allocator-api2,metrics,serde,tracing --lib",
    build: "test --no-run --profile=mutants --features=allocator-api2,metrics,serde,tracing --lib --tests",
};

/// The copy's tests with the ledger.
pub const WITH_LEDGER: Way = Way {
    target: "target/mutate/ledger",
    check: "check --profile=mutants --features=allocator-api2,leak-detection,metrics,serde,tracing --lib",
    build: "test --no-run --profile=mutants --features=allocator-api2,leak-detection,metrics,serde,tracing --lib --tests",
    ..TESTS
};

/// The models of the project itself, as `cargo loom` builds them.
pub const HERE: Way = Way {
    target: "target/loom",
    config: "build.rustflags=['--cfg=loom']",
    build: "build --release --manifest-path=loom_tests/Cargo.toml",
    ..LOOM
};

impl Way {
    /// Compiles the library as far as errors go.
    pub fn check(self) -> Result<Output, String> {
        self.cargo(self.check)
    }

    /// Builds the programs and returns their paths, by cargo's messages.
    pub fn build(self) -> Result<Vec<PathBuf>, String> {
        let output = self.cargo(self.build)?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} cannot be built\n{errors}", self.target));
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        let values = messages
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let path = |value: Value| value["executable"].as_str().map(PathBuf::from);
        Ok(values.filter_map(path).collect())
    }

    fn cargo(self, args: &str) -> Result<Output, String> {
        let target = std::path::absolute(self.target).map_err(|e| e.to_string())?;
        let mut command = Command::new("cargo");
        command.args(args.split(' ')).env_remove("RUSTFLAGS");
        command.args([
            "--message-format=json",
            "--config",
            self.config,
            "--target-dir",
        ]);
        command.arg(target);
        if self.target.starts_with(FOLDER) {
            // Most of the copy stays as it is from one round to the next.
            command.current_dir(COPY).env("CARGO_INCREMENTAL", "1");
        }
        command.output().map_err(|e| not_run(&command, &e))
    }
}
