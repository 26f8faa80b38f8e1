//! Starts the example `leaky`.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The running program; it ends when this is dropped.
pub struct Leaky {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Leaky {
    /// Starts the program, and waits until everything is in place.
    pub fn start() -> Self {
        let test = std::env::current_exe().expect("a test has a path");
        let profile = test.ancestors().nth(2).expect("tests are in deps");
        let program: PathBuf = profile.join("examples/leaky");
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                // `cargo test --test leaky` does not build examples.
                panic!(
                    "{}: {error}; build the example `leaky` first",
                    program.display()
                )
            });
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let mut leaky = Self { child, out };
        assert!(leaky.line().starts_with("pid "));
        leaky
    }

    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Has the registry grow by 1,000 entries.
    pub fn grow(&mut self) {
        let input = self.child.stdin.as_mut().expect("piped");
        input.write_all(b"\n").expect("the program reads");
        assert_eq!(self.line(), "grown\n");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("the program writes");
        line
    }
}

impl Drop for Leaky {
    fn drop(&mut self) {
        let going = self.child.try_wait().is_ok_and(|ended| ended.is_none());
        let _ = self.child.kill();
        let _ = self.child.wait();
        assert!(
            going || std::thread::panicking(),
            "the program has ended by itself"
        );
    }
}
