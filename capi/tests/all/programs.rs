//! Programs that check what they do, and succeed.

use crate::compiler::{compile, has, place, program, run, shared_library, source};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

/// Compiles and runs a program: with each compiler, and with each of these sets of flags.
pub fn with_each(compilers: &[&str], name: &str, flags: &[&[&str]]) {
    for compiler in compilers.iter().filter(|compiler| has(compiler)) {
        for flags in flags.iter().filter(|flags| can_play(flags)) {
            run(&mut Command::new(program(compiler, name, flags)));
        }
    }
}

/// Returns whether a program that was compiled with these flags runs with this library.
pub fn can_play(flags: &[&str]) -> bool {
    !(cfg!(feature = "leak-detection") && flags.contains(&"-DRP_CHECKED=0"))
}

pub const SANITIZED: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
const INLINE: &[&str] = &["-DRP_CHECKED=0", "-O2"];
const SANITIZED_INLINE: &[&str] = &[
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-DRP_CHECKED=0",
];

#[test]
fn every_function_of_c() {
    with_each(&["gcc", "clang"], "c_interface.c", &[&[]]);
}

#[test]
fn every_function_of_c_leaks_nothing() {
    with_each(&["gcc"], "c_interface.c", &[SANITIZED]);
}

#[test]
fn references_of_cpp() {
    with_each(&["g++"], "references.cpp", &[&[]]);
    with_each(&["clang++"], "references.cpp", &[INLINE]);
}

#[test]
fn references_of_cpp_leak_nothing() {
    with_each(&["g++"], "references.cpp", &[SANITIZED]);
    with_each(&["clang++"], "references.cpp", &[SANITIZED_INLINE]);
}

#[test]
fn references_of_cpp_without_exceptions() {
    let flags: &[&str] = &["-fno-exceptions", "-DRP_CHECKED=0"];
    with_each(&["g++"], "references.cpp", &[flags]);
}

#[test]
fn pools_that_are_jumped_over_and_pools_of_a_static_s_destructor() {
    with_each(&["g++", "clang++"], "pool_scopes.cpp", &[&[], INLINE]);
}

#[test]
fn eight_threads() {
    with_each(&["g++"], "threads.cpp", &[INLINE]);
    with_each(&["clang++"], "threads.cpp", &[&[]]);
}

#[test]
fn eight_threads_leak_nothing() {
    with_each(&["g++"], "threads.cpp", &[SANITIZED_INLINE]);
}

/// Puts the shared library into a folder under the names that it is installed with.
fn installed_names() -> PathBuf {
    let place = place("shared");
    for name in ["libreleasepool.so", "libreleasepool.so.0"] {
        let link = place.join(name);
        let _ = std::fs::remove_file(&link);
        symlink(shared_library(), link).unwrap();
    }
    place
}

#[test]
fn shared_library_works_like_the_static_one() {
    if !has("g++") {
        return;
    }
    let libraries = installed_names();
    let to = place("shared").join("references");
    let mut command = compile("g++", &source("references.cpp"));
    command.arg("-o").arg(&to).arg("-L").arg(&libraries);
    command.args(["-lreleasepool", "-pthread"]);
    run(&mut command);
    run(Command::new(&to).env("LD_LIBRARY_PATH", &libraries));
    // The program asks for the library by its versioned name.
    let needed = run(Command::new("readelf").arg("-d").arg(&to));
    assert!(needed.contains("[libreleasepool.so.0]"), "{needed}");
}

#[test]
fn library_is_loaded_at_run_time_and_closed_and_survives_fork_with_exec() {
    if !has("gcc") {
        return;
    }
    let to = place("loaded").join("loaded");
    let mut command = compile("gcc", &source("loaded.c"));
    command.arg("-o").arg(&to).args(["-pthread", "-ldl"]);
    run(&mut command);
    run(Command::new(&to).arg(shared_library()));
}
