//! Stops all threads of a process, and lets them go whatever happens.

use super::proc;
use super::sys::{self, RegisterSet, Tid, Waited};
use crate::error::Error;
use crate::image::parts::Thread;
use crate::image::registers::Machine;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long threads are waited for: long, as the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long threads are waited for that wait in the kernel and cannot be interrupted: short, as the
/// others have stopped meanwhile.
const PATIENCE_IN_KERNEL: Duration = Duration::from_millis(250);

/// How long threads are looked for that the kernel counts but does not list.
const PATIENCE_FOR_OTHERS: Duration = Duration::from_millis(250);

/// How much the kernel writes for the vector registers, at most: AMX has 8 KiB.
const VECTORS: usize = 16 << 10;

#[cfg(target_arch = "x86_64")]
const MACHINE: Machine = Machine::X86_64;
#[cfg(target_arch = "aarch64")]
const MACHINE: Machine = Machine::Aarch64;

/// A process whose threads have all stopped. They go on when it is dropped; the kernel lets them go
/// too if the thread that stopped them ends in another way.
pub(super) struct StoppedProcess {
    threads: Vec<Traced>,
    /// When the first thread was told to stop.
    began: Instant,
}

struct Traced {
    tid: Tid,
    /// The signal that it was about to receive, or 0.
    signal: i32,
}

impl StoppedProcess {
    /// Stops all threads of a process. What follows must be done by the same thread.
    pub(super) fn stop(pid: u32) -> Result<StoppedProcess, Error> {
        let began = Instant::now();
        let deadline = began + PATIENCE;
        let mut process = StoppedProcess {
            threads: Vec::new(),
            began,
        };
        let mut known = HashSet::new();
        let mut refused = None;
        // Since when no thread was found that had to be stopped.
        let mut quiet = None;
        // Threads that still run may start others, so it ends when all known ones have stopped and
        // no other exists.
        loop {
            let mut pending = Vec::new();
            for tid in proc::tasks(pid)? {
                if known.contains(&tid) {
                    continue;
                }
                match sys::seize(tid).and_then(|()| sys::interrupt(tid)) {
                    Ok(()) => {
                        known.insert(tid);
                        pending.push(tid);
                    }
                    // It has ended meanwhile.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(_) if proc::has_ended(tid) => {}
                    Err(error) => refused = Some(error),
                }
            }
            if let Some(error) = refused {
                return Err(proc::refusal(pid, error));
            }
            if pending.is_empty() {
                // The kernel may end the list early, where a thread has ended meanwhile.
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
        // Those that have ended and are traced, and the first one, count until they are waited for.
        // They are looked at before they are counted: none of them goes away.
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
        let read = |tid, set, buffer: &mut [u8]| sys::registers(tid, set, buffer).unwrap_or(0);
        let threads = self.threads.iter().filter_map(|thread| {
            let tid = thread.tid;
            let general_len = read(tid, RegisterSet::General, &mut general);
            let vectors_len = read(tid, RegisterSet::Vectors, &mut vectors);
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
            // It fails only if the thread was killed meanwhile.
            let _ = sys::detach(thread.tid, thread.signal);
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
        match sys::poll(tid) {
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
            // The end of the first thread is not told before that of all others was waited for.
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

#[cfg(target_arch = "x86_64")]
fn thread_pointer(_: Tid) -> Option<u64> {
    // It is one of the general registers.
    None
}

#[cfg(target_arch = "aarch64")]
fn thread_pointer(tid: Tid) -> Option<u64> {
    let mut word = [0; 8];
    // There may be a second word, for SME.
    let len = sys::registers(tid, RegisterSet::ThreadPointer, &mut word).ok()?;
    (len == 8).then(|| u64::from_le_bytes(word))
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
    fn a_stopped_process_has_registers_until_it_goes_on() {
        let child = sleeper();
        let process = StoppedProcess::stop(child.id()).unwrap();
        assert_eq!(state(child.id()), 't');
        assert_eq!(process.representative(), child.id());
        assert_eq!(process.threads().len(), 1);
        let (_, threads) = process.resume();
        assert_eq!(threads, 1);
        end(child);
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

    #[test]
    fn a_process_goes_on_if_the_thread_that_stopped_it_ends() {
        let child = sleeper();
        let pid = child.id();
        let thread = std::thread::spawn(move || {
            std::mem::forget(StoppedProcess::stop(pid).unwrap());
            assert_eq!(state(pid), 't');
        });
        thread.join().unwrap();
        end(child);
    }
}
