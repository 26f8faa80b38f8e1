//! `shutdown` where destructors autorelease deep down, or into pools that were drained before.

use crate::support::worker::Worker;
use crate::support::{Chain, LONG, Log, alone, deep_down, global, on_drop, panic_of};
use releasepool::{AutoreleasePool, Budget, Ref, autorelease};
use std::panic::panic_any;
use std::time::Duration;

/// A chain that autoreleases a probe for each of its links.
struct Shedding(Option<Ref<Shedding>>, Log);

impl Drop for Shedding {
    fn drop(&mut self) {
        drop(self.0.take());
        autorelease(Ref::new(self.1.probe(0)));
    }
}

fn shedding(log: Log, links: u32) -> Ref<Shedding> {
    let link = |next, _| Some(Ref::new(Shedding(next, log)));
    (0..links).fold(None, link).unwrap()
}

/// Runs `fill` on a worker, asks it by `shutdown`, and has it close a pool. Returns how many probes
/// were released.
fn released_when_asked(fill: fn(Log)) -> usize {
    let log = Log::new();
    let worker = Worker::new("worker");
    worker.run(move || fill(log));
    let global = global();
    global.shutdown(Duration::ZERO).unwrap_err();
    worker.run(|| drop(AutoreleasePool::new()));
    global.shutdown(Duration::ZERO).unwrap();
    worker.join();
    log.count()
}

/// Leaves an object in the backlog.
fn leave<T>(object: Ref<T>) {
    let mut pool = AutoreleasePool::new();
    pool.autorelease(object);
    pool.drain_within(Budget::Count(0));
}

/// Autoreleases what `f` makes, when the outermost destructor is done.
fn deep<T: 'static>(f: impl FnOnce() -> T + 'static) {
    let log = Ref::new(on_drop(move || autorelease(Ref::new(f()))));
    deep_down(64, || drop(log));
}

/// An object whose destructor autoreleases the next one.
struct Relay(u32, Log);

impl Drop for Relay {
    fn drop(&mut self) {
        self.1.note(self.0);
        let (n, log) = (self.0, self.1);
        if n > 0 {
            deep(move || Relay(n - 1, log));
        }
    }
}

#[test]
fn shutdown_asks_for_everything_that_destructors_leave_for_later() {
    const LINKS: u32 = 3_000;
    type Case = (&'static str, u32, fn(Log));
    let cases: [Case; 5] = [
        ("a chain in the root pool that autoreleases", LINKS, |log| {
            autorelease(shedding(log, LINKS));
        }),
        ("a chain in the backlog that autoreleases", LINKS, |log| {
            leave(shedding(log, LINKS));
        }),
        ("a destructor that leaves a backlog", 1, |log| {
            let leaving = on_drop(move || leave(Ref::new(log.probe(0))));
            autorelease(Ref::new(leaving));
        }),
        ("a backlog of another pool, deep down", 1, |log| {
            let leaving = move || on_drop(move || leave(Ref::new(log.probe(0))));
            autorelease(Ref::new(on_drop(move || deep(leaving))));
        }),
        ("a root pool that is fed for long", LINKS, |log| {
            autorelease(Ref::new(Relay(LINKS - 1, log)));
        }),
    ];
    alone!();
    for (what, expected, fill) in cases {
        assert_eq!(released_when_asked(fill), expected as usize, "{what}");
    }
}

#[test]
fn shutdown_releases_what_the_backlog_autoreleases() {
    alone!();
    let log = Log::new();
    leave(shedding(log, 1));
    let report = global().shutdown(LONG).unwrap();
    assert_eq!((report.released, log.count()), (2, 1));
}

#[test]
fn what_the_values_of_panics_autorelease_is_released_before_the_answer() {
    alone!();
    for entries in [1, 10] {
        let log = Log::new();
        let worker = Worker::new("worker");
        worker.run(move || {
            let chain = Chain::ending_in(move || autorelease(Ref::new(log.probe(0))));
            autorelease(Ref::new(on_drop(move || panic_any(chain))));
        });
        global().shutdown(Duration::ZERO).unwrap_err();
        let first = worker.run(move || {
            let pool = AutoreleasePool::new();
            pool.create(on_drop(|| panic!("the first")));
            (1..entries).for_each(|_| _ = pool.create(String::from("another")));
            panic_of(|| drop(pool))
        });
        assert_eq!(first, "the first");
        global().shutdown(Duration::ZERO).unwrap();
        assert_eq!(log.count(), 1);
        worker.join();
    }
}
