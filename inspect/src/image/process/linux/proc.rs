//! Reads what `/proc` says of a process, and explains why the kernel may refuse access.

use crate::error::Error;
use crate::image::parts::Mapping;
use procfs::ProcError;
use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process, Stat};
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The kernel's id of a thread.
pub(super) type Tid = u32;

/// Returns the threads of a process.
pub(super) fn tasks(pid: u32) -> Result<Vec<Tid>, Error> {
    let tasks = Process::new(pid as i32).and_then(|process| process.tasks());
    let tasks = tasks.map_err(|error| failure(pid, "task", error))?;
    Ok(tasks
        .filter_map(|task| Some(task.ok()?.tid as Tid))
        .collect())
}

/// Returns what the kernel says of a thread. `/proc` lists only processes, but has an entry for the
/// id of any thread.
pub(super) fn stat(tid: Tid) -> Option<Stat> {
    Process::new(tid as i32).ok()?.stat().ok()
}

/// Returns whether a thread has ended.
pub(super) fn has_ended(tid: Tid) -> bool {
    stat(tid).is_none_or(|stat| matches!(stat.state, 'Z' | 'X' | 'x'))
}

/// Opens `/proc/PID` of a process that can be inspected, by one of its threads: the first one may
/// have ended before the others.
pub(super) fn open(pid: u32) -> Result<Process, Error> {
    if pid == std::process::id() {
        return Err(Error::Own(pid));
    }
    let id = i32::try_from(pid).map_err(|_| Error::NoSuchProcess(pid))?;
    let process = Process::new(id).map_err(|_| Error::NoSuchProcess(pid))?;
    // `/proc` has an entry for each thread's id, too, but only whole processes are inspected.
    let status = process.status();
    let status = status.map_err(|error| failure(pid, "status", error))?;
    if status.tgid != id {
        return Err(Error::NoSuchProcess(pid));
    }
    if status.vmsize.is_some() {
        return Ok(process);
    }
    if !has_ended(pid) {
        return Err(Error::KernelThread(pid));
    }
    let alive = tasks(pid)?.into_iter().find(|&tid| !has_ended(tid));
    let alive = alive.ok_or(Error::Zombie(pid))?;
    Process::new(alive as i32).map_err(|_| Error::Died(pid))
}

/// Returns the mappings by address, without overlaps, and for each its inode, or 0.
pub(super) fn mappings(pid: u32, process: &Process) -> Result<Vec<(Mapping, u64)>, Error> {
    let maps = process.maps();
    let maps = maps.map_err(|error| failure(pid, "maps", error))?;
    if maps.0.is_empty() {
        return Err(Error::Died(pid));
    }
    let maps = maps.0.into_iter().map(|map| (mapping(&map), map.inode));
    Ok(without_overlaps(maps))
}

/// Cuts off the parts of mappings that earlier mappings have already.
///
/// The kernel hands the list out in parts. While threads map memory, a mapping at the end of one part
/// may join its neighbours before the next part, which then begins with all of it.
fn without_overlaps(mappings: impl Iterator<Item = (Mapping, u64)>) -> Vec<(Mapping, u64)> {
    let mut end = 0;
    let mut found = Vec::new();
    for (mut mapping, inode) in mappings {
        let told = end.max(mapping.start) - mapping.start;
        mapping.start += told;
        if mapping.start < mapping.end {
            end = mapping.end;
            // Only the mapping of a file has an offset that moves with its start.
            if inode != 0 {
                mapping.offset += told;
            }
            found.push((mapping, inode));
        }
    }
    found
}

fn mapping(map: &MemoryMap) -> Mapping {
    let name = match &map.pathname {
        MMapPath::Path(path) => path.to_string_lossy().into_owned(),
        MMapPath::Heap => "[heap]".to_owned(),
        MMapPath::Stack => "[stack]".to_owned(),
        MMapPath::TStack(tid) => format!("[stack:{tid}]"),
        MMapPath::Vdso => "[vdso]".to_owned(),
        MMapPath::Vvar => "[vvar]".to_owned(),
        MMapPath::Vsyscall => "[vsyscall]".to_owned(),
        MMapPath::Rollup => "[rollup]".to_owned(),
        MMapPath::Anonymous => String::new(),
        MMapPath::Vsys(key) => format!("/SYSV{key:08x}"),
        MMapPath::Other(name) => format!("[{name}]"),
    };
    Mapping {
        start: map.address.0,
        end: map.address.1,
        read: map.perms.contains(MMPermissions::READ),
        write: map.perms.contains(MMPermissions::WRITE),
        execute: map.perms.contains(MMPermissions::EXECUTE),
        shared: map.perms.contains(MMPermissions::SHARED),
        offset: map.offset,
        name,
    }
}

