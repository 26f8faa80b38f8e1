//! The machine and the build, which all figures depend on.

use releasepool_benches::contest::parallelism;
use releasepool_benches::terminal::{counted, date};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use sysinfo::{CpuRefreshKind, System};

/// Runs a program and returns its output, if it succeeds.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn processor() -> String {
    let mut system = System::new();
    system.refresh_cpu_list(CpuRefreshKind::nothing());
    match system.cpus().first().map(|cpu| cpu.brand().trim()) {
        Some(brand) if !brand.is_empty() => brand.to_owned(),
        _ => format!("unknown, {}", std::env::consts::ARCH),
    }
}

fn commit() -> Option<String> {
    let describe = [
        "describe",
        "--always",
        "--exclude=*",
        "--abbrev=12",
        "--dirty=, changed",
    ];
    output(
        "git",
        &[&["-C", env!("CARGO_MANIFEST_DIR")], &describe[..]].concat(),
    )
}

/// Returns the profile's settings in the root's `Cargo.toml`, which cargo does not tell programs.
fn profile() -> String {
    let manifest = include_str!("../../Cargo.toml");
    let section = manifest.split("[profile.bench]\n").nth(1).unwrap_or("");
    let settings: Vec<_> = section
        .lines()
        .take_while(|line| !line.trim().is_empty())
        .collect();
    settings.join(", ")
}

/// The crates that are alternatives to releasepool, or contain some.
const RIVALS: &str = "\
    arc-swap basedrop bumpalo crossbeam-channel crossbeam-epoch dashmap defer-drop hazarc kovan \
    mimalloc parking_lot rayon shared_arena snmalloc-rs tikv-jemallocator trc triomphe";

/// Returns the alternatives with the versions that the workspace has locked.
fn rivals() -> String {
    let lock = include_str!("../../Cargo.lock");
    let version = |name: &str| {
        let package = lock
            .split(&format!("name = \"{name}\"\nversion = \""))
            .nth(1);
        let version = package.and_then(|rest| rest.split('"').next());
        format!("{name} {}", version.unwrap_or("unknown"))
    };
    RIVALS
        .split(' ')
        .map(version)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Describes the machine and the build, and says when the run began.
pub fn facts() -> Vec<String> {
    let malloc = output("getconf", &["GNU_LIBC_VERSION"]);
    let malloc = malloc.unwrap_or_else(|| "the operating system".to_owned());
    let began = SystemTime::now().duration_since(UNIX_EPOCH);
    let date = date(began.map_or(0, |time| time.as_secs()));
    let checks = if cfg!(debug_assertions) {
        ", debug assertions"
    } else {
        ""
    };
    let (profile, flags) = (profile(), env!("BENCHES_FLAGS"));
    let (processor, threads) = (processor(), counted(parallelism(), "thread"));
    let commit = commit().unwrap_or_else(|| "unknown".to_owned());
    vec![
        format!("processor: {processor}, {threads} at the same time"),
        format!("system: {}", System::kernel_long_version()),
        format!("compiler: {}", env!("BENCHES_TOOLCHAIN")),
        format!("build: profile bench: {profile}; {flags}{checks}"),
        format!("allocator: malloc of {malloc}"),
        format!("rivals: {}", rivals()),
        format!("commit: {commit}, on {date}"),
    ]
}
