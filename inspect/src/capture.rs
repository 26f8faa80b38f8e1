//! From a process, a core file or a snapshot to a graph.

use crate::error::Error;
use crate::graph::Graph;
use crate::image::Image;
use crate::source::Source;
use crate::store::{self, StoreError};

/// Why there is no graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The process or core file cannot be inspected.
    #[error(transparent)]
    Program(#[from] Error),
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
pub fn capture(source: &Source) -> Result<Graph, CaptureError> {
    match source {
        Source::Snapshot(path) => Ok(store::load(path)?),
        Source::Pid(_) | Source::Core { .. } => Ok(discover(&*source.open()?)?),
    }
}

fn discover(_image: &dyn Image) -> Result<Graph, Error> {
    todo!()
}

/// Returns the source's name for people.
pub fn name(source: &Source) -> String {
    match source {
        Source::Pid(pid) => format!("process {pid}"),
        Source::Core { core: file, .. } | Source::Snapshot(file) => file.display().to_string(),
    }
}
