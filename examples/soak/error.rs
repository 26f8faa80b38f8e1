//! What keeps the soak from running; exit code 2.

use std::io;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    #[error("{0} (see --help)")]
    Usage(String),
    #[error("the figures cannot be written: {0}")]
    Output(io::Error),
}

impl From<lexopt::Error> for Error {
    fn from(error: lexopt::Error) -> Self {
        Error::Usage(error.to_string())
    }
}
