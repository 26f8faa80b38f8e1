//! Starts the example `leaky`.

use crate::common::Target;
use std::process::Command;

/// The running program; it ends when this is dropped.
pub struct Leaky(Target);

impl Leaky {
    /// Starts the program, and waits until everything is in place.
    pub fn start() -> Self {
        let test = std::env::current_exe().expect("a test has a path");
        let profile = test.ancestors().nth(2).expect("tests are in deps");
        let path = profile.join("examples/leaky");
        // `cargo test --test leaky` does not build examples.
        assert!(path.exists(), "{path:?}: build the example `leaky` first");
        let mut program = Target::spawn(&mut Command::new(path));
        assert!(program.line().starts_with("pid "));
        Self(program)
    }

    pub fn id(&self) -> u32 {
        self.0.pid()
    }

    pub fn pid(&self) -> String {
        self.id().to_string()
    }

    /// Has the registry grow by 1,000 entries.
    pub fn grow(&mut self) {
        self.0.tell("");
        assert_eq!(self.0.line(), "grown\n");
    }
}

impl Drop for Leaky {
    fn drop(&mut self) {
        let going = self.0.child.try_wait().is_ok_and(|ended| ended.is_none());
        assert!(
            going || std::thread::panicking(),
            "the program has ended by itself"
        );
    }
}
