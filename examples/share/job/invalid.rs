//! A fault in a document.

#[derive(Debug)]
pub struct Invalid {
    /// Its offset in the document, in bytes.
    pub at: usize,
    pub message: String,
}

impl Invalid {
    /// Makes it of the error that `serde_json` found in `part`, which begins at a byte of the document.
    pub fn of_part(part: &str, begin: usize, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let lines_before = part.split_inclusive('\n').take(error.line() - 1);
        let line: usize = lines_before.map(str::len).sum();
        Self {
            // Column 0 is the end of the line before.
            at: begin + (line + error.column()).saturating_sub(1),
            message: message
                .strip_suffix(&position)
                .unwrap_or(&message)
                .to_owned(),
        }
    }
}
