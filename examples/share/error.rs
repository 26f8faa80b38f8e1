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
    #[error("{name}:{line}:{column}: not UTF-8")]
    NotUtf8 {
        name: String,
        line: usize,
        column: usize,
    },
    #[error("{name}:{line}:{column}: invalid JSON: {message}")]
    Invalid {
        name: String,
        /// The document's position in the list of documents.
        document: usize,
        line: usize,
        column: usize,
        message: String,
    },
    #[error("thread {name} cannot be started: {source}")]
    Spawn { name: String, source: io::Error },
    #[error("{}: the trace cannot be written: {source}", .path.display())]
    #[cfg_attr(not(feature = "trace"), expect(dead_code))]
    Trace { path: PathBuf, source: io::Error },
    #[error("a trace needs cargo, to build the example with the feature `tracing`: {0}")]
    #[cfg_attr(feature = "trace", expect(dead_code))]
    TraceNeedsCargo(io::Error),
    #[error("the report cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl Error {
    /// Returns whether threads were already sharing objects when the error was found.
    pub fn was_sharing(&self) -> bool {
        matches!(self, Error::Invalid { .. } | Error::Spawn { .. })
    }

    /// Makes the error for a document that is no UTF-8 after the text `before`. Columns are bytes,
    /// as in errors of invalid JSON.
    pub fn not_utf8(name: &str, before: &[u8]) -> Self {
        let lines = before.split(|&byte| byte == b'\n');
        let last = lines.clone().next_back().map_or(0, <[u8]>::len);
        Error::NotUtf8 {
            name: name.to_owned(),
            line: lines.count(),
            column: last + 1,
        }
    }

    /// Makes the error for invalid JSON in `text`, which is the document with this position and
    /// name.
    pub fn invalid(document: usize, name: &str, text: &str, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        // The position goes to the front, where compilers put it, and not into the message, too.
        let position = format!(" at line {} column {}", error.line(), error.column());
        let message = message.strip_suffix(&position).unwrap_or(&message);
        let (line, column) = match (error.line(), error.column()) {
            // Column 0 means the end of the previous line.
            (line @ 2.., 0) => {
                let before = text.lines().nth(line - 2).unwrap_or("");
                (line - 1, before.len() + 1)
            }
            (line, column) => (line.max(1), column.max(1)),
        };
        Error::Invalid {
            name: name.to_owned(),
            document,
            line,
            column,
            message: message.to_owned(),
        }
    }
}
