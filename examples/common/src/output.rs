//! Standard output and standard error, whose readers may go away at any time.

use indicatif::HumanCount;
use std::io::{self, ErrorKind, Write};

/// Standard output. Once its reader has gone, nothing more is written; that is no error, as the
/// exit code still tells how the run went.
#[derive(Default)]
pub struct Output {
    closed: bool,
}

impl Output {
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Writes `text` and flushes.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            other => other,
        }
    }
}

/// Writes a line to standard error. A failure is ignored: nowhere is left to report it.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Formats 1234567 as "1,234,567".
pub fn grouped(n: u64) -> String {
    HumanCount(n).to_string()
}
