//! Finds compilers, compiles the test programs, and runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the folder of this package.
pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the path of a test program's source.
pub fn source(name: &str) -> PathBuf {
    package().join("tests/programs").join(name)
}

/// Returns a place for files of the test of this name.
pub fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&place).unwrap();
    place
}

/// Returns the folder in which Cargo has put the library.
fn built() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let deps = own.parent().unwrap();
    deps.parent().unwrap().to_owned()
}

/// Returns the static library.
pub fn static_library() -> PathBuf {
    library("libreleasepool_capi.a")
}

/// Returns the shared library.
pub fn shared_library() -> PathBuf {
    library("libreleasepool_capi.so")
}

fn library(name: &str) -> PathBuf {
    let deps = built().join("deps").join(name);
    let own = if deps.exists() {
        deps
    } else {
        built().join(name)
    };
    assert!(own.exists(), "Cargo has not built {}", own.display());
    own
}

/// Returns the command of a compiler for the processor of these tests: for i686, that of a cross
/// compiler.
pub fn command(compiler: &str) -> Command {
    if cfg!(not(target_arch = "x86")) {
        Command::new(compiler)
    } else if compiler.starts_with("clang") {
        let mut command = Command::new(compiler);
        command.arg("--target=i686-linux-gnu");
        command
    } else {
        Command::new(format!("i686-linux-gnu-{compiler}"))
    }
}

/// Returns whether a command can be run. Continuous integration sets `RELEASEPOOL_REQUIRE_COMPILERS`, so
/// that a missing compiler is an error there.
pub fn has(name: &str) -> bool {
    let command = match name {
        "gcc" | "g++" | "clang" | "clang++" => &mut command(name),
        _ => &mut Command::new(name),
    };
    let found = command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        let required = std::env::var_os("RELEASEPOOL_REQUIRE_COMPILERS").is_some();
        assert!(!required, "{name} is missing");
        eprintln!("skipped: {name} is missing");
    }
    found
}

/// Runs a command, and returns its output.
pub fn output(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) -> String {
    let made = output(command);
    let (out, err) = texts(&made);
    assert!(
        made.status.success(),
        "{command:?}: {}\n{out}{err}",
        made.status
    );
    out
}

/// Returns standard output and standard error.
pub fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Returns the flags for the language of a source file.
fn language(source: &Path) -> &'static str {
    match source.extension().unwrap().to_str().unwrap() {
        "c" => "-std=c11",
        _ => "-std=c++17",
    }
}

/// Warnings are errors.
pub const WARNINGS: &[&str] = &[
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
];

/// Returns a command that compiles a test program with warnings as errors.
pub fn compile(compiler: &str, source: &Path) -> Command {
    let mut command = command(compiler);
    command
        .arg(language(source))
        .args(WARNINGS)
        .arg("-g")
        .arg("-I")
        .arg(package().join("include"))
        .arg(source);
    command
}

/// Compiles a test program and links the static library; returns the program.
pub fn program(compiler: &str, name: &str, flags: &[&str]) -> PathBuf {
    // Tests run at once, and two may compile the same program.
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let to = place(compiler).join(format!("{}-{number}", name.replace('/', "-")));
    let mut command = compile(compiler, &source(name));
    command
        .args(flags)
        .arg("-o")
        .arg(&to)
        .arg(static_library())
        .args(["-pthread", "-ldl", "-lm"]);
    run(&mut command);
    to
}
