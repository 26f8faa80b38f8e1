//! Helpers for tests: objects that log their destruction, fresh threads, events by thread, and
//! child processes.

pub mod allocator;
pub mod cases;
pub mod teardown;
pub mod worker;

pub use cases::*;
pub use worker::Worker;

use releasepool::event::{self, Event, EventKind};
use releasepool::report::{ThreadSnapshot, Totals};
use releasepool::thread::ThreadKey;
use releasepool::{PoolManager, Ref, ThreadHandle, autorelease};
use std::any::Any;
use std::fmt::{Debug, Display};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The number of entries in a page of a pool.
pub const PAGE: usize = if cfg!(target_pointer_width = "32") {
    253
} else {
    254
};

type Entries = Mutex<Vec<(u32, ThreadId)>>;

/// A log of destroyed [`Probe`]s, in order. It lives until the process ends, so closures copy it.
#[derive(Clone, Copy)]
pub struct Log(&'static Entries);

/// All logs, so that leak checkers find them.
static LOGS: Mutex<Vec<&'static Entries>> = Mutex::new(Vec::new());

impl Default for Log {
    fn default() -> Self {
        Self::new()
    }
}

impl Log {
    pub fn new() -> Self {
        let entries: &Entries = Box::leak(Box::default());
        LOGS.lock().unwrap().push(entries);
        Self(entries)
    }

    pub fn probe(self, id: u32) -> Probe {
        Probe { id, log: self }
    }

    /// Adds an id, for the test itself.
    pub fn note(self, id: u32) {
        self.lock().push((id, thread::current().id()));
    }

    /// Returns the ids of what was destroyed, oldest first.
    pub fn ids(self) -> Vec<u32> {
        self.lock().iter().map(|&(id, _)| id).collect()
    }

    /// Returns the ids of what was destroyed, in ascending order.
    pub fn sorted(self) -> Vec<u32> {
        let mut ids = self.ids();
        ids.sort_unstable();
        ids
    }

    /// Returns the threads on which it was destroyed.
    pub fn threads(self) -> Vec<ThreadId> {
        self.lock().iter().map(|&(_, thread)| thread).collect()
    }

    pub fn count(self) -> usize {
        self.lock().len()
    }

    pub fn clear(self) {
        self.lock().clear();
    }

    fn lock(self) -> MutexGuard<'static, Vec<(u32, ThreadId)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds its id to its log when it is dropped.
pub struct Probe {
    pub id: u32,
    log: Log,
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.log.note(self.id);
    }
}

/// Runs a closure when it is dropped.
pub struct OnDrop<F: FnOnce()>(Option<F>);

pub fn on_drop<F: FnOnce()>(f: F) -> OnDrop<F> {
    OnDrop(Some(f))
}

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}

/// Panics with this message when it is dropped.
pub struct Bomb(pub &'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

/// Autoreleases the next one when it is dropped, as many times as this number.
pub struct Countdown(pub u32);

impl Drop for Countdown {
    fn drop(&mut self) {
        if self.0 > 0 {
            autorelease(Ref::new(Countdown(self.0 - 1)));
        }
    }
}

/// A chain that is too deep for the stack, so that the drop of its first link queues links.
#[allow(dead_code, reason = "is only dropped")]
pub enum Chain<F: FnOnce() + 'static> {
    Link(Ref<Chain<F>>),
    End(OnDrop<F>),
}

impl<F: FnOnce() + 'static> Chain<F> {
    /// Makes a chain whose last link runs `f` when it is dropped.
    pub fn ending_in(f: F) -> Ref<Self> {
        let end = Ref::new(Self::End(on_drop(f)));
        (0..if cfg!(miri) { 700 } else { 20_000 }).fold(end, |next, _| Ref::new(Self::Link(next)))
    }
}

