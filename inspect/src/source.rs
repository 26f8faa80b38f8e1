//! The source of a program's state: a process id, a core file or a snapshot.

use std::path::PathBuf;

/// The program to inspect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A running process.
    Pid(u32),
    /// A core file.
    Core {
        /// The core file.
        core: PathBuf,
        /// The program, if it is not where the core file says.
        program: Option<PathBuf>,
    },
    /// A snapshot that was saved before.
    Snapshot(PathBuf),
}
