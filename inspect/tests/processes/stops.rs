//! Processes go on whatever happens, and what cannot be inspected is named in words.

use crate::common::inspect;
use crate::common::{self, Target};
use releasepool_inspect::error::Error;
use releasepool_inspect::graph::Graph;
use releasepool_inspect::image::{Image, Memory, ProgramImage};
use releasepool_inspect::store;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

static COUNT: AtomicU64 = AtomicU64::new(0);
#[used]
static PLACE: AtomicUsize = AtomicUsize::new(0);

/// How many threads start others all the time.
const SPAWNERS: usize = 4;

extern "C" fn count(_: libc::c_int) {
    COUNT.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn end_thread(_: libc::c_int) {
    // SAFETY: the call ends the calling thread at once; see the role `leaderless`.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
}

extern "C" fn sleep(_: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the calls have no preconditions. The parent's end ends this process, too.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::sleep(1000);
        libc::_exit(0)
    }
}

/// Runs `step` all the time, on a thread of its own.
fn always(step: impl Fn() + Send + 'static) {
    std::thread::spawn(move || {
        loop {
            step();
        }
    });
}

/// Plays a role.
pub fn play(role: &str, argument: &str) {
    match role {
        "counts" => {
            always(|| {
                COUNT.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_micros(100));
            });
        }
        "spawns" => {
            let words: &[AtomicU64] = (0..4 << 20).map(AtomicU64::new).collect::<Vec<_>>().leak();
            let (first, last) = (&words[0], &words[words.len() - 1]);
            last.store(0, Ordering::SeqCst);
            PLACE.store(words.as_ptr().addr(), Ordering::SeqCst);
            for _ in 0..SPAWNERS {
                always(|| {
                    let thread = std::thread::spawn(|| {
                        for _ in 0..50 {
                            first.fetch_add(1, Ordering::SeqCst);
                            last.fetch_add(1, Ordering::SeqCst);
                        }
                        COUNT.fetch_add(1, Ordering::SeqCst)
                    });
                    thread.join().unwrap();
                });
            }
        }
        "signals" => {
            // SAFETY: the handler does what signal handlers may: an atomic addition.
            unsafe {
                let handler: extern "C" fn(libc::c_int) = count;
                libc::signal(libc::SIGRTMIN(), handler as *const () as libc::sighandler_t);
            }
        }
        "large" => {
            let bytes = argument.parse().unwrap();
            let memory = vec![1u8; bytes].leak();
            std::hint::black_box(memory);
            always(|| {
                COUNT.fetch_add(1, Ordering::SeqCst);
            });
        }
        "tracer" => {
            let pid: i32 = argument.parse().unwrap();
            // SAFETY: the request takes no pointer into this process's memory.
            let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0usize, 0usize) };
            assert_eq!(result, 0);
        }
        "leaderless" => {
            std::thread::spawn(|| {
                // SAFETY: the handler ends only the thread that it runs on, the first one, whose
                // stack stays; the signal goes to that thread.
                unsafe {
                    let handler: extern "C" fn(libc::c_int) = end_thread;
                    libc::signal(libc::SIGUSR2, handler as *const () as libc::sighandler_t);
                    let pid = libc::getpid();
                    libc::syscall(libc::SYS_tgkill, pid, pid, libc::SIGUSR2);
                }
                while common::state(std::process::id()) != 'Z' {
                    std::thread::yield_now();
                }
                common::serve(|_| COUNT.fetch_add(1, Ordering::SeqCst).to_string());
            });
            std::thread::sleep(Duration::from_secs(3600));
        }
        "vforks" => {
            always(|| {
                COUNT.fetch_add(1, Ordering::SeqCst);
            });
            std::thread::spawn(|| {
                let stack = vec![0u64; 8192].leak();
                // SAFETY: the child has a stack of its own and only sleeps; its parent, this thread,
                // does nothing until the child has ended.
                unsafe {
                    let top = stack.as_mut_ptr().add(stack.len());
                    let flags = libc::CLONE_VM | libc::CLONE_VFORK;
                    libc::clone(sleep, top.cast(), flags, std::ptr::null_mut());
                }
            });
            let waits = || {
                let tasks = std::fs::read_dir("/proc/self/task").unwrap();
                let mut tasks = tasks.map(|task| task.unwrap().file_name());
                tasks.any(|tid| common::state(tid.to_str().unwrap().parse().unwrap()) == 'D')
            };
            while !waits() {
                std::thread::yield_now();
            }
        }
        "execs" => {
            std::thread::spawn(|| {
                std::thread::sleep(Duration::from_millis(150));
                let mut again = Command::new(std::env::current_exe().unwrap());
                panic!("{}", again.args(std::env::args().skip(1)).exec());
            });
            // A leak, so that the inspector looks again; on a thread, so that no address is left on
            // a stack.
            let leak = || std::mem::forget(std::hint::black_box(releasepool::Ref::new([1u64; 4])));
            std::thread::spawn(leak).join().unwrap();
        }
        "inspects" => {
            let pid = argument.parse().unwrap();
            common::serve(|_| match ProgramImage::take(pid) {
                Ok(image) => format!("{} threads", image.threads().len()),
                Err(error) => error.to_string(),
            });
        }
        _ => panic!("no such role: {role}"),
    }
    common::serve(|_| COUNT.load(Ordering::SeqCst).to_string());
}

