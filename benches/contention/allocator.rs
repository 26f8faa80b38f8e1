//! Global allocators that a program can choose by one line. A feature of this benchmark chooses
//! each of them, so each has a program of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A global allocator other than the standard one.
pub struct Allocator {
    pub name: &'static str,
    /// The tools that cargo needs to build the benchmark with it.
    needs: &'static str,
    /// True if a quick run does without it.
    pub slow_to_build: bool,
    /// The benchmark with that allocator.
    pub program: OnceLock<PathBuf>,
}

const fn allocator(name: &'static str, needs: &'static str, slow_to_build: bool) -> Allocator {
    Allocator {
        name,
        needs,
        slow_to_build,
        program: OnceLock::new(),
    }
}

pub static ALLOCATORS: [Allocator; 3] = [
    allocator("mimalloc", "a C compiler", false),
    allocator("jemalloc", "a C compiler and make", true),
    allocator("snmalloc", "a C++20 compiler", false),
];

/// An implementation in a program with another allocator.
#[derive(Clone, Copy)]
pub struct Elsewhere {
    pub allocator: &'static Allocator,
    pub implementation: &'static str,
}

impl Allocator {
    pub fn program(&self) -> Result<&Path, String> {
        let program = self.program.get().map(PathBuf::as_path);
        program.ok_or_else(|| format!("there is no program with {}", self.name))
    }

    /// Has cargo build the program, and returns its path.
    pub fn build(&self) -> Result<PathBuf, String> {
        eprintln!("building contention with {}", self.name);
        // Runs in the root: so cargo reuses the dependencies that this program was built with.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .current_dir(root())
            .args(["bench", "--no-run", "--quiet", "--bench", "contention"])
            .arg("--features")
            .arg(format!("releasepool-benches/global-{}", self.name))
            .arg("--message-format=json-render-diagnostics")
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cargo does not start: {error}"))?;
        if !output.status.success() {
            return Err(format!("cargo could not build it; it needs {}", self.needs));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let messages = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut built = messages.filter_map(|message: serde_json::Value| {
            let is_ours = message["target"]["name"] == "contention";
            let program = message["executable"].as_str().filter(|_| is_ours)?;
            Some(PathBuf::from(program))
        });
        built
            .next()
            .ok_or_else(|| "cargo printed no path".to_owned())
    }
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
