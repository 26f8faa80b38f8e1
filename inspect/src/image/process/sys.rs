//! The system calls, each with its arguments in Rust's types.

use libc::{c_int, c_long, c_void, pid_t};
use std::io;
use std::ptr::null_mut;

/// The kernel's id of a thread.
pub(super) type Tid = u32;

/// The event of a stop that `PTRACE_INTERRUPT`, or a stop of the whole group, has caused.
const PTRACE_EVENT_STOP: c_int = 128;

/// Sets of registers, by the types of the notes that core files have them in.
#[derive(Clone, Copy, Debug)]
pub(super) enum RegisterSet {
    /// `NT_PRSTATUS`.
    General = 1,
    /// `NT_PRFPREG`.
    #[cfg(target_arch = "aarch64")]
    Vectors = 2,
    /// `NT_X86_XSTATE`.
    #[cfg(target_arch = "x86_64")]
    Vectors = 0x202,
    /// `NT_ARM_TLS`.
    #[cfg(target_arch = "aarch64")]
    ThreadPointer = 0x401,
}

/// What a wait for a thread has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// It still runs.
    Running,
    /// It has stopped, with a signal to deliver when it goes on, or 0.
    Stopped(c_int),
    /// It has ended.
    Gone,
}

fn check(result: c_long) -> io::Result<()> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Makes the calling thread the tracer of a thread, which goes on.
pub(super) fn seize(tid: Tid) -> io::Result<()> {
    // SAFETY: the request takes no pointer into memory of ours.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_SEIZE,
            tid as pid_t,
            null_mut::<c_void>(),
            null_mut::<c_void>(),
        )
    };
    check(result)
}

/// Tells a seized thread to stop.
pub(super) fn interrupt(tid: Tid) -> io::Result<()> {
    // SAFETY: the request takes no pointer into memory of ours.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_INTERRUPT,
            tid as pid_t,
            null_mut::<c_void>(),
            null_mut::<c_void>(),
        )
    };
    check(result)
}

/// Lets a stopped thread go on, with `signal` delivered unless it is 0.
pub(super) fn detach(tid: Tid, signal: c_int) -> io::Result<()> {
    // SAFETY: the request takes no pointer; `signal` is passed in the place of one.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_DETACH,
            tid as pid_t,
            null_mut::<c_void>(),
            std::ptr::without_provenance_mut::<c_void>(signal as usize),
        )
    };
    check(result)
}

/// Reads registers of a stopped thread; returns how many bytes there are.
pub(super) fn registers(tid: Tid, set: RegisterSet, buffer: &mut [u8]) -> io::Result<usize> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast::<c_void>(),
        iov_len: buffer.len(),
    };
    // SAFETY: the kernel writes at most `iov_len` bytes to `iov_base`, which are `buffer`'s, and the
    // length to `part`.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_GETREGSET,
            tid as pid_t,
            std::ptr::without_provenance_mut::<c_void>(set as usize),
            (&raw mut part).cast::<c_void>(),
        )
    };
    check(result)?;
    Ok(part.iov_len)
}

/// Returns what a seized thread does, without waiting. Nothing is taken from whoever else waits for
/// the thread: its parent still learns of its end.
pub(super) fn poll(tid: Tid) -> io::Result<Waited> {
    let options = libc::WSTOPPED | libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: a `siginfo_t` of zeros is valid, and the kernel writes only there.
    let (result, info) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        (
            libc::waitid(libc::P_PID, tid as libc::id_t, &raw mut info, options),
            info,
        )
    };
    if result == -1 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ECHILD) => Ok(Waited::Gone),
            Some(libc::EINTR) => Ok(Waited::Running),
            _ => Err(error),
        };
    }
    // SAFETY: waitid sets these members, or leaves them zero if nothing has happened.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if pid == 0 {
        return Ok(Waited::Running);
    }
    Ok(match info.si_code {
        // A stop before a signal is delivered has no event; the signal must not get lost.
        libc::CLD_TRAPPED | libc::CLD_STOPPED if status >> 8 == 0 => Waited::Stopped(status & 0x7f),
        libc::CLD_TRAPPED | libc::CLD_STOPPED => {
            debug_assert_eq!(
                status >> 8,
                PTRACE_EVENT_STOP,
                "no other events were asked for"
            );
            Waited::Stopped(0)
        }
        _ => Waited::Gone,
    })
}

/// A range of another process's memory: its address and its length.
pub(super) fn remote(address: u64, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address as usize),
        iov_len: len,
    }
}

/// Copies ranges of another process's memory, made by [`remote`], to `buffer`, one after the other;
/// returns how many bytes were copied before the first page that cannot be read.
pub(super) fn read_memory(
    tid: Tid,
    remote: &[libc::iovec],
    buffer: &mut [u8],
) -> io::Result<usize> {
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast::<c_void>(),
        iov_len: buffer.len(),
    };
    // SAFETY: the kernel writes at most `iov_len` bytes to the only local range, which is `buffer`;
    // the remote ranges are of another process, and are checked by the kernel.
    let read = unsafe {
        libc::process_vm_readv(
            tid as pid_t,
            &raw const local,
            1,
            remote.as_ptr(),
            remote.len() as libc::c_ulong,
            0,
        )
    };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// A range of pages with the same properties, as the kernel returns it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageRegion {
    pub(super) start: u64,
    pub(super) end: u64,
    categories: u64,
}

/// The arguments of `PAGEMAP_SCAN`: `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

const PAGEMAP_SCAN: u64 = 0xc060_6610;
const PAGE_IS_FILE: u64 = 1 << 2;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_SWAPPED: u64 = 1 << 4;
const PAGE_IS_PFNZERO: u64 = 1 << 5;

/// Finds pages with contents from `start` on, by an open `/proc/PID/pagemap`; those of files only if
/// `files`. Returns how many regions there are, and where the search has ended.
///
/// # Errors
///
/// `ENOTTY` before Linux 6.7.
pub(super) fn scan_pages(
    pagemap: &std::fs::File,
    (start, end): (u64, u64),
    files: bool,
    regions: &mut [PageRegion],
) -> io::Result<(usize, u64)> {
    use std::os::fd::AsRawFd;
    let unwanted = if files {
        PAGE_IS_PFNZERO
    } else {
        PAGE_IS_PFNZERO | PAGE_IS_FILE
    };
    let mut arguments = ScanArguments {
        size: size_of::<ScanArguments>() as u64,
        start,
        end,
        vec: regions.as_mut_ptr().expose_provenance() as u64,
        vec_len: regions.len() as u64,
        category_inverted: unwanted,
        category_mask: unwanted,
        category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
        // No page that is found has it: so adjacent pages are always one region.
        return_mask: PAGE_IS_PFNZERO,
        ..ScanArguments::default()
    };
    // SAFETY: the kernel reads and writes `arguments`, as large as `size` says, and writes at most
    // `vec_len` regions to `vec`, which are those of `regions`.
    let found = unsafe {
        libc::ioctl(
            pagemap.as_raw_fd(),
            PAGEMAP_SCAN as libc::Ioctl,
            &raw mut arguments,
        )
    };
    let found = usize::try_from(found).map_err(|_| io::Error::last_os_error())?;
    Ok((found, arguments.walk_end))
}
