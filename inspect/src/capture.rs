//! Turns a process, a core file or a snapshot into a graph.

use crate::discovery::discover;
use crate::error::Error;
use crate::graph::{Graph, Process};
use crate::image::{Image, ProgramImage};
use crate::library::Library;
use crate::store;
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

/// Returns the graph of a program. A process is stopped while its memory is copied; it goes on
/// afterwards even if an error occurs.
///
/// # Errors
///
/// See [`Error`].
pub fn capture(source: &Source) -> Result<Graph, Error> {
    let image = match source {
        Source::Snapshot(path) => return store::load(path),
        Source::Pid(pid) => ProgramImage::take(*pid)?,
        Source::Core { core, program } => ProgramImage::open(core, program.as_deref())?,
    };
    let library = Library::read(&image).map_err(|error| Error::Library {
        subject: match source {
            Source::Pid(pid) => format!("process {pid}"),
            Source::Core { core: path, .. } | Source::Snapshot(path) => path.display().to_string(),
        },
        error,
    })?;
    let program = image.parts().program_id;
    Ok(Graph {
        process: image.pid().map(|pid| Process { pid, program }),
        ..discover(&image, &library)
    })
}
