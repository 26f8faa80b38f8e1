//! What a figure depends on, beside the code.

use releasepool_benches::results::Machine;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a program says, if it is there and content.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = |line: &str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    };
    info.lines()
        .find_map(named)
        .or_else(|| said("sysctl", &["-n", "machdep.cpu.brand_string"]))
        .unwrap_or_else(|| format!("unknown, {}", std::env::consts::ARCH))
}

fn commit() -> Option<String> {
    let here = env!("CARGO_MANIFEST_DIR");
    let commit = said("git", &["-C", here, "rev-parse", "--short=12", "HEAD"])?;
    let changes = said("git", &["-C", here, "status", "--porcelain"])?;
    let changed = if changes.is_empty() { "" } else { ", changed" };
    Some(format!("{commit}{changed}"))
}

/// The profile's settings in the root's `Cargo.toml`, which nothing tells a program.
fn profile() -> String {
    let manifest = include_str!("../../Cargo.toml");
    let section = manifest.split("[profile.bench]\n").nth(1).unwrap_or("");
    let settings: Vec<_> = section
        .lines()
        .take_while(|line| !line.trim().is_empty())
        .collect();
    settings.join(", ")
}

pub fn parallelism() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// How long the run took is not known yet.
pub fn describe() -> Machine {
    let system = said("uname", &["-sr"]).unwrap_or_else(|| std::env::consts::OS.to_owned());
    let malloc = said("getconf", &["GNU_LIBC_VERSION"]);
    let malloc = malloc.unwrap_or_else(|| "the system's".to_owned());
    let began = SystemTime::now().duration_since(UNIX_EPOCH);
    let checks = if cfg!(debug_assertions) {
        ", debug assertions"
    } else {
        ""
    };
    Machine {
        processor: processor(),
        parallelism: parallelism(),
        system,
        toolchain: env!("BENCHES_TOOLCHAIN").to_owned(),
        flags: format!(
            "profile bench: {}; {}{checks}",
            profile(),
            env!("BENCHES_FLAGS")
        ),
        allocator: format!("malloc of {malloc}"),
        commit: commit(),
        began: began.map_or(0, |time| time.as_secs()),
        seconds: 0.0,
    }
}
