//! Without the feature: has cargo build and run the package that has it.

use crate::error::Error;
use releasepool_examples_common::output::complain;
use std::convert::Infallible;
use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/traced/Cargo.toml");

/// Runs the other package with the same command line; returns its exit code.
pub fn elsewhere(quiet: bool) -> Option<Result<ExitCode, Error>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--manifest-path", MANIFEST]);
    if quiet {
        command.arg("--quiet");
    } else {
        complain("share: builds itself with the feature `tracing`; this takes half a minute, once");
    }
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let status = command.arg("--").args(env::args_os().skip(1)).status();
    Some(match status {
        // 101 is cargo's own, when it cannot build.
        Ok(status) => Ok(match status.code() {
            Some(code @ 0..=2) => ExitCode::from(code as u8),
            _ => ExitCode::from(2),
        }),
        Err(source) => Err(Error::TraceNeedsCargo(source)),
    })
}

/// There is none.
pub struct Trace(Infallible);

impl Trace {
    pub fn start(_: &Path) -> Result<Self, Error> {
        unreachable!("`elsewhere` has ended the program")
    }

    pub fn end(self) -> Result<(), Error> {
        match self.0 {}
    }
}
