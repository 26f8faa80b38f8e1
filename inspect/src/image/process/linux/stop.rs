//! Stops all threads of a process, and lets them go whatever happens.

use super::proc::{self, Tid};
use crate::error::Error;
use crate::image::parts::{Machine, Thread};
use libc::pid_t;
use object::elf::{NT_ARM_TLS, NT_PRSTATUS, NoteType};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

/// How long to wait for threads to stop: long, as the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait for a thread that waits in the kernel and cannot be interrupted: not long, as
/// the others have stopped meanwhile.
const PATIENCE_IN_KERNEL: Duration = Duration::from_millis(250);

/// How long to look for threads that the kernel counts but does not list.
const PATIENCE_FOR_OTHERS: Duration = Duration::from_millis(250);

/// The most bytes that the kernel writes for the vector registers: AMX has 8 KiB.
const VECTORS: usize = 16 << 10;

#[cfg(target_arch = "x86_64")]
const MACHINE: Machine = Machine::X86_64;
#[cfg(target_arch = "aarch64")]
const MACHINE: Machine = Machine::Aarch64;

/// A process whose threads have all stopped. The threads go on when this value is dropped; the
/// kernel lets them go, too, if the thread that stopped them ends without dropping it.
pub(super) struct StoppedProcess {
    threads: Vec<Traced>,
    /// When the first thread was told to stop.
    began: Instant,
}

struct Traced {
    tid: Tid,
    /// The signal that the thread was about to receive, or 0.
    signal: i32,
}

impl StoppedProcess {
    /// Stops all threads of a process. The result's methods must be called by the same thread.
    pub(super) fn stop(pid: u32) -> Result<StoppedProcess, Error> {
        let began = Instant::now();
        let deadline = began + PATIENCE;
        let mut process = StoppedProcess {
            threads: Vec::new(),
            began,
        };
        let mut known = HashSet::new();
        let mut refused = None;
        // Since when no new thread has been listed; `None` if the last list had a new one.
        let mut quiet = None;
        // Threads that still run may start others, so the loop ends when all known threads have
        // stopped and no other exists.
        loop {
            let mut pending = Vec::new();
            for tid in proc::tasks(pid)? {
                if known.contains(&tid) {
                    continue;
                }
                match seize(tid).and_then(|()| interrupt(tid)) {
                    Ok(()) => {
                        known.insert(tid);
                        pending.push(tid);
                    }
                    // The thread has ended meanwhile.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(_) if proc::has_ended(tid) => {}
                    Err(error) => refused = Some(error),
                }
            }
            if let Some(error) = refused {
                return Err(proc::refusal(pid, error));
            }
            if pending.is_empty() {
                // The kernel's list may be too short if a thread ends while it is read, so it is
                // read again for a while.
                let quiet = *quiet.get_or_insert_with(Instant::now);
                if quiet.elapsed() > PATIENCE_FOR_OTHERS || !process.others_run(pid)? {
                    break;
                }
                std::thread::yield_now();
            } else {
                quiet = None;
            }
            for tid in pending {
                process.threads.extend(wait(pid, tid, deadline)?);
            }
            if Instant::now() > deadline {
                return Err(Error::TooManyThreads(pid));
            }
        }
        if process.threads.is_empty() {
            return Err(Error::Died(pid));
        }
        Ok(process)
    }

    /// Returns whether a process has threads that have neither stopped nor ended. If it has none, no
    /// thread can start any more.
    fn others_run(&self, pid: u32) -> Result<bool, Error> {
        let stopped: HashSet<Tid> = self.threads.iter().map(|thread| thread.tid).collect();
        // The kernel's count includes threads that have ended, as long as they are traced or are
        // the first one. Their states are read before the count; no such thread goes away in
        // between.
        let is = |tid, state| proc::stat(tid).is_some_and(|stat| stat.state == state);
        let tasks = proc::tasks(pid)?.into_iter();
        let others = tasks.filter(|tid| !stopped.contains(tid));
        let ended = others.filter(|tid| is(*tid, 'Z'));
        let quiet = stopped.len() + ended.count();
        Ok(proc::stat(pid).is_some_and(|stat| stat.num_threads as usize > quiet))
    }

    /// Returns a thread to read memory by. The first thread may be a zombie.
    pub(super) fn representative(&self) -> Tid {
        self.threads[0].tid
    }

    /// Reads the registers of all threads.
    pub(super) fn threads(&self) -> Vec<Thread> {
        let mut general = [0; 1024];
        let mut vectors = vec![0; VECTORS];
        let read = |tid, set, buffer: &mut [u8]| registers(tid, set, buffer).unwrap_or(0);
        let threads = self.threads.iter().filter_map(|thread| {
            let tid = thread.tid;
            let general_len = read(tid, NT_PRSTATUS, &mut general);
            let vectors_len = read(tid, MACHINE.vectors(), &mut vectors);
            MACHINE.thread(
                tid,
                &general[..general_len],
                &vectors[..vectors_len],
                thread_pointer(tid),
            )
        });
        threads.collect()
    }

