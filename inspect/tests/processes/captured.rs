//! Tests that what a thread has captured counts as held before the thread has begun.

use crate::common::{self, Target};
use releasepool::Ref;
use releasepool_inspect::analysis::Analysis;
use releasepool_inspect::analysis::leaks::suspects;
use releasepool_inspect::analysis::reach::Level;
use releasepool_inspect::discovery::discover;
use releasepool_inspect::graph::NodeId;
use releasepool_inspect::image::{Image, ProgramImage};
use releasepool_inspect::library::Library;
use std::hint::black_box;
use std::ptr::null_mut;

struct Captured(#[allow(dead_code, reason = "objects of no size are special")] u64);

/// Plays the role: starts a thread when it is asked to, and answers with the calling thread's id.
pub fn play() -> ! {
    // SAFETY: the call has no preconditions.
    let tid = unsafe { libc::gettid() };
    common::serve(|question| {
        if question == "start" {
            let captured = Ref::new(Captured(0));
            std::thread::spawn(move || black_box(captured));
        }
        tid.to_string()
    })
}

/// Waits until a thread that this one traces has stopped.
fn wait(tid: i32) {
    let mut status = 0;
    // SAFETY: the status is written to a local variable.
    let waited = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) };
    assert!(waited == tid && libc::WIFSTOPPED(status), "{status:#x}");
}

/// Makes a process start a thread, and stops all its threads before the new one has begun; returns
/// the id of that thread.
fn start_and_stop(target: &mut Target) -> u32 {
    let creator: i32 = target.ask("creator").parse().unwrap();
    let trace = |request, tid: i32, data: usize| {
        // SAFETY: only one of the requests that are used here takes `data` as an address: it writes
        // a word to a local variable of the caller.
        let result = unsafe { libc::ptrace(request, tid, null_mut::<libc::c_void>(), data) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    };
    trace(
        libc::PTRACE_SEIZE,
        creator,
        libc::PTRACE_O_TRACECLONE as usize,
    );
    target.tell("start");
    wait(creator);
    let mut new = 0u64;
    trace(
        libc::PTRACE_GETEVENTMSG,
        creator,
        (&raw mut new).expose_provenance(),
    );
    wait(new as i32);
    let pid = target.pid();
    // SAFETY: the call has no preconditions.
    assert_eq!(unsafe { libc::kill(pid as i32, libc::SIGSTOP) }, 0);
    for tid in [creator, new as i32] {
        trace(libc::PTRACE_DETACH, tid, 0);
    }
    for tid in [pid, creator as u32, new as u32] {
        while common::state(tid) != 'T' {
            std::thread::yield_now();
        }
    }
    new as u32
}

#[test]
fn what_a_thread_that_has_not_begun_has_captured_is_held_by_its_control_block() {
    let mut target = Target::start("waits");
    let new = start_and_stop(&mut target);
    let image = ProgramImage::take(target.pid()).unwrap();
    assert!(image.threads().iter().any(|thread| thread.tid == new));
    let graph = discover(&image, &Library::read(&image).unwrap());
    let analysis = Analysis::new(&graph);
    assert!(suspects(&analysis, None).is_empty());
    let is_captured = |node: &NodeId| {
        let name = analysis.type_name(*node);
        name.is_some_and(|name| name.ends_with("::Captured"))
    };
    let captured: Vec<_> = (0..graph.objects as NodeId).filter(is_captured).collect();
    assert_eq!(captured.len(), 1);
    assert_eq!(analysis.reach.level(captured[0]), Level::ThreadLocal);
}
