//! What the tests share: objects that tell when they die, fresh threads, events by
//! thread, and child processes.

use releasepool::PoolManager;
use releasepool::event::{self, Event, EventKind};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// Where [`Probe`]s write down that they died, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<(u32, ThreadId)>>>);

impl Log {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn probe(&self, id: u32) -> Probe {
        let log = self.clone();
        Probe { id, log }
    }

    /// Writes a line of the test's own.
    pub fn note(&self, id: u32) {
        self.lock().push((id, thread::current().id()));
    }

    /// Who died, first to last.
    pub fn ids(&self) -> Vec<u32> {
        self.lock().iter().map(|&(id, _)| id).collect()
    }

    /// On which threads.
    pub fn threads(&self) -> Vec<ThreadId> {
        self.lock().iter().map(|&(_, thread)| thread).collect()
    }

    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(u32, ThreadId)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes its id to its log when it dies.
pub struct Probe {
    pub id: u32,
    log: Log,
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.log.note(self.id);
    }
}

/// Runs a closure when it dies.
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

/// Runs `f` on a thread of its own, whose pools nobody else has touched, and waits
/// until it is done. Its events are kept.
pub fn fresh<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    listen();
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("fresh".into());
        let thread = thread.spawn_scoped(scope, f).unwrap();
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// As [`fresh`], but waits for the thread's thread-locals, too: a scoped thread counts
/// as finished before they are torn down.
pub fn fresh_to_the_end<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    named_to_the_end("fresh", f)
}

/// As [`fresh_to_the_end`], on a thread of this name: some events are reported for the first
/// thread of a name only.
pub fn named_to_the_end<R: Send + 'static>(
    name: &str,
    f: impl FnOnce() -> R + Send + 'static,
) -> R {
    listen();
    let thread = thread::Builder::new().name(name.into()).spawn(f);
    thread
        .unwrap()
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Gets everything released that has been orphaned, until `done`.
pub fn quiesce_until(done: impl Fn() -> bool) {
    let quiesce = || {
        // A thread does not run the closures of the one that had its slot before; one
        // that has no slot yet would run all, and might get that slot meanwhile.
        let _slot = PoolManager::global().current_thread();
        PoolManager::global().quiesce(Duration::from_millis(1));
    };
    wait_until(|| {
        // On two threads that live at once: they have different slots.
        fresh(|| {
            quiesce();
            fresh(quiesce);
        });
        done()
    });
}

/// No test asserts a time; but what never comes is to fail, not to hang.
const NEVER: Duration = Duration::from_secs(120);

/// Waits until `done`, which may itself do something about it.
pub fn wait_until(mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < NEVER, "what is waited for never comes");
        thread::yield_now();
    }
}

/// The message of the panic that `f` is expected to end with.
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

/// What a test does with the events of a thread.
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

/// From now on events are kept, by thread. There is one hook in the process: tests
/// share this one and look at the events of their own threads only.
///
/// Events with the same cause are reported once, then at growing intervals, for the whole process:
/// a test that waits for one uses types, or threads with names, of its own.
pub fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        event::set_hook(Some(Box::new(hook)));
    });
}

/// [`listen`], and have `reaction` called by the events of this thread.
pub fn react(reaction: Reaction) {
    listen();
    REACTIONS
        .lock()
        .unwrap()
        .push((thread::current().id(), reaction));
}

/// The events of a thread since [`listen`].
pub fn events_of(thread: ThreadId) -> Vec<Event> {
    let events = EVENTS.lock().unwrap();
    events
        .iter()
        .filter(|(of, _)| *of == thread)
        .map(|(_, event)| event.clone())
        .collect()
}

/// The events of one kind on this thread.
pub fn events(kind: EventKind) -> Vec<Event> {
    let mut events = events_of(thread::current().id());
    events.retain(|event| event.kind == kind);
    events
}

/// How a child process ended.
pub struct Child {
    pub status: std::process::ExitStatus,
    pub stderr: String,
}

impl Child {
    pub fn assert_success(&self) {
        assert!(self.status.success(), "{}\n{}", self.status, self.stderr);
    }

    /// It ended by `abort`, and said this before.
    #[cfg(unix)]
    pub fn assert_aborted_saying(&self, words: &[&str]) {
        use std::os::unix::process::ExitStatusExt;
        const SIGABRT: i32 = 6;
        assert_eq!(
            self.status.signal(),
            Some(SIGABRT),
            "{}\n{}",
            self.status,
            self.stderr
        );
        for word in words {
            assert!(
                self.stderr.contains(word),
                "{word:?} is missing in\n{}",
                self.stderr
            );
        }
    }

    #[cfg(not(unix))]
    pub fn assert_aborted_saying(&self, words: &[&str]) {
        assert!(!self.status.success(), "{}\n{}", self.status, self.stderr);
        for word in words {
            assert!(
                self.stderr.contains(word),
                "{word:?} is missing in\n{}",
                self.stderr
            );
        }
    }
}

/// Which test the process was started for.
const CHILD: &str = "RELEASEPOOL_TEST_CHILD";

/// Runs `body` in a process of its own, where no other test is. That process is this
/// test binary again, told to run the calling test only: there `None` is returned.
/// Use it by the macro `child!`.
pub fn in_child(test: &str, body: impl FnOnce()) -> Option<Child> {
    use std::io::Read;
    use std::process::{Command, Stdio};

    if std::env::var(CHILD).is_ok_and(|name| name == test) {
        body();
        return None;
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            test,
            "--nocapture",
            "--test-threads=1",
            "--include-ignored",
        ])
        .env(CHILD, test)
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
    Some(Child { status, stderr })
}

/// `child!(body)`: [`in_child`] for the test that it is written in, which must be a
/// plain function. Returns from it in the child.
macro_rules! child {
    ($body:expr) => {{
        fn here() {}
        let name = std::any::type_name_of_val(&here);
        let name = name.strip_suffix("::here").unwrap();
        let (_, name) = name.split_once("::").unwrap();
        match $crate::support::in_child(name, $body) {
            Some(child) => child,
            None => return,
        }
    }};
}
pub(crate) use child;

/// Bytes of this process that are in memory.
#[cfg(target_os = "linux")]
pub fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}
