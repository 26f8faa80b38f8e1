//! Global allocators that a program can choose by one line, and the programs that have them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Another global allocator than the standard one.
pub struct Allocator {
    pub name: &'static str,
    pub note: &'static str,
    /// The alternatives that also run with it, here and there.
    pub rivals: [(&'static str, &'static str); 5],
    /// The benchmark with that allocator, as cargo knows it.
    bench: &'static str,
    /// Further options for cargo.
    options: &'static [&'static str],
    /// True if a quick run does without it.
    pub slow_to_build: bool,
    /// The tools that cargo needs to build the benchmark.
    needs: &'static str,
    program: OnceLock<PathBuf>,
}

/// Creates the entry of an allocator.
macro_rules! allocator {
    ($name:literal, $options:expr, $needs:literal, $slow:literal) => {
        Allocator {
            name: $name,
            note: concat!(
                "in a process of its own, in which ",
                $name,
                " is the #[global_allocator]"
            ),
            rivals: [
                ("Arc + Vec", concat!("Arc + Vec, ", $name)),
                ("triomphe + Vec", concat!("triomphe + Vec, ", $name)),
                ("Box + Vec", concat!("Box + Vec, ", $name)),
                ("Arc", concat!("Arc, ", $name)),
                (
                    "Arc + channel of Vec",
                    concat!("Arc + channel of Vec, ", $name),
                ),
            ],
            bench: concat!("contention-", $name),
            options: $options,
            slow_to_build: $slow,
            needs: $needs,
            program: OnceLock::new(),
        }
    };
}

pub static ALLOCATORS: [Allocator; 3] = [
    allocator!("mimalloc", &[], "a C compiler", false),
    allocator!(
        "jemalloc",
        &["--package", "releasepool-benches", "--features", "jemalloc"],
        "a C compiler and make",
        true
    ),
    allocator!(
        "snmalloc",
        &["--package", "releasepool-benches", "--features", "snmalloc"],
        "a C++20 compiler",
        false
    ),
];

/// An implementation in a program with another allocator.
#[derive(Clone, Copy)]
pub struct Elsewhere {
    pub allocator: &'static Allocator,
    pub implementation: &'static str,
}

impl Allocator {
    /// Returns the program with the allocator.
    pub fn program(&self) -> Result<PathBuf, String> {
        let program = self.program.get().cloned();
        program.ok_or_else(|| format!("{} was not built", self.bench))
    }

    /// Has cargo build the program.
    pub fn prepare(&self) -> Result<(), String> {
        eprintln!("building {}", self.bench);
        let program = self.build()?;
        let first = self.program.set(program);
        first.map_err(|_| format!("{} was built twice", self.bench))
    }

    /// Has cargo build the program, and returns its path.
    fn build(&self) -> Result<PathBuf, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        // In the root, as cargo then uses the dependencies that it has built for this program.
        let output = Command::new(cargo)
            .args(["bench", "--no-run", "--quiet", "--bench", self.bench])
            .args(self.options)
            .arg("--message-format=json-render-diagnostics")
            .current_dir(root)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cargo does not start: {error}"))?;
        if !output.status.success() {
            let Self { bench, needs, .. } = self;
            return Err(format!(
                "cargo could not build {bench}, which needs {needs}"
            ));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let messages = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut built = messages.filter_map(|message: serde_json::Value| {
            let is_ours = message["target"]["name"] == self.bench;
            let program = message["executable"].as_str().filter(|_| is_ours)?;
            Some(PathBuf::from(program))
        });
        built
            .next()
            .ok_or_else(|| "cargo printed no path".to_owned())
    }
}
