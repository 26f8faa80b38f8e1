//! Files that hold a failing interleaving: lines of `key=value`, an empty line, and the path as
//! loom writes it.

use super::mode::Mode;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

const TITLE: &str = "releasepool model 1";

/// The model, mode and seed to which an interleaving belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelRun {
    pub(super) name: String,
    pub(super) mode: Mode,
    pub(super) seed: Option<u64>,
}

impl ModelRun {
    /// Returns the file for this run's failing interleaving: beside the program, or else in the
    /// directory for temporary files.
    pub(super) fn file(&self) -> PathBuf {
        let exe = std::env::current_exe().ok();
        let beside = exe.and_then(|exe| Some(exe.parent()?.join("failed-models")));
        let directory = beside
            .filter(|directory| std::fs::create_dir_all(directory).is_ok())
            .unwrap_or_else(std::env::temp_dir);
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut name: String = self.name.chars().map(plain).collect();
        let _ = write!(name, "-{}", self.mode);
        if let Some(seed) = self.seed {
            let _ = write!(name, "-{seed}");
        }
        directory.join(name + ".path")
    }

    /// Puts this description before the path that loom has written to `file`.
    pub(super) fn complete(&self, file: &Path) -> io::Result<()> {
        let path = std::fs::read_to_string(file)?;
        let mut text = format!("{TITLE}\nname={}\nmode={}\n", self.name, self.mode);
        if let Some(seed) = self.seed {
            let _ = writeln!(text, "seed={seed}");
        }
        std::fs::write(file, text + "\n" + &path)
    }

    /// Reads a file; returns the run and loom's path.
    pub(super) fn read(file: &Path) -> Result<(Self, String), String> {
        let complain = |what: &str| format!("{}: {what}", file.display());
        let text = std::fs::read_to_string(file).map_err(|e| complain(&e.to_string()))?;
        let (head, path) = text
            .split_once("\n\n")
            .filter(|(head, _)| head.starts_with(TITLE))
            .ok_or_else(|| complain("this file does not hold the interleaving of a model"))?;
        let value = |key: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once('='));
            lines.find(|(k, _)| *k == key).map(|(_, value)| value)
        };
        let seed = value("seed").map(|seed| {
            seed.parse()
                .map_err(|_| complain("the seed is not a number"))
        });
        let run = Self {
            name: value("name")
                .ok_or_else(|| complain("the name is missing"))?
                .to_owned(),
            mode: value("mode")
                .and_then(Mode::from_name)
                .ok_or_else(|| complain("the mode is missing or unknown"))?,
            seed: seed.transpose()?,
        };
        Ok((run, path.to_owned()))
    }
}

/// Returns the command that replays `file` in this program.
pub(super) fn command(file: &Path, with: Option<&str>) -> String {
    let quote = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text.to_owned()
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    let file = quote(&file.to_string_lossy());
    if let Some(with) = with {
        return format!("{with} {file}");
    }
    let mut command = format!("{VARIABLE}={file}");
    let exe = std::env::current_exe().unwrap_or_default();
    let _ = write!(command, " {}", quote(&exe.to_string_lossy()));
    match test_name() {
        // Selects this test alone, by the arguments of a test program.
        Some(test) => {
            let _ = write!(command, " --exact {} --nocapture", quote(&test));
        }
        None => {
            for argument in std::env::args().skip(1) {
                let _ = write!(command, " {}", quote(&argument));
            }
        }
    }
    command
}

/// The environment variable that names a file to replay instead of checking models.
pub(super) const VARIABLE: &str = "RELEASEPOOL_MODEL_REPLAY";

/// Returns the name of the calling thread if it may be the name of a test.
pub(super) fn test_name() -> Option<String> {
    let name = crate::sync::settings::os_thread_name()?;
    (name != "main").then_some(name)
}
