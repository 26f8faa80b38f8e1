//! Runs the inspector.

use serde_json::Value;
use std::process::Command;

/// The output of the inspector.
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
