//! The assembly of the hot paths, compared with the files in `benches/assembly`.
//!
//! Each file has the functions of one path, as they are compiled for a release build with one
//! codegen unit: what is called there is called in programs, too. The text is that of the compiler
//! without what changes when other functions do: see [`listing`].

mod listing;

use crate::command::{output, step};
use crate::{Outcome, read};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

const FOLDER: &str = "benches/assembly";
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Where it is built, and where what was found is written.
const BUILD: &str = "target/assembly";

/// The flags of the compiler. Position-independent code is for executables, where thread-locals
/// take no call.
const FLAGS: &str = "--emit asm -C codegen-units=1 -C relocation-model=pie \
    -C symbol-mangling-version=v0 -C llvm-args=-x86-asm-syntax=intel";

/// The files, and the functions that each of them has.
const PATHS: &[(&str, &[&str])] = &[
    (
        "create",
        &[
            "releasepool_assembly::create",
            "releasepool_assembly::create_counted",
        ],
    ),
    (
        "drain",
        &[
            "<releasepool::pool::api::guard::AutoreleasePool>::drain",
            "releasepool::pool::drain::engine::drain",
            "releasepool::pool::drain::engine::release_rest",
            "releasepool::pool::drain::release::destroy_alike",
            "<releasepool::pool::drain::plain::PlainDrain>::all",
            // Called for each object with a destructor.
            "<releasepool::object::object_memory::ObjectType<\
                releasepool::object::payload::One<releasepool_assembly::Counted>, \
                releasepool::object::object_memory::Block>>::destroy",
        ],
    ),
    ("clone", &["releasepool_assembly::clone"]),
    ("drop", &["releasepool_assembly::drop"]),
    ("load", &["releasepool_assembly::load"]),
];

/// Compares the paths with their files, and prints the differences.
pub fn check() -> Outcome {
    let mut is_good = true;
    for (name, text) in paths()? {
        let (golden, found) = (golden(name), format!("{BUILD}/{name}.s"));
        if !Path::new(&golden).exists() || read(&golden)? != text {
            write(&found, &text)?;
            let mut diff = Command::new("git");
            diff.args(["--no-pager", "diff", "--no-index", "--", &golden, &found]);
            step(&mut diff)?;
            is_good = false;
        }
    }
    if !is_good {
        eprintln!(
            "\nthe assembly of a hot path has changed: if that is intended, ci/bench/assembly.sh renew"
        );
    }
    Ok(is_good)
}

/// Writes the files anew.
pub fn renew() -> Outcome {
    for (name, text) in paths()? {
        write(&golden(name), &text)?;
    }
    Ok(true)
}

fn golden(name: &str) -> String {
    format!("{FOLDER}/{name}.s")
}

fn write(path: &str, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("{path} cannot be written: {e}"))
}

/// Compiles all paths; returns the name and the text of the file of each.
fn paths() -> Result<Vec<(&'static str, String)>, String> {
    let compiler = output(Command::new("rustc").arg("--version"))?;
    let version = compiler.split(' ').nth(1).unwrap_or_default();
    let mut functions = HashMap::new();
    for file in compile()? {
        functions.extend(listing::functions(&read(&file)?));
    }
    let mut paths = Vec::new();
    for &(name, wanted) in PATHS {
        let mut text =
            format!("# rustc {version}, x86-64; written by: ci/bench/assembly.sh renew\n");
        for &function in wanted {
            let listing = functions
                .get(function)
                .ok_or_else(|| not_there(function, functions.keys()))?;
            text += &format!("\n{listing}");
        }
        paths.push((name, text));
    }
    Ok(paths)
}

/// Returns the message for a function that the compiler has not made, with those of that name.
fn not_there<'f>(function: &str, all: impl Iterator<Item = &'f String>) -> String {
    let name = function.rsplit("::").next().unwrap_or(function);
    let ending = format!("::{name}");
    let mut alike: Vec<_> = all
        .filter(|f| f.contains("releasepool") && f.ends_with(&ending))
        .map(|f| format!("\n    {f}"))
        .collect();
    alike.sort();
    format!(
        "{function} is inlined, or has another name; xtask/src/assembly.rs has the list. \
         Functions named {name}:{}",
        alike.concat()
    )
}

/// Compiles the library and the functions around it; returns the files with their assembly.
fn compile() -> Result<Vec<String>, String> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--locked", "--quiet", "--release"])
        .args(["-p", "releasepool-assembly", "--target", TARGET])
        .args(["--target-dir", BUILD, "--message-format", "json"])
        .env("RUSTFLAGS", FLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    artifacts(&output(&mut cargo)?)
}

/// The assembly beside the libraries that cargo says it has built.
fn artifacts(messages: &str) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    for line in messages.lines() {
        let message: serde_json::Value =
            serde_json::from_str(line).map_err(|e| format!("cargo said {line}: {e}"))?;
        let name = message["target"]["name"].as_str().unwrap_or_default();
        if message["reason"] != "compiler-artifact" || !name.starts_with("releasepool") {
            continue;
        }
        let library = message["filenames"].as_array().into_iter().flatten();
        let library = library
            .filter_map(|file| file.as_str())
            .find(|file| file.ends_with(".rmeta"))
            .ok_or_else(|| format!("cargo has built no metadata of {name}: {line}"))?;
        let (folder, file) = library.rsplit_once('/').unwrap_or((".", library));
        let file = file.trim_start_matches("lib").trim_end_matches(".rmeta");
        files.push(format!("{folder}/{file}.s"));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assembly_is_beside_the_metadata() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"libc"},"filenames":["/t/deps/liblibc-1.rlib"]}
{"reason":"compiler-artifact","target":{"name":"releasepool"},"filenames":["/t/libreleasepool.rlib","/t/deps/libreleasepool-4f.rmeta"]}
{"reason":"build-finished","success":true}"#;
        assert_eq!(artifacts(messages).unwrap(), ["/t/deps/releasepool-4f.s"]);
        assert!(artifacts("not JSON").is_err());
    }

    #[test]
    fn a_missing_function_is_reported_with_those_of_its_name() {
        let all = [
            "releasepool::pool::b::drain",
            "std::drain",
            "releasepool::drains",
        ];
        let all = all.map(String::from);
        let message = not_there("releasepool::pool::a::drain", all.iter());
        assert!(message.starts_with("releasepool::pool::a::drain is inlined"));
        assert!(message.ends_with("named drain:\n    releasepool::pool::b::drain"));
    }
}