/// Runs `f` on a new thread, with fresh pools, and waits for it. The thread's events are kept.
pub fn fresh<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    listen();
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("fresh".into());
        let thread = thread.spawn_scoped(scope, f).unwrap();
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Runs `f` on a new thread, with a new log.
pub fn with_log<R: Send>(f: impl FnOnce(Log) -> R + Send) -> R {
    fresh(|| f(Log::new()))
}

/// Does what [`fresh`] does, and waits until the thread's thread-locals are destroyed, too: a
/// scoped thread counts as finished before that.
pub fn fresh_to_the_end<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    named_to_the_end("fresh", f)
}

/// Does what [`fresh_to_the_end`] does, on a thread of this name: some events are only reported for
/// the first thread of a name.
pub fn named_to_the_end<R: Send + 'static>(
    name: &str,
    f: impl FnOnce() -> R + Send + 'static,
) -> R {
    listen();
    let thread = thread::Builder::new().name(name.into()).spawn(f).unwrap();
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs all orphans, on threads that may, until `done` returns true.
pub fn quiesce_until(done: impl Fn() -> bool) {
    let quiesce = || {
        // A thread does not run closures of the thread that had its registry slot before. A thread
        // without a slot would run all of them, but might get that very slot meanwhile.
        let _slot = PoolManager::global().current_thread();
        PoolManager::global().quiesce(Duration::from_millis(1));
    };
    wait_until(|| {
        // Two threads that are alive at the same time have different slots.
        fresh(|| {
            quiesce();
            fresh(quiesce);
        });
        done()
    });
}

/// No test asserts a time, but a test that waits for something that never happens should fail, not
/// hang.
const NEVER: Duration = Duration::from_secs(120);

/// Waits until `done` returns true; `done` may also make progress itself.
pub fn wait_until(mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(
            start.elapsed() < NEVER,
            "the condition that the test waits for never became true"
        );
        thread::yield_now();
    }
}

/// Returns the message of the panic that `f` must end with.
pub fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("a panic was expected"),
        Err(payload) => message_of(&*payload),
    }
}

pub fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(no message)".into())
}

/// A closure that a test runs for each event of a thread.
pub type Reaction = fn(&Event);

static EVENTS: Mutex<Vec<(ThreadId, Event)>> = Mutex::new(Vec::new());
static REACTIONS: Mutex<Vec<(ThreadId, Reaction)>> = Mutex::new(Vec::new());

fn hook(event: &Event) {
    let me = thread::current().id();
    EVENTS.lock().unwrap().push((me, event.clone()));
    let reactions = REACTIONS.lock().unwrap().clone();
    let reaction = reactions.iter().find(|(of, _)| *of == me);
    if let Some((_, reaction)) = reaction {
        reaction(event);
    }
}

/// Keeps all events from now on, by thread. A process has one hook: tests share this one, and only
/// look at the events of their own threads.
///
/// Events with one cause are reported once and then at growing intervals, for the whole process. So
/// a test that waits for an event uses types, or thread names, of its own.
pub fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        event::set_hook(Some(Box::new(hook)));
    });
}

/// Keeps events as [`listen`] does, and calls `reaction` for each event of this thread.
pub fn react(reaction: Reaction) {
    listen();
    REACTIONS
        .lock()
        .unwrap()
        .push((thread::current().id(), reaction));
}

/// Returns the events of a thread since [`listen`].
pub fn events_of(thread: ThreadId) -> Vec<Event> {
    let events = EVENTS.lock().unwrap();
    events
        .iter()
        .filter(|(of, _)| *of == thread)
        .map(|(_, event)| event.clone())
        .collect()
}

/// Returns the events of one kind on this thread.
pub fn events(kind: EventKind) -> Vec<Event> {
    let mut events = events_of(thread::current().id());
    events.retain(|event| event.kind == kind);
    events
}

/// Returns the only one of these.
#[track_caller]
pub fn only<T: Debug>(of: &[T]) -> &T {
    assert_eq!(of.len(), 1, "{of:#?}");
    &of[0]
}