    /// Lets all threads go on; returns how long they have been stopped, and how many there were.
    pub(super) fn resume(mut self) -> (Duration, usize) {
        let threads = self.threads.len();
        self.detach();
        (self.began.elapsed(), threads)
    }

    fn detach(&mut self) {
        for thread in self.threads.drain(..) {
            // Detaching fails only if the thread was killed meanwhile.
            let _ = detach(thread.tid, thread.signal);
        }
    }
}

impl Drop for StoppedProcess {
    fn drop(&mut self) {
        self.detach();
    }
}

/// Waits until a thread has stopped; `None` if it has ended.
fn wait(pid: u32, tid: Tid, deadline: Instant) -> Result<Option<Traced>, Error> {
    let began = Instant::now();
    let mut attempts = 0u32;
    loop {
        match poll(tid) {
            Ok(Waited::Stopped(signal)) => return Ok(Some(Traced { tid, signal })),
            Ok(Waited::Gone) => return Ok(None),
            Ok(Waited::Running) => {}
            Err(error) => return Err(Error::io(format!("wait for thread {tid}"), error)),
        }
        attempts += 1;
        if attempts < 100 {
            std::thread::yield_now();
            continue;
        }
        match proc::stat(tid).map(|stat| stat.state) {
            // The kernel does not report the end of the first thread before those of all others.
            None | Some('Z' | 'X' | 'x') => return Ok(None),
            Some('D') if began.elapsed() > PATIENCE_IN_KERNEL => {
                return Err(Error::WaitsInKernel { pid, tid });
            }
            Some(_) if Instant::now() > deadline => {
                return Err(Error::DoesNotStop {
                    pid,
                    tid,
                    seconds: PATIENCE.as_secs(),
                });
            }
            Some(_) => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

fn thread_pointer(tid: Tid) -> Option<u64> {
    if MACHINE == Machine::X86_64 {
        // On x86-64 the thread pointer is one of the general registers.
        return None;
    }
    let mut word = [0; 8];
    // With SME the kernel has a second word, which does not fit into the buffer.
    let len = registers(tid, NT_ARM_TLS, &mut word).ok()?;
    (len == 8).then(|| u64::from_le_bytes(word))
}

/// The result of a wait for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    /// The thread still runs.
    Running,
    /// The thread has stopped, with a signal to deliver when it goes on, or 0.
    Stopped(i32),
    /// The thread has ended.
    Gone,
}

/// Makes a ptrace request about a thread.
///
/// # Safety
///
/// If the kernel uses `data` as a pointer for this request, the pointer must be valid for that use.
unsafe fn ptrace(request: libc::c_uint, tid: Tid, about: usize, data: usize) -> io::Result<()> {
    // SAFETY: `data` is valid by the contract; no request here uses `about` as a pointer.
    match unsafe { libc::ptrace(request as _, tid as pid_t, about, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Makes the calling thread the tracer of a thread, which goes on.
fn seize(tid: Tid) -> io::Result<()> {
    // SAFETY: the request takes no pointer.
    unsafe { ptrace(libc::PTRACE_SEIZE, tid, 0, 0) }
}

/// Tells a seized thread to stop.
fn interrupt(tid: Tid) -> io::Result<()> {
    // SAFETY: the request takes no pointer.
    unsafe { ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0) }
}

/// Lets a stopped thread go on, with `signal` delivered unless it is 0. `signal` may be a real-time
/// signal, which the crate `nix` does not know.
fn detach(tid: Tid, signal: i32) -> io::Result<()> {
    // SAFETY: the request takes no pointer; `signal` is passed in the place of one.
    unsafe { ptrace(libc::PTRACE_DETACH, tid, 0, signal as usize) }
}

/// Reads the registers of a stopped thread that core files have in notes of the type `set`; returns
/// how many bytes there are.
fn registers(tid: Tid, set: NoteType, buffer: &mut [u8]) -> io::Result<usize> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let data = (&raw mut part).expose_provenance();
    // SAFETY: the kernel writes at most `iov_len` bytes to `iov_base`, which are `buffer`'s, and the
    // length to `part`.
    unsafe { ptrace(libc::PTRACE_GETREGSET, tid, set.0 as usize, data)? };
    Ok(part.iov_len)
}

/// Returns what a seized thread does, without waiting. Consumes no status: the thread's parent
/// still learns of its end.
fn poll(tid: Tid) -> io::Result<Waited> {
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
        // A thread that stopped before a signal was delivered reports no event; the signal must not
        // get lost.
        Some(signal) if signal >> 8 == 0 => Waited::Stopped(signal & 0x7f),
        Some(_) => Waited::Stopped(0),
        None => Waited::Gone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn state(tid: Tid) -> char {
        proc::stat(tid).expect("it runs").state
    }

    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").spawn().unwrap()
    }

    fn end(mut child: Child) {
        while matches!(state(child.id()), 't' | 'T') {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_goes_on_if_the_inspector_panics() {
        let child = sleeper();
        let pid = child.id();
        let result = std::panic::catch_unwind(|| {
            let _process = StoppedProcess::stop(pid).unwrap();
            assert_eq!(state(pid), 't');
            panic!("of the test");
        });
        assert!(result.is_err());
        end(child);
    }
}
