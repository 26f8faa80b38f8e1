//! The resident memory of this process, in bytes; on Linux only.

/// Reads a line of this process's status. `sysinfo` does not have the peak.
#[cfg(target_os = "linux")]
fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(not(target_os = "linux"))]
fn status(_: &str) -> Option<u64> {
    None
}

/// Returns the resident memory, or `None` if the system does not tell it.
pub fn now() -> Option<u64> {
    status("VmRSS:")
}

/// Returns the peak of the resident memory, or `None` if the system does not tell it.
pub fn peak() -> Option<u64> {
    status("VmHWM:")
}
