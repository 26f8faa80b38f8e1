//! The models and tests, built.

use super::tree::{folder, tree};
use crate::command::not_run;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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
    config: "build.rustflags=['--cfg=loom','--cfg=crossbeam_loom','--cap-lints=allow']",
    check: "check --release --features=loom --lib",
    build: "build --release --manifest-path=loom_tests/Cargo.toml",
};

/// The copy's tests.
pub const NATIVE: Way = Way {
    target: "target/mutate/native",
    config: "build.rustflags=['--cap-lints=allow']",
    check: "check --profile=mutants --lib",
    build: "test --no-run --profile=mutants --lib --test=all",
};

/// The copy's tests, with the features whose code is left out of the others.
pub const FEATURES: Way = Way {
    target: "target/mutate/features",
    check: "check --profile=mutants --features=allocator-api2,leak-detection,metrics,serde --lib",
    build: "test --no-run --profile=mutants --features=allocator-api2,leak-detection,metrics,serde --lib --test=all",
    ..NATIVE
};

/// The models of the project itself, as `cargo loom` builds them.
pub const HERE: Way = Way {
    target: "target/loom",
    config: "build.rustflags=['--cfg=loom','--cfg=crossbeam_loom']",
    ..LOOM
};

impl Way {
    /// Compiles the library as far as errors go.
    pub fn check(self) -> Result<Output, String> {
        self.cargo(self.check)
    }

    /// Builds the programs and returns their paths.
    pub fn build(self) -> Result<Vec<PathBuf>, String> {
        let output = self.cargo(self.build)?;
        if output.status.success() {
            Ok(executables(&String::from_utf8_lossy(&output.stdout)))
        } else {
            let errors = String::from_utf8_lossy(&output.stderr);
            Err(format!("{} cannot be built\n{errors}", self.target))
        }
    }

    fn cargo(self, args: &str) -> Result<Output, String> {
        let here = Path::new(self.target);
        let target = std::path::absolute(here).map_err(|e| e.to_string())?;
        let mut command = Command::new("cargo");
        command
            .args(args.split(' '))
            .args(["--message-format=json", "--config", self.config]);
        command
            .arg("--target-dir")
            .arg(target)
            .env_remove("RUSTFLAGS");
        if here.starts_with(folder()) {
            // Most of the copy stays as it is from one round to the next.
            command.current_dir(tree()).env("CARGO_INCREMENTAL", "1");
        }
        command.output().map_err(|e| not_run(&command, &e))
    }
}

/// Returns the programs that cargo has built, by its messages.
fn executables(messages: &str) -> Vec<PathBuf> {
    let values = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let path = |value: Value| value["executable"].as_str().map(PathBuf::from);
    values.filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_among_the_messages() {
        let messages = "{\"executable\":null}\n{\"executable\":\"/a/b\"}\nno json";
        assert_eq!(executables(messages), [PathBuf::from("/a/b")]);
    }
}
