//! From a process, a core file or a snapshot to a graph.

use crate::graph::Graph;
use crate::store::{self, StoreError};
use std::fmt;
use std::path::PathBuf;

/// What to inspect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A running process.
    Process(u32),
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

impl Target {
    /// Returns whether the target stays as it is, so that one look at it is enough.
    pub fn is_fixed(&self) -> bool {
        !matches!(self, Self::Process(_))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(pid) => write!(f, "process {pid}"),
            Self::Core { core: file, .. } | Self::Snapshot(file) => file.display().fmt(f),
        }
    }
}

/// Why there is no graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The snapshot cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads what was found in a program. A process is stopped while its memory is copied, and goes on
/// in any case.
///
/// # Errors
///
/// See [`CaptureError`].
pub fn capture(target: &Target) -> Result<Graph, CaptureError> {
    match target {
        Target::Snapshot(path) => Ok(store::load(path)?),
        Target::Process(_) | Target::Core { .. } => todo!(),
    }
}
