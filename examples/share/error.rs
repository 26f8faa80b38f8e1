//! Errors; each ends the program with exit code 2.

use crate::input::Document;
use crate::job::tokens::Invalid;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    #[error("{name}: cannot be read: {source}")]
    Unreadable { name: String, source: io::Error },
    #[error("{}: no *.json or *.jsonl files in this directory", .0.display())]
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

    /// Makes the error for a document that is no UTF-8 after the text `before`.
    pub fn not_utf8(name: &str, before: &[u8]) -> Self {
        let (line, column) = position(before);
        Error::NotUtf8 {
            name: name.to_owned(),
            line,
            column,
        }
    }

    /// Makes the error for a document that is invalid; `n` is its position in the list of documents.
    pub fn invalid(n: usize, document: &Document, invalid: Invalid) -> Self {
        let (line, column) = position(&document.text.as_bytes()[..invalid.at]);
        Error::Invalid {
            name: document.name.clone(),
            document: n,
            line: document.lines_before + line,
            column,
            message: invalid.message,
        }
    }
}

/// Returns the line, and the column in bytes, of what follows `before`.
fn position(before: &[u8]) -> (usize, usize) {
    let lines = before.split(|&byte| byte == b'\n');
    let last = lines.clone().next_back().map_or(0, <[u8]>::len);
    (lines.count(), last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::tokens::Tokens;

    fn refused(text: &str) -> String {
        let mut tokens = Tokens::new(text);
        loop {
            if let Err(invalid) = tokens.next() {
                let document = Document::new("x.json", text);
                return Error::invalid(0, &document, invalid).to_string();
            }
        }
    }

    #[test]
    fn positions_are_those_of_the_fault() {
        for (text, message) in [
            (
                "{\n  \"a\": [1,, 2]\n}",
                "2:11: invalid JSON: expected value",
            ),
            (
                "",
                "1:1: invalid JSON: a value is missing, not the end of the document",
            ),
            ("[\"a\nb\"]", "1:4: invalid JSON: control character"),
            ("[\n[1\n 2]]", "3:2: invalid JSON: expected `,` or `]`"),
            ("{\"a\": tru", "1:9: invalid JSON: EOF"),
            (
                "{\"é\": \"b\" 1}",
                "1:12: invalid JSON: expected `,` or `}`",
            ),
        ] {
            let refused = refused(text);
            let expected = format!("x.json:{message}");
            assert!(
                refused.starts_with(&expected),
                "{refused} is not {expected}"
            );
        }
    }
}
