//! Passes the compiler's version and its flags to the benchmark `contention`, which prints them.

use std::env;
use std::process::Command;

fn variable(name: &str) -> String {
    println!("cargo::rerun-if-env-changed={name}");
    env::var(name).unwrap_or_default()
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = Command::new(variable("RUSTC")).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let version = version.unwrap_or_else(|_| "rustc, unknown version".to_owned());
    println!("cargo::rustc-env=BENCHES_TOOLCHAIN={version}");

    let mut flags = format!("opt-level {}", variable("OPT_LEVEL"));
    for setting in ["LTO", "CODEGEN_UNITS", "DEBUG"] {
        let name = format!("CARGO_PROFILE_BENCH_{setting}");
        let value = variable(&name);
        if !value.is_empty() {
            flags += &format!(", {name}={value}");
        }
    }
    let rustflags = variable("CARGO_ENCODED_RUSTFLAGS").replace('\x1f', " ");
    if !rustflags.is_empty() {
        flags += &format!(", RUSTFLAGS {rustflags}");
    }
    println!("cargo::rustc-env=BENCHES_FLAGS={flags}");
}
