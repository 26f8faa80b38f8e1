//! With the feature: writes the trace.

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
