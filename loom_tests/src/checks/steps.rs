//! Steps that models of several subjects take.

pub use super::scenario::*;
use loom::sync::{Condvar, Mutex};
use releasepool::{AutoreleasePool, Ref, ThreadHandle};
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

/// Returns the handle of a thread that has ended.
pub fn gone() -> ThreadHandle {
    spawn(this).join()
}

/// Lets loom also explore the executions in which the other threads go first, without a preemption.
/// From then on, loom lets this thread read no outdated value that it has already read: where that
/// matters, use a [`Door`].
pub fn let_others_go_first() {
    loom::thread::yield_now();
}

/// Collects retired references and releases those that are ready, as a drain with entries does.
pub fn collect_and_release() {
    AutoreleasePool::new().create(());
}

/// Runs the releases and closures that wait; returns whether none is left.
pub fn quiesce() -> bool {
    manager().quiesce(Duration::ZERO)
}

/// Does what [`quiesce`] does; if nothing is left, asserts that all `seen` are set.
pub fn quiesce_after(seen: &[std::sync::Arc<Seen>]) -> bool {
    let quiet = quiesce();
    assert_seen(quiet, seen);
    quiet
}

/// Shuts down; returns whether everything was released; if so, asserts that all `seen` are set.
pub fn shut_down(seen: &[std::sync::Arc<Seen>]) -> bool {
    let done = manager().shutdown(Duration::ZERO).is_ok();
    assert_seen(done, seen);
    done
}

fn assert_seen(done: bool, seen: &[std::sync::Arc<Seen>]) {
    // Reads `seen` only if `done`: otherwise nothing orders the reads after the writes.
    assert!(
        !done || seen.iter().all(|seen| seen.get()),
        "done too early"
    );
}

/// The threads on which closures ran in this execution.
static RAN_ON: std::sync::Mutex<Vec<ThreadId>> = std::sync::Mutex::new(Vec::new());

pub fn ran_on() -> MutexGuard<'static, Vec<ThreadId>> {
    RAN_ON.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records on which thread it runs.
pub fn note() {
    ran_on().push(me());
}

/// Returns the threads on which [`note`] ran since the last call.
pub fn take_ran_on() -> Vec<ThreadId> {
    std::mem::take(&mut ran_on())
}

/// A gate that one thread waits for and another one opens.
#[derive(Clone)]
pub struct Door(Arc<(Mutex<bool>, Condvar)>);

impl Door {
    pub fn new() -> Self {
        Self(Arc::new((Mutex::new(false), Condvar::new())))
    }

    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Waits until the door is open; closes it again. Returns whether it had to wait.
    pub fn wait(&self) -> bool {
        let mut open = self.0.0.lock().unwrap();
        let waits = !*open;
        while !std::mem::replace(&mut *open, false) {
            open = self.0.1.wait(open).unwrap();
        }
        waits
    }
}

/// An object that detects misuse, and whose destructor sets a [`Seen`].
pub type Object = Ref<(Probe, Watched)>;

pub fn watched() -> (std::sync::Arc<Seen>, Object) {
    let seen = Seen::new();
    let object = Ref::new((Probe::new(), Watched(seen.clone())));
    (seen, object)
}

/// Starts a thread that ends without `model::thread_exit`, as it has nothing to release.
pub fn spawn_without_exit<R: 'static>(f: impl FnOnce() -> R + 'static) -> Thread<R> {
    Thread::of(thread::spawn(f))
}

/// The outcomes of [`overlap`].
pub const OVERLAP: &[&str] = &["at once", "one after the other"];

/// Runs `there` on another thread while this one runs `here`. Returns their results, and whether
/// the two runs overlapped.
pub fn overlap<A: Send + 'static, B>(
    there: impl FnOnce() -> A + Send + 'static,
    here: impl FnOnce() -> B,
) -> (A, B, bool) {
    Overlap::default().between(there, here)
}

/// Records when two threads run their parts, unseen by loom; tells whether these overlapped.
#[derive(Clone, Default)]
pub struct Overlap(std::sync::Arc<Parts>);

#[derive(Default)]
struct Parts {
    steps: AtomicU32,
    /// The lock is std's: loom's would order what the two threads do.
    done: std::sync::Mutex<Vec<Range<u32>>>,
    /// An atomic that both threads use, if loom sees them share nothing else when they begin.
    shared: Option<loom::sync::atomic::AtomicU32>,
}

impl Overlap {
    /// Makes an `Overlap` with an atomic, for threads that share nothing else when they begin:
    /// without it, loom would try one order only. Accesses to the atomic order nothing else.
    pub fn shared() -> Self {
        Self(std::sync::Arc::new(Parts {
            shared: Some(Default::default()),
            ..Parts::default()
        }))
    }

    /// Runs one thread's part, and records when it began and ended.
    pub fn during<R>(&self, f: impl FnOnce() -> R) -> R {
        let Parts {
            steps,
            done,
            shared,
        } = &*self.0;
        if let Some(shared) = shared {
            shared.fetch_add(1, Ordering::Relaxed);
        }
        let step = || steps.fetch_add(1, Ordering::Relaxed);
        let begin = step();
        let result = f();
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.push(begin..step());
        result
    }

    pub fn between<A: Send + 'static, B>(
        self,
        there: impl FnOnce() -> A + Send + 'static,
        here: impl FnOnce() -> B,
    ) -> (A, B, bool) {
        let overlap = self.clone();
        let other = spawn(move || overlap.during(there));
        let here = self.during(here);
        (other.join(), here, self.at_once())
    }

    pub fn at_once(&self) -> bool {
        let parts = self.0.done.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, last] = &parts[..] else {
            panic!("of two threads")
        };
        last.start <= first.end
    }
}
