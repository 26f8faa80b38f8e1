//! The trace that `--trace` asks for.
//!
//! The library tells `tracing` of its frames and drains if its feature of that name is on. Cargo
//! builds all packages of one command with the same features of the library, so if this package
//! turned it on, the library's tests and benchmarks would have it, too. So the package
//! `releasepool-share-traced` builds the same source with it, and `--trace` runs that.

#[cfg(not(feature = "trace"))]
pub use off::{Trace, elsewhere};
#[cfg(feature = "trace")]
pub use on::{Trace, elsewhere};

/// Without the feature: has cargo build and run the package that has it.
#[cfg(not(feature = "trace"))]
mod off {
    use crate::error::Error;
    use releasepool_examples_common::output::complain;
    use std::convert::Infallible;
    use std::env;
    use std::path::Path;
    use std::process::{Command, ExitCode};

    const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/traced/Cargo.toml");

    /// Runs the other package with the same command line; returns its exit code.
    pub fn elsewhere(quiet: bool) -> Option<Result<ExitCode, Error>> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["run", "--manifest-path", MANIFEST]);
        if quiet {
            command.arg("--quiet");
        } else {
            complain(
                "share: builds itself with the feature `tracing`; this takes half a minute, once",
            );
        }
        if !cfg!(debug_assertions) {
            command.arg("--release");
        }
        let status = command.arg("--").args(env::args_os().skip(1)).status();
        Some(match status {
            // 101 is cargo's own, when it cannot build.
            Ok(status) => Ok(match status.code() {
                Some(code @ 0..=2) => ExitCode::from(code as u8),
                _ => ExitCode::from(2),
            }),
            Err(source) => Err(Error::TraceNeedsCargo(source)),
        })
    }

    /// A trace that this build cannot make.
    pub struct Trace(Infallible);

    impl Trace {
        pub fn start(_: &Path) -> Result<Self, Error> {
            unreachable!("`elsewhere` has ended the program")
        }

        pub fn end(self) -> Result<(), Error> {
            match self.0 {}
        }
    }
}

/// With the feature: writes the trace.
#[cfg(feature = "trace")]
mod on {
    use crate::error::Error;
    use std::fs::File;
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};
    use std::process::ExitCode;
    use std::sync::{Arc, Mutex, PoisonError};
    use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::registry;

    /// The trace is written here.
    pub fn elsewhere(_quiet: bool) -> Option<Result<ExitCode, Error>> {
        None
    }

    /// A trace in progress, of all threads.
    pub struct Trace {
        path: PathBuf,
        guard: FlushGuard,
        failure: Failure,
    }

    /// The first error while the trace was written.
    type Failure = Arc<Mutex<Option<io::Error>>>;

    impl Trace {
        /// Starts to trace what the process does.
        pub fn start(path: &Path) -> Result<Self, Error> {
            let failed = |source| Error::Trace {
                path: path.to_owned(),
                source,
            };
            let file = File::create(path).map_err(failed)?;
            let failure = Failure::default();
            let writer = Writer {
                file,
                failure: failure.clone(),
            };
            let (layer, guard) = ChromeLayerBuilder::new()
                .writer(writer)
                .include_args(true)
                .include_locations(false)
                .build();
            tracing::subscriber::set_global_default(registry().with(layer))
                .expect("this is the process's only subscriber");
            Ok(Self {
                path: path.to_owned(),
                guard,
                failure,
            })
        }

        /// Writes what is left. What happens from here on is not part of the trace.
        pub fn end(self) -> Result<(), Error> {
            drop(self.guard);
            let failure = self.failure.lock();
            match failure.unwrap_or_else(PoisonError::into_inner).take() {
                Some(source) => Err(Error::Trace {
                    path: self.path,
                    source,
                }),
                None => Ok(()),
            }
        }
    }

    /// A file that keeps its first error, and ignores what comes after it: the layer would panic, on a
    /// thread of its own.
    struct Writer {
        file: File,
        failure: Failure,
    }

    impl Writer {
        fn note(&self, result: io::Result<()>) {
            if let Err(error) = result {
                let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert(error);
            }
        }
    }

    impl Write for Writer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let result = self.file.write_all(bytes);
            self.note(result);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            let result = self.file.flush();
            self.note(result);
            Ok(())
        }
    }
}
