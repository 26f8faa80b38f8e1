//! Why a command was not carried out.

use crate::error::Error;
use crate::report::subject::FindError;
use std::io;

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The program or file cannot be read, or a file cannot be written.
    #[error(transparent)]
    Program(#[from] Error),
    /// The subject does not exist.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The terminal or standard output cannot be used.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}
