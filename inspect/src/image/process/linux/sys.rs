//! The system calls, each with its arguments in Rust's types.

use libc::pid_t;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io;

/// The kernel's id of a thread.
pub(super) type Tid = u32;

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

/// The result of a wait for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// It still runs.
    Running,
    /// It has stopped, with a signal to deliver when it goes on, or 0.
    Stopped(i32),
    /// It has ended.
    Gone,
}

/// A request of ptrace to a thread.
///
/// # Safety
///
/// If the request makes the kernel write through `data`, that place is as the request needs it.
unsafe fn ptrace(request: libc::c_uint, tid: Tid, about: usize, data: usize) -> io::Result<()> {
    // SAFETY: `data` is as the caller says, and no request here uses `about` as a pointer.
    match unsafe { libc::ptrace(request as _, tid as pid_t, about, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Makes the calling thread the tracer of a thread, which goes on.
pub(super) fn seize(tid: Tid) -> io::Result<()> {
    // SAFETY: the request takes no pointer.
    unsafe { ptrace(libc::PTRACE_SEIZE, tid, 0, 0) }
}

/// Tells a seized thread to stop.
pub(super) fn interrupt(tid: Tid) -> io::Result<()> {
    // SAFETY: the request takes no pointer.
    unsafe { ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0) }
}

/// Lets a stopped thread go on, with `signal` delivered unless it is 0. It may be a real-time signal,
/// which nix does not know.
pub(super) fn detach(tid: Tid, signal: i32) -> io::Result<()> {
    // SAFETY: the request takes no pointer; `signal` is passed in the place of one.
    unsafe { ptrace(libc::PTRACE_DETACH, tid, 0, signal as usize) }
}

/// Reads registers of a stopped thread; returns how many bytes there are.
pub(super) fn registers(tid: Tid, set: RegisterSet, buffer: &mut [u8]) -> io::Result<usize> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let data = (&raw mut part).expose_provenance();
    // SAFETY: the kernel writes at most `iov_len` bytes to `iov_base`, which are `buffer`'s, and the
    // length to `part`.
    unsafe { ptrace(libc::PTRACE_GETREGSET, tid, set as usize, data)? };
    Ok(part.iov_len)
}

/// Returns what a seized thread does, without waiting. Nothing is taken from whoever else waits for
/// the thread: its parent still learns of its end.
pub(super) fn poll(tid: Tid) -> io::Result<Waited> {
    let thread = Pid::from_raw(tid as pid_t).ok_or(io::ErrorKind::InvalidInput)?;
    let options = WaitIdOptions::STOPPED
        | WaitIdOptions::EXITED
        | WaitIdOptions::NOHANG
        | WaitIdOptions::NOWAIT
        | WaitIdOptions::from_bits_retain(libc::__WALL as u32);
    let status = match waitid(WaitId::Pid(thread), options) {
        Err(Errno::CHILD) => return Ok(Waited::Gone),
        Err(Errno::INTR) | Ok(None) => return Ok(Waited::Running),
        status => status?,
    };
    let stop = status.and_then(|status| status.stopping_signal().or(status.trapping_signal()));
    Ok(match stop {
        // A stop before a signal is delivered has no event; the signal must not get lost.
        Some(signal) if signal >> 8 == 0 => Waited::Stopped(signal & 0x7f),
        Some(_) => Waited::Stopped(0),
        None => Waited::Gone,
    })
}

/// Reads another process's memory into `buffer`; returns how many bytes were read before the first
/// page that cannot be read.
pub(super) fn read_memory(tid: Tid, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let range = |base, iov_len| libc::iovec {
        iov_base: std::ptr::with_exposed_provenance_mut(base),
        iov_len,
    };
    let local = range(buffer.as_mut_ptr().expose_provenance(), buffer.len());
    let remote = range(address as usize, buffer.len());
    // SAFETY: the kernel writes at most `iov_len` bytes to the local range, which is `buffer`; the
    // remote one is of another process, and is checked by the kernel.
    let read = unsafe { libc::process_vm_readv(tid as pid_t, &local, 1, &remote, 1, 0) };
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
