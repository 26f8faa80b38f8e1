//! `shutdown` and `quiesce` succeed only if no hot object is dead and not released.

use super::handles::hot;
use crate::support::worker::Worker;
use crate::support::{LONG, Log, Probe, child, global, on_drop};
use releasepool::{AutoreleasePool, Budget, HotRef, Ref, autorelease};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Returns the last handle to a hot object.
fn last_handle(log: &Log) -> HotRef<Probe> {
    hot(log.probe(0)).get()
}

/// Runs `f` in the destructor of an object.
fn in_a_destructor<R: 'static>(f: impl FnOnce() -> R + 'static) -> R {
    let (tell, told) = channel();
    drop(Ref::new(on_drop(move || tell.send(f()).unwrap())));
    told.recv().unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_releases_what_dies_as_it_empties_the_backlog_or_the_root_pool() {
    let holders: [fn(HotRef<Probe>); 3] = [
        |last| {
            let mut pool = AutoreleasePool::new();
            pool.create(last);
            pool.drain_within(Budget::Count(0));
        },
        |last| autorelease(Ref::new(last)),
        // It dies with another one.
        |last| autorelease(Ref::new(hot(last).get())),
    ];
    child!(|| {
        for (case, hold) in holders.into_iter().enumerate() {
            let log = Log::new();
            hold(last_handle(&log));
            assert_eq!(log.count(), 0);
            global().shutdown(LONG).unwrap();
            let snapshot = global().snapshot();
            assert_eq!((log.count(), snapshot.live_objects()), (1, 0), "{case}");
        }
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn inside_a_destructor_neither_succeeds_while_a_dead_object_waits() {
    const SHORT: Duration = Duration::from_millis(1);
    child!(|| {
        let log = Log::new();
        let last = last_handle(&log);
        let inner = log.clone();
        let (quiet, left) = in_a_destructor(move || {
            drop(last);
            let left = global().shutdown(SHORT).unwrap_err().hot;
            assert_eq!(inner.count(), 0);
            (global().quiesce(SHORT), left)
        });
        assert_eq!((quiet, left), (false, 1));
        global().shutdown(LONG).unwrap();
        assert_eq!(log.count(), 1);
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_releases_what_died_on_a_thread_that_is_idle() {
    child!(|| {
        let log = Log::new();
        let worker = Worker::new("idle");
        let last = last_handle(&log);
        worker.run(move || drop(last));
        assert_eq!(log.count(), 0);
        global().shutdown(LONG).unwrap();
        assert_eq!(log.threads(), [std::thread::current().id()]);
        worker.join();
    })
    .assert_success();
}
