//! Errors, whose texts tell the user what happened, to what, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// Why a program could not be inspected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No process has the id.
    #[error("there is no process {0}")]
    NoSuchProcess(u32),
    /// The process belongs to the kernel and has no memory of its own.
    #[error("process {0} is a thread of the kernel, which has no memory to inspect")]
    KernelThread(u32),
    /// The process has ended, and waits for its parent to notice.
    #[error(
        "process {0} has ended and has no memory any more; its parent has not waited for it yet"
    )]
    Zombie(u32),
    /// The process was given its own id.
    #[error(
        "process {0} cannot stop itself; inspect it from another process, or use the feature \
         `leak-detection` within it"
    )]
    Own(u32),
    /// The kernel refused access.
    #[error("the kernel does not permit reading process {pid}: {advice}")]
    NotPermitted {
        /// The process id.
        pid: u32,
        /// The likely reason, and what to do.
        advice: String,
    },
    /// Another process traces the process.
    #[error(
        "process {pid} is traced by process {tracer} (a debugger?), and only one can trace it at a \
         time; let the other detach first"
    )]
    Traced {
        /// The process id.
        pid: u32,
        /// The process that traces it.
        tracer: u32,
    },
    /// A thread did not stop in time.
    #[error(
        "thread {tid} of process {pid} did not stop within {seconds} s, so the process was let go; \
         the machine may be very busy: try again"
    )]
    DoesNotStop {
        /// The process id.
        pid: u32,
        /// The thread that did not stop.
        tid: u32,
        /// How long the inspector waited, in seconds.
        seconds: u64,
    },
    /// A thread cannot stop, as it waits within a system call that nothing interrupts.
    #[error(
        "thread {tid} of process {pid} waits in the kernel for a disk, or for a child made by vfork, \
         and cannot stop; the process was let go: try again"
    )]
    WaitsInKernel {
        /// The process id.
        pid: u32,
        /// The thread that waits.
        tid: u32,
    },
    /// The process kept starting threads, so it never stopped as a whole.
    #[error("process {0} starts threads faster than they can be stopped; it was let go: try again")]
    TooManyThreads(u32),
    /// The process ended while it was read.
    #[error("process {0} ended while it was read; there is nothing to show")]
    Died(u32),
    /// The process became another program.
    #[error(
        "process {0} became another program (exec) while it was inspected, so nothing is known of \
         either: try again"
    )]
    Replaced(u32),
    /// The library counts objects, and none was found.
    #[error(
        "0 objects were found, and the library counts {0}: the compiler may have removed the \
         memory of objects that the program never uses; look at what the program prints or returns, \
         or pass such objects to std::hint::black_box"
    )]
    NothingFound(u64),
    /// The program is not a 64-bit little-endian one.
    #[error("{0} is not a 64-bit little-endian program, and only such can be inspected")]
    NotSupportedProgram(String),
    /// The program's library cannot be read.
    #[error("{subject}: {error}")]
    Library {
        /// The process or file.
        subject: String,
        /// Why the library cannot be read.
        error: LayoutError,
    },
    /// The file is no core file.
    #[error("{} is not a core file: {reason}", .path.display())]
    NotACore {
        /// The file.
        path: PathBuf,
        /// The mistake, in words.
        reason: String,
    },
    /// The core file ends too early.
    #[error(
        "{} is truncated: it has {found} of {expected} bytes; check `ulimit -c` and the space on \
         the disk, and take a new one", .path.display()
    )]
    TruncatedCore {
        /// The file.
        path: PathBuf,
        /// How many bytes the file should have at least.
        expected: u64,
        /// How many bytes the file has.
        found: u64,
    },
    /// The executable of a core file cannot be opened, or is no ELF file.
    #[error(
        "the core file needs its program, and {} cannot be opened ({error}); give the right file \
         by --program", .path.display()
    )]
    NoProgram {
        /// The path given by `--program`, or else the one that the core names.
        path: PathBuf,
        /// Why the file cannot be opened.
        error: io::Error,
    },
    /// The executable is not the one that the core file is of.
    #[error(
        "{} is not the program that the core file is of ({reason}); give the right file by --program",
        .path.display()
    )]
    OtherProgram {
        /// The file.
        path: PathBuf,
        /// How the program differs from that of the core file.
        reason: String,
    },
    /// The file is no snapshot.
    #[error("{} is not a snapshot of releasepool-inspect", .0.display())]
    NotASnapshot(PathBuf),
    /// Another version of the inspector has saved the snapshot.
    #[error(
        "{} is a snapshot of version {found}; this releasepool-inspect reads version {known}: take \
         a new one, or use the releasepool-inspect that made it", .path.display()
    )]
    OtherSnapshot {
        /// The file.
        path: PathBuf,
        /// The version of the snapshot.
        found: u16,
        /// The version that can be read.
        known: u16,
    },
    /// The snapshot cannot be read.
    #[error("{} is truncated or damaged ({reason}); take a new snapshot", .path.display())]
    DamagedSnapshot {
        /// The file.
        path: PathBuf,
        /// The mistake, in words.
        reason: String,
    },
    /// The inspector cannot inspect running processes on this system.
    #[error(
        "inspecting running processes is not supported on this platform; use the feature \
         `leak-detection` of releasepool in the program itself"
    )]
    NotSupported,
    /// An operation of the system failed.
    #[error("cannot {action}: {error}")]
    Io {
        /// The action that failed, such as `read /proc/1/maps`.
        action: String,
        /// Why the action failed.
        error: io::Error,
    },
}

impl Error {
    /// Returns an [`Error::NotACore`].
    pub(crate) fn not_a_core(path: &Path, reason: &str) -> Error {
        Error::NotACore {
            path: path.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Returns an [`Error::Io`].
    pub fn io(action: impl Into<String>, error: io::Error) -> Error {
        Error::Io {
            action: action.into(),
            error,
        }
    }
}

/// Why the layout of the library is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// There is no note of the library.
    #[error(
        "it does not use releasepool, or uses a version that is too old to be inspected; if it starts \
         other processes, try those"
    )]
    NoLibrary,
    /// The note cannot be read, or its form is wrong.
    #[error("the layout note of {module} at {address:#x} cannot be read")]
    Unreadable {
        /// The path of the file.
        module: String,
        /// The address of the note in memory.
        address: u64,
    },
    /// The note is of a version that this reader does not know.
    #[error(
        "the library in {module} has a layout note of version {found}, and this program reads \
         version {known}: use the `releasepool-inspect` of the same release as the library"
    )]
    Version {
        /// The path of the file.
        module: String,
        /// The version that the note has.
        found: String,
        /// The version that can be read.
        known: u64,
    },
    /// The note lacks a name.
    #[error("the layout note of {module} does not say `{name}`")]
    Missing {
        /// The path of the file.
        module: String,
        /// The name.
        name: String,
    },
    /// A number in the note is outside of its limits.
    #[error("the layout note of {module} is damaged: `{name}` makes no sense")]
    Senseless {
        /// The path of the file.
        module: String,
        /// The name of the number.
        name: String,
    },
}