/// Returns the only event of one kind on this thread.
#[track_caller]
pub fn only_event(kind: EventKind) -> Event {
    only(&events(kind)).clone()
}

/// Asserts that a text contains all of these words.
#[track_caller]
pub fn assert_says(text: &dyn Display, words: &[&str]) {
    let text = text.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in\n{text}");
    }
}

/// How a child process ended.
#[must_use = "assert how it ended"]
pub struct Child {
    pub status: std::process::ExitStatus,
    pub stderr: String,
}

impl Child {
    pub fn assert_success(&self) {
        assert!(self.status.success(), "{}\n{}", self.status, self.stderr);
    }

    /// Asserts that the process ended by `abort`, after writing this message.
    pub fn assert_aborted_saying(&self, words: &[&str]) {
        #[cfg(unix)]
        let aborted = std::os::unix::process::ExitStatusExt::signal(&self.status) == Some(6);
        #[cfg(not(unix))]
        let aborted = !self.status.success();
        assert!(aborted, "{}\n{}", self.status, self.stderr);
        assert_says(&self.stderr, words);
    }
}

/// The environment variable that names the test for which a process was started.
const CHILD: &str = "RELEASEPOOL_TEST_CHILD";

/// The environment variable with the command that runs test binaries, if the processor cannot.
const RUNNER: &str = "RELEASEPOOL_TEST_RUNNER";

/// Runs each body in a process of its own, without other tests. Returns how these ended.
///
/// Each process runs this test binary with the calling test only, and gets an empty result. Miri starts
/// no processes: under it, the result is empty, too. Use it by the macros below.
pub fn each_in_child<'c, F: FnOnce()>(
    test: &str,
    cases: impl IntoIterator<Item = (&'c str, F)>,
) -> Vec<Child> {
    let wanted = std::env::var(CHILD).unwrap_or_default();
    let wanted = wanted.strip_prefix(test);
    let mut children = Vec::new();
    for (case, body) in cases {
        match wanted.and_then(|wanted| wanted.strip_prefix('#')) {
            Some(wanted) if wanted == case => body(),
            Some(_) => {}
            None if cfg!(miri) => {}
            None => children.push(run_child(test, case)),
        }
    }
    children
}

fn run_child(test: &str, case: &str) -> Child {
    use std::io::Read;
    use std::process::{Command, Stdio};

    let exe = std::env::current_exe().unwrap();
    let runner = std::env::var(RUNNER).unwrap_or_default();
    let mut runner = runner.split_whitespace();
    let mut command = match runner.next() {
        Some(program) => {
            let mut command = Command::new(program);
            command.args(runner).arg(exe);
            command
        }
        None => Command::new(exe),
    };
    let mut child = command
        .args([
            "--exact",
            test,
            "--nocapture",
            "--test-threads=1",
            "--include-ignored",
        ])
        .env(CHILD, format!("{test}#{case}"))
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stderr.take().unwrap();
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let hung = Instant::now() + NEVER;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > hung {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "{test} hangs in its child process\n{}",
                reader.join().unwrap()
            );
        }
        thread::sleep(Duration::from_millis(2));
    };
    let stderr = reader.join().unwrap();
    Child { status, stderr }
}

/// `children!(cases)` calls [`each_in_child`] for the enclosing test, which must be a plain function.
macro_rules! children {
    ($cases:expr) => {{
        fn marker() {}
        let name = std::any::type_name_of_val(&marker);
        let name = name.strip_suffix("::marker").unwrap();
        let (_, name) = name.split_once("::").unwrap();
        $crate::support::each_in_child(name, $cases)
    }};
}
pub(crate) use children;

/// `child!(body)` runs one body in a process of its own; there, and under Miri, it returns from the
/// test.
macro_rules! child {
    ($body:expr) => {
        match $crate::support::children!([("", $body)]).pop() {
            Some(child) => child,
            None => return,
        }
    };
}
pub(crate) use child;