/// Checks that the process runs and counts.
fn goes_on(target: &mut Target) {
    let before: u64 = target.ask("count").parse().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while target.ask("count").parse::<u64>().unwrap() == before {
        assert!(Instant::now() < deadline, "state {}", target.state());
        std::thread::sleep(Duration::from_millis(1));
    }
    let state = target.state();
    assert!(!matches!(state, 't' | 'T'), "state {state}");
}

#[test]
fn threads_that_start_meanwhile_are_stopped_too() {
    let mut target = Target::start("spawns");
    for _ in 0..40 {
        let image = ProgramImage::take(target.pid()).unwrap();
        // There are the first thread and the spawners at least.
        let threads = image.threads().len();
        assert!(threads > SPAWNERS, "{threads}");
        let (place, _) = image.symbols().find("processes::stops::PLACE").unwrap();
        let words = image.word(place).unwrap();
        // The words are far apart: a thread that still ran would change one of them after it was
        // copied, and the other before.
        let first = image.word(words).unwrap();
        let last = image.word(words + (4 << 20) * 8 - 8).unwrap();
        let is_stopped = first > 0 && first >= last && first - last <= SPAWNERS as u64;
        assert!(is_stopped, "{first} {last}");
        goes_on(&mut target);
    }
}

#[test]
fn a_process_that_was_stopped_before_stays_stopped() {
    let mut target = Target::start("counts");
    let pid = Pid::from_child(&target.child);
    kill_process(pid, Signal::STOP).unwrap();
    while target.state() != 'T' {
        std::thread::yield_now();
    }
    ProgramImage::take(target.pid()).unwrap();
    // The kernel lets each thread stop again by itself.
    while target.state() != 'T' {
        std::thread::yield_now();
    }
    kill_process(pid, Signal::CONT).unwrap();
    goes_on(&mut target);
}

#[test]
fn no_signal_gets_lost() {
    const SIGNALS: u64 = 2000;
    let mut target = Target::start("signals");
    let pid = target.pid();
    let sender = std::thread::spawn(move || {
        for _ in 0..SIGNALS {
            // SAFETY: kill has no preconditions.
            while unsafe { libc::kill(pid as i32, libc::SIGRTMIN()) } != 0 {
                std::thread::yield_now();
            }
        }
    });
    let mut taken = 0;
    while !sender.is_finished() || taken < 5 {
        ProgramImage::take(pid).unwrap();
        taken += 1;
    }
    sender.join().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while target.ask("count") != SIGNALS.to_string() {
        let count = target.ask("count");
        assert!(Instant::now() < deadline, "{count} of {SIGNALS}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn processes_that_do_not_exist_are_named() {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id();
    while common::state(pid) != 'Z' {
        std::thread::yield_now();
    }
    let error = ProgramImage::take(pid).err().unwrap();
    assert!(matches!(error, Error::Zombie(_)), "{error}");
    child.wait().unwrap();
    for pid in [pid, 0, u32::MAX, i32::MAX as u32] {
        let error = ProgramImage::take(pid).err().unwrap();
        assert_eq!(error.to_string(), format!("there is no process {pid}"));
    }
    let error = ProgramImage::take(std::process::id()).err().unwrap();
    assert!(matches!(error, Error::Own(_)), "{error}");
    if std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
        let error = ProgramImage::take(2).err().unwrap();
        assert!(matches!(error, Error::KernelThread(2)), "{error}");
    }
}

#[test]
fn a_thread_of_a_process_is_no_process() {
    let target = Target::start("counts");
    let image = ProgramImage::take(target.pid()).unwrap();
    let tid = image.threads().iter().map(|thread| thread.tid).max();
    assert_ne!(tid, Some(target.pid()));
    let error = ProgramImage::take(tid.unwrap()).err().unwrap();
    assert!(matches!(error, Error::NoSuchProcess(_)), "{error}");
}

#[test]
fn a_process_goes_on_if_one_of_its_threads_cannot_stop() {
    let mut target = Target::start("vforks");
    let error = ProgramImage::take(target.pid()).err().unwrap();
    assert!(matches!(error, Error::WaitsInKernel { .. }), "{error}");
    goes_on(&mut target);
}

#[test]
fn a_process_whose_first_thread_has_ended_is_inspected() {
    let mut target = Target::start("leaderless");
    assert_eq!(target.state(), 'Z');
    let image = ProgramImage::take(target.pid()).unwrap();
    assert!(!image.threads().is_empty());
    let mut threads = image.threads().iter();
    assert!(threads.all(|thread| thread.tid != target.pid()));
    assert!(!image.modules().is_empty());
    assert_eq!(target.ask("count"), "0");
    assert_eq!(target.ask("count"), "1");
}

#[test]
fn a_process_may_end_at_any_time() {
    let mut ends = 0;
    for delay in 0..60 {
        let mut target = Target::start(&format!("large {}", 8 << 20));
        let (pid, killed) = (target.pid(), Pid::from_child(&target.child));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(delay * 100));
            _ = kill_process(killed, Signal::KILL);
        });
        match ProgramImage::take(pid) {
            Ok(image) => assert!(!image.threads().is_empty()),
            Err(Error::Died(_) | Error::NoSuchProcess(_) | Error::Zombie(_)) => {
                ends += 1;
            }
            Err(error) => panic!("{error}"),
        }
        killer.join().unwrap();
        // The inspector has not consumed the exit status: the parent still gets it.
        assert!(!target.child.wait().unwrap().success());
    }
    assert!(ends > 0);
}

