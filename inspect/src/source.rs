//! Where a program comes from: a process id, a core file or a snapshot.

use crate::error::Error;
use crate::image::Image;
use crate::image::core::CoreImage;
use crate::image::elf;
use crate::image::process::ProcessImage;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// What to inspect.
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

impl Source {
    /// Returns the source that `argument` names: a number is a process, other words are a core file
    /// if it begins as one, else a snapshot. `./123` is a file.
    pub fn from_argument(argument: &str, program: Option<PathBuf>) -> Source {
        if let Ok(pid) = argument.parse() {
            return Source::Pid(pid);
        }
        let path = PathBuf::from(argument);
        let mut start = [0; 4];
        let elf = path.is_file()
            && File::open(&path)
                .and_then(|mut file| file.read_exact(&mut start))
                .is_ok_and(|()| elf::is_elf(&start));
        if elf {
            Source::Core {
                core: path,
                program,
            }
        } else {
            Source::Snapshot(path)
        }
    }

    /// Stops the process for a moment and copies its memory, or opens the core file.
    ///
    /// # Errors
    ///
    /// See [`Error`]; [`Error::NoMemory`] for a snapshot. A process goes on in any case.
    pub fn open(&self) -> Result<Box<dyn Image>, Error> {
        match self {
            Source::Pid(pid) => Ok(Box::new(ProcessImage::take(*pid)?)),
            Source::Core { core, program } => {
                Ok(Box::new(CoreImage::open(core, program.as_deref())?))
            }
            Source::Snapshot(path) => Err(Error::NoMemory { path: path.clone() }),
        }
    }
}
