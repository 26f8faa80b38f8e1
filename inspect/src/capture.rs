//! From a process, a core file or a snapshot to a graph.

use crate::discovery::discover;
use crate::error::{Error, Subject};
use crate::graph::Graph;
use crate::layout::{LayoutError, VERSION};
use crate::library::Library;
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
        Source::Pid(_) | Source::Core { .. } => {
            let image = source.open()?;
            let library = Library::read(&*image).map_err(|error| not_readable(source, error))?;
            Ok(discover(&*image, &library))
        }
    }
}

/// Names the process or file whose library cannot be read.
fn not_readable(source: &Source, error: LayoutError) -> Error {
    let subject = match source {
        Source::Pid(pid) => Subject::Process(*pid),
        Source::Core { core: path, .. } | Source::Snapshot(path) => Subject::File(path.clone()),
    };
    let version = match &error {
        LayoutError::NoLibrary => return Error::NoLibrary { subject },
        LayoutError::Version { found, .. } => found.parse().ok(),
        _ => None,
    };
    match version {
        Some(found) => Error::OtherVersion {
            subject,
            found,
            supported: format!("version {VERSION}"),
        },
        None => Error::BadLayout {
            subject,
            reason: error.to_string(),
        },
    }
}

/// Returns the source's name for people.
pub fn name(source: &Source) -> String {
    match source {
        Source::Pid(pid) => format!("process {pid}"),
        Source::Core { core: file, .. } | Source::Snapshot(file) => file.display().to_string(),
    }
}
