//! How much memory the inspector needs, in comparison with its target. The test is a small process
//! of its own: the kernel counts a process's memory as used by the processes that it starts, too.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod common;

use common::Target;
use procfs::process::Process;
use releasepool::{AutoreleasePool, Ref};
use std::hint::black_box;
use std::process::{Command, Stdio};

/// A number so large that the inspector's fixed needs matter little.
const OBJECTS: u64 = 200_000;

/// The memory that the inspector needs in any case, in KiB.
const ALWAYS: u64 = 4 << 10;

#[test]
fn role() {
    let Some(role) = common::role() else {
        return;
    };
    releasepool::event::set_hook(Some(Box::new(|_| {})));
    let pool = AutoreleasePool::named("all");
    let mut objects = Vec::new();
    let mut references = Vec::new();
    for n in 0..OBJECTS {
        match role.as_str() {
            "pool" => _ = pool.create(n),
            "vector" => objects.push(Ref::new(n)),
            "references" if n % 100 == 0 => references.extend(vec![Ref::new(n); 1_000]),
            _ => {}
        }
    }
    let numbers = if role == "numbers" { 1 << 25 } else { 0 };
    // Large and small numbers, each of which may look like the size of a chunk.
    let numbers: Vec<u64> = (0..numbers).map(|n| n * n).collect();
    common::serve(|question| {
        black_box((&objects, &references, &numbers));
        question.to_owned()
    })
}

fn check(role: &str, most: f64) {
    let target = Target::start(role);
    let pid = target.pid();
    let status = Process::new(pid as i32).and_then(|process| process.status());
    // The target's peak memory, in KiB.
    let target_memory = status.unwrap().vmhwm.expect("Linux says it");
    let mut command = Command::new(env!("CARGO_BIN_EXE_releasepool-inspect"));
    let command = command.args(["leaks", "--looks", "1", "--pid", &pid.to_string()]);
    let mut inspector = command.stdout(Stdio::null()).spawn().unwrap();
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let mut code = -1;
    // SAFETY: `code` and `usage` are writable; `wait` below finds that the process was waited for.
    let waited = unsafe {
        let id = inspector.id() as i32;
        libc::wait4(id, &mut code, 0, usage.as_mut_ptr())
    };
    assert_eq!((waited, code), (inspector.id() as i32, 0));
    let _ = inspector.wait();
    // SAFETY: zeroed, and written by the call.
    let used = unsafe { usage.assume_init() }.ru_maxrss as u64;
    println!("{role}: target {target_memory} KiB, inspector {used} KiB");
    assert!(
        used as f64 <= most * target_memory as f64 + ALWAYS as f64,
        "{used} KiB for a target of {target_memory} KiB"
    );
}

#[test]
fn objects_in_one_pool() {
    check("pool", 4.0);
}

#[test]
fn objects_in_a_vector() {
    check("vector", 4.0);
}

#[test]
fn many_references_to_few_objects() {
    check("references", 4.0);
}

#[test]
fn numbers_that_refer_to_nothing() {
    check("numbers", 0.2);
}