#[test]
fn the_tracer_of_a_traced_process_is_named() {
    let mut target = Target::start("counts");
    let tracer = Target::start(&format!("tracer {}", target.pid()));
    let error = ProgramImage::take(target.pid()).err().unwrap();
    let Error::Traced { tracer: found, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(found, tracer.pid());
    goes_on(&mut target);
    drop(tracer);
    ProgramImage::take(target.pid()).unwrap();
    goes_on(&mut target);
}

#[test]
fn a_process_goes_on_if_the_inspector_is_killed_while_it_is_stopped() {
    let mut target = Target::start(&format!("large {}", 128 << 20));
    let role = format!("inspects {}", target.pid());
    for _ in 0..20 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "role", "--nocapture"]);
        command.env(common::ROLE, &role);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut inspector = command.spawn().unwrap();
        std::io::Write::write_all(&mut inspector.stdin.take().unwrap(), b"now\n").unwrap();
        let mut seen = false;
        while !seen && inspector.try_wait().unwrap().is_none() {
            seen = target.state() == 't';
        }
        inspector.kill().unwrap();
        inspector.wait().unwrap();
        goes_on(&mut target);
        if seen {
            return;
        }
    }
    panic!("the process was never seen stopped");
}

#[test]
fn what_becomes_another_program_between_two_looks_is_no_success() {
    let target = Target::start("execs");
    let pid = target.pid().to_string();
    let output = inspect(&["leaks", "--looks", "4", "--pid", &pid]);
    assert_eq!(output.code, 2, "{}", output.text);
    let error = output.error;
    assert!(error.starts_with("releasepool-inspect: process"), "{error}");
}

#[test]
fn what_the_library_counts_must_be_found() {
    let directory = common::Directory::new("nothing");
    let file = directory.0.join("snapshot");
    for (created, code) in [(0, 0), (200, 2)] {
        let mut graph = Graph::default();
        graph.totals.created = created;
        store::save(&graph, &file).unwrap();
        let output = inspect(&["leaks", "--snapshot", file.to_str().unwrap()]);
        assert_eq!(output.code, code, "{}", output.error);
        let is_explained = output.error.contains("the compiler may have removed");
        assert_eq!(is_explained, code == 2);
    }
}

#[test]
fn without_permission_it_says_what_to_do() {
    if !rustix::process::geteuid().is_root() {
        let error = ProgramImage::take(1).err().unwrap();
        let is_refused = matches!(error, Error::NotPermitted { pid: 1, .. });
        return assert!(is_refused, "{error}");
    }
    let mut target = Target::start("counts");
    let mut inspector = Target::start_by(&format!("inspects {}", target.pid()), |command| {
        command.uid(65534).gid(65534);
    });
    let answer = inspector.ask("now");
    for part in ["it belongs to user 0, and this is user 65534", "sudo"] {
        assert!(answer.contains(part), "{answer}");
    }
    goes_on(&mut target);
}
