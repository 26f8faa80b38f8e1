//! Inspects processes that play a role, while they run and in core files.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[cfg(target_env = "gnu")]
mod captured;
#[path = "../common/mod.rs"]
mod common;
mod cores;
mod image;
mod known;
#[cfg(target_env = "gnu")]
mod objects;
#[path = "../sample/mod.rs"]
mod sample;
mod shown;
mod stops;

/// Plays the role that the process was started for.
#[test]
fn role() {
    let Some(role) = common::role() else { return };
    let (role, argument) = role.split_once(' ').unwrap_or((&role, ""));
    match role {
        "sample" => sample::play(|| common::serve(str::to_owned)),
        "aborts" => cores::play(),
        "frames" => shown::play_frames(),
        "shown" => shown::play_debugged(),
        #[cfg(target_env = "gnu")]
        "churns" => objects::churns(),
        #[cfg(target_env = "gnu")]
        "waits" => captured::play(),
        "simple" | "threads" | "vectors" | "mapped" | "reserved" => image::play(role),
        _ => stops::play(role, argument),
    }
}
