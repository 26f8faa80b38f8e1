//! Errors; each ends the program with exit code 2.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    #[error("{name}: cannot be read: {source}")]
    Unreadable { name: String, source: io::Error },
    #[error("{}: no *.json files in this directory", .0.display())]
    NoDocuments(PathBuf),
    #[error("{name}:{}:{}: invalid JSON: {source}", .source.line(), .source.column())]
    Invalid {
        name: String,
        /// The document's position in the list of documents.
        document: usize,
        source: serde_json::Error,
    },
    #[error("thread {name} cannot be started: {source}")]
    Spawn { name: String, source: io::Error },
    #[error("the report cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl Error {
    /// Returns whether threads were already sharing objects when the error was found.
    pub fn was_sharing(&self) -> bool {
        matches!(self, Error::Invalid { .. } | Error::Spawn { .. })
    }
}