/// Returns the error for a file of `/proc/PID` that could not be read.
pub(super) fn failure(pid: u32, file: &str, error: ProcError) -> Error {
    let error = match error {
        ProcError::PermissionDenied(_) => io::Error::from_raw_os_error(libc::EACCES),
        ProcError::NotFound(_) => io::Error::from_raw_os_error(libc::ENOENT),
        ProcError::Io(error, _) => error,
        other => io::Error::other(other.to_string()),
    };
    unreadable(pid, file, error)
}

/// Returns the error for a file of `/proc/PID` that could not be opened or read.
pub(super) fn unreadable(pid: u32, file: &str, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => refusal(pid, error),
        Some(libc::ENOENT | libc::ESRCH) => Error::Died(pid),
        _ => Error::io(format!("read /proc/{pid}/{file}"), error),
    }
}

/// Returns the error for a process that cannot be accessed: the reason, and what to do.
pub(super) fn refusal(pid: u32, error: io::Error) -> Error {
    if !matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) {
        return Error::io(format!("stop process {pid}"), error);
    }
    let process = i32::try_from(pid).ok().map(Process::new);
    let Some(Ok(status)) = process.map(|process| process.and_then(|found| found.status())) else {
        return Error::Died(pid);
    };
    if status.tracerpid != 0 {
        // The status has the tracing thread's id, from which this finds its process.
        let tracer = Process::new(status.tracerpid).and_then(|tracer| tracer.status());
        let tracer = tracer.map_or(status.tracerpid, |tracer| tracer.tgid);
        return Error::Traced {
            pid,
            tracer: tracer as u32,
        };
    }
    let user = rustix::process::geteuid().as_raw();
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    Error::NotPermitted {
        pid,
        advice: advice(status.ruid, user, scope.trim()),
    }
}

/// Returns what to do about a process of `owner` that `user` must not trace.
fn advice(owner: u32, user: u32, scope: &str) -> String {
    match (user, scope) {
        (_, "3") => "/proc/sys/kernel/yama/ptrace_scope is 3, so no process can be stopped until \
                     the machine starts again; take a core file instead"
            .to_owned(),
        (0, _) => "this user is root, so a container or a security policy forbids it; start the \
                   container with --cap-add=SYS_PTRACE, or run this tool outside of it"
            .to_owned(),
        (user, _) if user != owner => {
            format!("it belongs to user {owner}, and this is user {user}; run this tool with sudo")
        }
        (_, "1" | "2") => format!(
            "/proc/sys/kernel/yama/ptrace_scope is {scope}; run this tool with sudo, or set it to 0"
        ),
        _ => "it may have changed its user or given up to be traced; run this tool with sudo, and in \
              a container with --cap-add=SYS_PTRACE"
            .to_owned(),
    }
}

/// Returns the 16 random bytes that the kernel gives each program which a process runs, so that
/// `exec` changes them. `None` if they cannot be read.
pub(super) fn program_id(process: &Process) -> Option<[u8; 16]> {
    const AT_RANDOM: u64 = 25;
    let at = *process.auxv().ok()?.get(&AT_RANDOM)?;
    let mut id = [0; 16];
    // Opened anew: what was opened before an `exec` has the memory from before.
    let mem = process.open_relative("mem").ok()?;
    mem.read_exact_at(&mut id, at).ok()?;
    Some(id)
}

/// Returns the path of the program, as its mappings name it.
pub(super) fn program(process: &Process) -> Option<std::path::PathBuf> {
    let path = process.exe().ok()?;
    let name = path.to_str();
    let name = name.and_then(|path| path.strip_suffix(" (deleted)"));
    Some(name.map_or_else(|| path.clone(), |name| Path::new(name).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{advice, without_overlaps};
    use crate::image::parts::Mapping;

    #[test]
    fn mappings_that_join_while_they_are_told_do_not_overlap() {
        let told = [
            (0x1000, 0x2000, 0),
            (0x1000, 0x4000, 0),
            (0x3000, 0x4000, 0),
            (0x3000, 0x6000, 5),
            (0x7000, 0x8000, 5),
        ];
        let told = told.map(|(start, end, inode)| {
            let mapping = Mapping {
                start,
                end,
                offset: if inode == 0 { 0 } else { start },
                ..Mapping::default()
            };
            (mapping, inode)
        });
        let found = without_overlaps(told.into_iter());
        let found: Vec<_> = found
            .iter()
            .map(|(mapping, inode)| (mapping.start, mapping.end, mapping.offset, *inode))
            .collect();
        assert_eq!(
            found,
            [
                (0x1000, 0x2000, 0, 0),
                (0x2000, 0x4000, 0, 0),
                (0x4000, 0x6000, 0x4000, 5),
                (0x7000, 0x8000, 0x7000, 5),
            ]
        );
    }

    #[test]
    fn the_advice_fits_the_reason() {
        assert!(advice(7, 0, "").contains("SYS_PTRACE"));
        assert!(advice(7, 8, "1").contains("belongs to user 7"));
        assert!(advice(8, 8, "1").contains("ptrace_scope is 1"));
        assert!(advice(8, 8, "3").contains("core file"));
        assert!(advice(8, 8, "").contains("sudo"));
    }
}
