//! From a process, a core file or a snapshot to a graph.

use crate::discovery::discover;
use crate::error::Error;
use crate::graph::{Graph, Process, Started};
use crate::image::{Image, ProgramImage};
use crate::library::Library;
use crate::store;
use std::path::PathBuf;
use std::time::SystemTime;

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

/// Reads what was found in a program. A process is stopped while its memory is copied, and goes on
/// in any case.
///
/// # Errors
///
/// See [`Error`].
pub fn capture(source: &Source) -> Result<Graph, Error> {
    let (image, process): (Box<dyn Image>, _) = match source {
        Source::Snapshot(path) => return store::load(path),
        Source::Pid(pid) => {
            let process = process(*pid);
            (Box::new(ProgramImage::take(*pid)?), Some(process))
        }
        Source::Core { core, program } => {
            let image = ProgramImage::open(core, program.as_deref())?;
            let process = image.pid().map(|pid| Process {
                pid,
                ..Process::default()
            });
            (Box::new(image), process)
        }
    };
    let library = Library::read(&*image).map_err(|error| Error::Library {
        subject: match source {
            Source::Pid(pid) => format!("process {pid}"),
            Source::Core { core: path, .. } | Source::Snapshot(path) => path.display().to_string(),
        },
        error,
    })?;
    Ok(Graph {
        process,
        ..discover(&*image, &library)
    })
}

/// Returns what tells a process from others that had, or will have, the same id.
fn process(pid: u32) -> Process {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Process {
        pid,
        started: started(pid),
        looked_at: since_1970.ok().map(|since| since.as_millis() as u64),
    }
}

/// Returns when a process was started, where there is a `/proc`.
#[cfg(target_os = "linux")]
fn started(pid: u32) -> Option<Started> {
    let process = procfs::process::Process::new(pid as i32);
    let stat = process.and_then(|process| process.stat()).ok()?;
    Some(Started {
        boot: procfs::sys::kernel::random::boot_id().ok()?,
        ticks: stat.starttime,
    })
}

#[cfg(not(target_os = "linux"))]
fn started(_: u32) -> Option<Started> {
    None
}

#[cfg(test)]
mod tests {

    #[test]
    #[cfg(target_os = "linux")]
    fn start_of_a_process_tells_it_from_others() {
        use super::started;
        let own = started(std::process::id()).expect("there is /proc");
        assert_eq!(started(std::process::id()), Some(own.clone()));
        assert!(own.ticks > 0 && !own.boot.is_empty(), "{own:?}");
        let first = started(1).expect("there is a first process");
        assert!(first.boot == own.boot && first.ticks < own.ticks, "{own:?}");
    }
}
