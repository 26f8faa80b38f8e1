//! Ways to run a test, or each of its cases: with a log, to the end of a thread, or in processes of
//! their own.

use super::teardown::thread_to_the_end;
use super::{Log, global, named_to_the_end};
use releasepool::{AutoreleasePool, Drained, Ref, ThreadHandle, autoreleasepool};
use std::ops::Range;
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Returns the size of a test under Miri, in other builds with debug assertions, and in the rest.
pub const fn sized(miri: usize, debug: usize, release: usize) -> usize {
    if cfg!(miri) {
        miri
    } else if cfg!(debug_assertions) {
        debug
    } else {
        release
    }
}

/// Returns `f`, called with a new log.
pub fn logged<R>(f: impl FnOnce(Log) -> R) -> impl FnOnce() -> R {
    || f(Log::new())
}

/// Runs `f` on a new thread until that has ended, and returns the log that it was called with.
pub fn log_to_the_end(f: impl FnOnce(Log) + Send + 'static) -> Log {
    let log = Log::new();
    thread_to_the_end(move || f(log));
    log
}

/// Does what [`log_to_the_end`] does, on a thread of this name, and returns its id, too.
pub fn log_of(name: &str, f: impl FnOnce(Log) + Send + 'static) -> (Log, ThreadId) {
    let log = Log::new();
    let id = named_to_the_end(name, move || {
        f(log);
        thread::current().id()
    });
    (log, id)
}

/// Runs `f` on `n` threads at once, each with its number, and waits for them.
pub fn on_threads(n: usize, f: impl Fn(usize) + Sync) {
    let f = &f;
    thread::scope(|scope| {
        for i in 0..n {
            scope.spawn(move || f(i));
        }
    });
}

/// Asserts that these objects were destroyed in this order, all on one thread.
#[track_caller]
pub fn assert_died(log: &Log, ids: &[u32], thread: ThreadId) {
    assert_eq!(log.ids(), ids);
    assert_eq!(log.threads(), vec![thread; ids.len()]);
}

/// Ways in which a thread without open pools may drain, each of which serves it, too.
pub const DRAINS: [(&str, fn()); 9] = [
    ("the end of an empty pool", || drop(AutoreleasePool::new())),
    ("a drain of an empty pool", || {
        assert_eq!(AutoreleasePool::new().drain(), 0, "only entries count");
    }),
    ("objects without a destructor", || {
        _ = AutoreleasePool::new().create(1);
    }),
    ("objects with a destructor", || {
        AutoreleasePool::new().create(String::new());
    }),
    ("an empty scope", || autoreleasepool(|_| ())),
    ("a pop", || assert_eq!(global().pop(global().push()), Ok(0))),
    ("the root pool", || assert_eq!(global().drain_root(), 0)),
    ("the inbox", || {
        assert_eq!(global().run_inbox(), 0, "only closures count");
    }),
    ("quiesce", || _ = global().quiesce(Duration::ZERO)),
];

/// Returns how many references a drain has released, and how many it has left.
pub fn counts(drained: Drained) -> (usize, usize) {
    (drained.released, drained.remaining)
}

/// Sends objects to a thread, which log their destruction there.
pub fn send(thread: &ThreadHandle, log: &Log, ids: Range<u32>) {
    ids.for_each(|id| thread.release(Ref::new(log.probe(id))));
}