/// `alone!();` runs the rest of the enclosing test in a process of its own, and asserts that it passes
/// there. In that process it returns a new [`Log`]. `alone!(body)` does so with a closure.
macro_rules! alone {
    () => {{
        let mut here = false;
        if let Some(child) = $crate::support::children!([("", || here = true)]).pop() {
            child.assert_success();
        }
        if !here {
            return;
        }
        $crate::support::Log::new()
    }};
    ($body:expr) => {
        $crate::support::child!($body).assert_success()
    };
}
pub(crate) use alone;

/// `each_alone!(cases)` runs each of these cases, its name and its body, in a process of its own, and
/// asserts that it passes there.
macro_rules! each_alone {
    ($cases:expr) => {
        let cases = $cases;
        for (child, (what, _)) in $crate::support::children!(cases).iter().zip(cases) {
            eprintln!("{what}");
            child.assert_success();
        }
    };
}
pub(crate) use each_alone;

/// True if the build detects misuse.
pub const CHECKS: bool = cfg!(any(debug_assertions, feature = "checks"));

/// `aborts!(words, body)` runs `body`, which misuses the crate, in a child process of the enclosing
/// test, and asserts that it aborts with a message that contains these words. The result is the
/// child's standard error. Builds that do not detect misuse do not commit it: there the macro returns
/// from the test.
macro_rules! aborts {
    ($words:expr, $body:expr) => {{
        if !$crate::support::CHECKS {
            return;
        }
        let child = $crate::support::child!($body);
        child.assert_aborted_saying(&$words);
        child.stderr
    }};
}
pub(crate) use aborts;

/// A misuse of the crate: what it is, what the message about it says, and what commits it.
pub type Misuse = (&'static str, &'static [&'static str], fn());

/// `each_aborts!(cases)` does what [`aborts`] does with each of these, and returns the children.
macro_rules! each_aborts {
    ($cases:expr) => {{
        let cases: &[$crate::support::Misuse] = $cases;
        let cases = if $crate::support::CHECKS { cases } else { &[] };
        let bodies = cases.iter().map(|&(what, _, body)| (what, body));
        let children = $crate::support::children!(bodies);
        for (child, (what, words, _)) in children.iter().zip(cases) {
            eprintln!("{what}");
            child.assert_aborted_saying(words);
        }
        children
    }};
}
pub(crate) use each_aborts;

/// Returns the resident memory of this process, in bytes.
#[cfg(target_os = "linux")]
pub fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// A limit that no test should reach.
pub const LONG: Duration = Duration::from_secs(60);

/// Returns the slot in a key that is displayed as `#slot.generation`.
pub fn slot(key: ThreadKey) -> u32 {
    let shown = key.to_string();
    let (slot, _) = shown.strip_prefix('#').unwrap().split_once('.').unwrap();
    slot.parse().unwrap()
}

/// Calls `f` after `kib` KiB of the stack have been used.
pub fn deep_down<R>(kib: u32, f: impl FnOnce() -> R) -> R {
    if kib == 0 {
        return f();
    }
    let space = std::hint::black_box([0u8; 1024]);
    let r = deep_down(kib - 1, f);
    std::hint::black_box(&space);
    r
}

pub fn global() -> &'static PoolManager {
    PoolManager::global()
}

/// Returns the handle of the calling thread.
pub fn me() -> ThreadHandle {
    global().current_thread().unwrap()
}

/// Returns std's id of the calling thread.
pub fn here() -> ThreadId {
    thread::current().id()
}

/// Returns the figures of the calling thread in a manager.
pub fn figures(manager: &PoolManager) -> ThreadSnapshot {
    manager.snapshot().thread(me().key()).unwrap().clone()
}

/// Returns the totals of the calling thread.
pub fn totals() -> Totals {
    figures(global()).totals
}
