//! Objects that end wrongly.

use crate::compiler::{has, output, program, texts};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Runs one of the ways in which objects end, and returns the exit code (`None` if the process has
/// aborted) and the message.
fn end(way: &str) -> Option<(Option<i32>, String)> {
    if !has("g++") {
        return None;
    }
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| program("g++", "ends.cpp", &[]));
    let made = output(Command::new(program).arg(way));
    if made.status.code().is_none() {
        assert_eq!(made.status.signal(), Some(6), "{way}: {:?}", texts(&made));
    }
    Some((made.status.code(), texts(&made).1))
}

fn aborts(way: &str, message: &str) {
    if let Some((code, text)) = end(way) {
        assert_eq!(code, None, "{way}: {text}");
        assert!(text.contains(message), "{way}: {text}");
    }
}

fn goes_on(way: &str, message: &str) {
    if let Some((code, text)) = end(way) {
        assert_eq!(code, Some(3), "{way}: {text}");
        assert!(text.contains(message), "{way}: {text}");
    }
}

#[test]
fn on_the_stack_with_weak_references_left() {
    aborts(
        "stack-weak",
        "was destroyed by hand while 1 strong and 1 weak references are left",
    );
}

#[test]
fn on_the_stack_with_strong_references_left() {
    aborts("stack-strong", "it is on the stack");
}

#[test]
fn deleted_with_strong_references_left() {
    let message = "while 2 strong and 0 weak references are left";
    if cfg!(feature = "leak-detection") {
        // The ledger finds the release that comes later.
        aborts("delete-strong", message);
    } else {
        goes_on("delete-strong", message);
    }
}

#[test]
fn freed_by_an_operator_of_its_own_with_weak_references_left() {
    aborts("own-delete-weak", "operator delete of its own class");
}

#[test]
fn freed_by_an_operator_of_its_own() {
    goes_on("own-delete", "");
}

#[test]
fn with_an_exception() {
    goes_on("throws", "the destructor of Throws has thrown an exception");
}
