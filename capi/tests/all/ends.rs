//! Objects that end wrongly.

use crate::compiler::{has, output, program, texts};
use crate::programs::can_play;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Runs one of the ways in which objects end, and returns the exit code (`None` if the process has
/// aborted) and the message.
fn end(way: &str) -> Option<(Option<i32>, String)> {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    end_of(&PROGRAM, &[], way)
}

/// Runs one of these ways in the program that was compiled with these flags.
fn end_of(made: &OnceLock<PathBuf>, flags: &[&str], way: &str) -> Option<(Option<i32>, String)> {
    if !has("g++") || !can_play(flags) {
        return None;
    }
    let program = made.get_or_init(|| program("g++", "ends.cpp", flags));
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
        // The ledger finds the reference whose release comes later.
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
fn in_memory_that_is_not_the_librarys() {
    let message = "rp::Object at 0x";
    let ways = [
        "own-delete-by-hand-weak",
        "member-weak",
        "large-member-weak",
        "shared-pooled",
    ];
    for way in ways {
        aborts(way, message);
        aborts(way, "its memory is not the library's");
    }
}

#[test]
fn in_static_memory_with_weak_references_left() {
    goes_on("static-weak", "");
}

#[test]
fn with_references_that_its_destructor_has_made() {
    static UNCHECKED: OnceLock<PathBuf> = OnceLock::new();
    for way in ["revives", "revives-new", "revives-weak"] {
        // Builds with checks find the retain.
        aborts(way, "retained after its last release");
        if let Some((code, text)) = end_of(&UNCHECKED, &["-DRP_CHECKED=0"], way) {
            assert_eq!(code, Some(3), "{way}: {text}");
            let message = "has made 1 strong references to it";
            assert!(text.contains(message), "{way}: {text}");
        }
    }
}

#[test]
fn with_references_that_its_constructor_has_made_before_it_throws() {
    if !cfg!(feature = "leak-detection") {
        goes_on("throws-shared", "its memory is kept");
    }
}

#[test]
fn pool_in_the_order_of_the_engine_on_another_thread() {
    aborts("pool-of-another-thread", "belongs to another thread");
}

/// Functions that need a thread which is not ending fail without a panic.
#[test]
fn in_a_thread_local_that_ends_after_the_library() {
    if let Some((code, text)) = end("after-the-library") {
        assert_eq!((code, text.as_str()), (Some(3), ""));
    }
}

#[test]
fn freed_by_an_operator_of_its_own() {
    goes_on("own-delete", "");
}

#[test]
fn with_an_exception() {
    goes_on("throws", "the destructor of Throws has thrown an exception");
}
