//! Closures that run when the thread-locals of a thread are torn down, before or after the crate's
//! own exit hook.

use super::{Log, fresh_to_the_end};
use When::{AfterOurExit, BeforeOurExit};
use releasepool::autoreleasepool;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread::{self, ThreadId};

/// Runs its closures when it is dropped.
#[derive(Default)]
struct AtTeardown(RefCell<Vec<Box<dyn FnOnce()>>>);

impl Drop for AtTeardown {
    fn drop(&mut self) {
        for work in self.0.take() {
            // A panic that escaped from here would abort the process.
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                FAILED.lock().unwrap().push(thread::current().id());
            }
        }
    }
}

/// The threads on which such a closure panicked.
static FAILED: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

thread_local! {
    static WORK: AtTeardown = AtTeardown::default();
}

/// Adds a closure that the calling thread runs when its thread-locals are torn down.
pub fn push_work(work: impl FnOnce() + 'static) {
    WORK.with(|w| w.0.borrow_mut().push(Box::new(work)));
}

/// Runs `f` on a thread, and waits until all its thread-locals are dropped. Returns the thread's id.
pub fn thread_to_the_end(f: impl FnOnce() + Send + 'static) -> ThreadId {
    let id = fresh_to_the_end(|| {
        f();
        thread::current().id()
    });
    assert!(
        !FAILED.lock().unwrap().contains(&id),
        "a closure panicked in the teardown; see above"
    );
    id
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum When {
    /// The thread-local was used after the crate: pools work as usual.
    BeforeOurExit,
    AfterOurExit,
    /// The thread has never used the crate before.
    FirstUse,
}

pub const ALWAYS: [When; 3] = [BeforeOurExit, AfterOurExit, When::FirstUse];

pub fn use_the_crate() {
    autoreleasepool(|pool| drop(pool.create(0).to_string()));
}

/// Runs `work` when the thread-locals of a new thread are torn down, and waits for it.
pub fn at_teardown(when: When, work: impl FnOnce() + Send + 'static) -> ThreadId {
    thread_to_the_end(move || {
        if when == BeforeOurExit {
            use_the_crate();
        }
        push_work(work);
        if when == AfterOurExit {
            use_the_crate();
        }
    })
}

/// The position in a log at which something was done.
pub fn notes(when: When, work: impl FnOnce(&Log) + Send + 'static) -> Vec<u32> {
    let log = Log::new();
    at_teardown(when, move || {
        work(&log);
        log.note(1_000);
    });
    log.ids()
}
