//! Steps that models of several subjects take.

pub use super::scenario::*;
use loom::sync::{Condvar, Mutex};
use releasepool::{Ref, ThreadHandle};
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

/// Returns the handle of a thread that has ended.
pub fn gone() -> ThreadHandle {
    spawn(this).join()
}

/// Lets loom also explore the executions in which the other threads go first, without a
/// preemption.
pub fn let_others_go_first() {
    loom::thread::yield_now();
}

/// Runs what waits; returns whether all is quiet.
pub fn quiesce() -> bool {
    manager().quiesce(Duration::ZERO)
}

/// Does what [`quiesce`] does; asserts that all is quiet only after these were seen.
pub fn quiesce_after(seen: &[std::sync::Arc<Seen>]) -> bool {
    let quiet = quiesce();
    assert_seen(quiet, seen);
    quiet
}

/// Shuts down; returns whether everything was released, and asserts that these were seen then.
pub fn shut_down(seen: &[std::sync::Arc<Seen>]) -> bool {
    let done = manager().shutdown(Duration::ZERO).is_ok();
    assert_seen(done, seen);
    done
}

fn assert_seen(done: bool, seen: &[std::sync::Arc<Seen>]) {
    // Read only then: nothing else orders the two.
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

/// An object that detects misuse, and whose destructor is seen.
pub type Object = Ref<(Probe, Watched)>;

pub fn watched() -> (std::sync::Arc<Seen>, Object) {
    let seen = Seen::new();
    let object = Ref::new((Probe::new(), Watched(seen.clone())));
    (seen, object)
}
