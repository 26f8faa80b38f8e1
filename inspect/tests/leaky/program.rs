//! Starts the example `leaky`, and the inspector.

use serde_json::Value;
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

/// What the inspector has printed.
pub struct Output {
    pub code: i32,
    pub text: String,
    pub error: String,
}

impl Output {
    /// Returns the output of a command that was carried out.
    pub fn success(self) -> String {
        assert_eq!(self.code, 0, "{}", self.error);
        self.text
    }

    /// Returns the output as JSON.
    pub fn json(self) -> Value {
        serde_json::from_str(&self.success()).expect("the output is JSON")
    }
}

/// Runs the inspector.
pub fn inspect(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_releasepool-inspect");
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
    Output {
        code: output.status.code().expect("the inspector exits"),
        text: text(output.stdout),
        error: text(output.stderr),
    }
}
