//! Values that another thread has asked their home to make.

use crate::support::worker::Worker;
use crate::support::{
    LONG, Log, fresh, fresh_to_the_end, global, here, me, quiesce_until, wait_until,
};
use releasepool::frame::FrameConfig;
use releasepool::home::{NotMade, PendingHome};
use releasepool::{AutoreleasePool, FrameLoop, HomeRef, Looper, Ref};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Returns why there will be no value, if that is decided.
fn decided<T>(pending: &PendingHome<T>) -> Option<NotMade> {
    pending.try_get()?.err()
}

fn run_inbox() -> usize {
    global().run_inbox()
}

#[test]
fn the_value_is_made_and_destroyed_at_home() {
    let home = Looper::spawn("home").unwrap();
    let log = Log::new();
    let pending = HomeRef::new_on(home.thread(), move || (Rc::new(5), log.probe(1)));
    assert_eq!(pending.home(), home.thread());
    let value = pending.wait().unwrap();
    assert!(value.get().is_none());
    assert_eq!(value.home(), home.thread().key());
    let again = pending.try_get().unwrap().unwrap();
    assert!(again.ptr_eq(&value));
    assert_eq!(home.call(move || again.with(|value| *value.0)).unwrap(), 5);
    let at_home = home.call(here).unwrap();
    drop((pending, value));
    wait_until(|| log.count() == 1);
    assert_eq!(log.threads(), [at_home]);
}

#[test]
fn every_kind_of_loop_makes_it() {
    fresh(|| {
        // A loop whose thread has done nothing else.
        let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
        let here = frames.proxy().thread().clone();
        let asked = thread::spawn(move || HomeRef::new_on(&here, || Cell::new(1)));
        let pending = asked.join().unwrap();
        assert!(pending.try_get().is_none());
        assert_eq!(pending.wait().err(), Some(NotMade::AtHome));
        // At once, not after a pause.
        assert!(pending.wait_within(Duration::ZERO).unwrap().is_err());
        frames.tick(|_| ());
        assert_eq!(pending.wait().unwrap().with(Cell::get), 1);
    });
    fresh(|| {
        drop(AutoreleasePool::new());
        let here = me();
        let pending = thread::scope(|scope| {
            let asked = scope.spawn(|| HomeRef::new_on(&here, || 2));
            asked.join().unwrap()
        });
        assert_eq!((pending.try_get().is_none(), run_inbox()), (true, 1));
        assert_eq!(pending.try_get().unwrap().unwrap().get(), Some(&2));
    });
}

#[test]
fn at_home_it_is_made_at_once() {
    let here = me();
    let pending = HomeRef::new_on(&here, || 3);
    assert_eq!(pending.wait().unwrap().get(), Some(&3));
    assert!(format!("{pending:?}").starts_with("PendingHome { home: ThreadHandle"));
}

#[test]
fn a_wait_within_a_limit_ends() {
    let home = Looper::spawn("home").unwrap();
    let (go, wait) = mpsc::channel::<()>();
    home.post(move || wait.recv().unwrap()).unwrap();
    let pending = HomeRef::new_on(home.thread(), || 4);
    assert!(pending.wait_within(Duration::from_millis(30)).is_none());
    assert!(pending.wait_within(Duration::ZERO).is_none());
    go.send(()).unwrap();
    assert!(pending.wait_within(LONG).unwrap().is_ok());
}

#[test]
fn a_constructor_that_panics_is_an_error_and_its_home_goes_on() {
    let home = Looper::spawn("home").unwrap();
    let made = |make: fn() -> u8| HomeRef::new_on(home.thread(), make).wait();
    let text = made(|| panic!("no context")).unwrap_err();
    assert_eq!(text, NotMade::Panicked(Some("no context".into())));
    assert!(text.to_string().ends_with("panicked: no context"));
    let formatted = made(|| panic!("no {}", 7)).unwrap_err();
    assert_eq!(formatted, NotMade::Panicked(Some("no 7".into())));
    // Of this function, as LeakSanitizer's suppression of the payload that is forgotten names it.
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("the payload's destructor");
        }
    }
    let other = made(|| std::panic::panic_any(Payload)).unwrap_err();
    assert_eq!(other, NotMade::Panicked(None));
    assert!(other.to_string().ends_with("panicked"));
    assert!(made(|| 1).is_ok());
    home.shutdown().unwrap();
}

#[test]
fn a_home_that_ends_first_is_an_error_and_the_closure_is_dropped() {
    static MADE: AtomicBool = AtomicBool::new(false);
    let log = Log::new();
    let asked = |home: &releasepool::ThreadHandle| {
        let probe = log.probe(1);
        HomeRef::new_on(home, move || {
            MADE.store(true, Ordering::Relaxed);
            probe
        })
    };
    // It has ended.
    let home = fresh_to_the_end(|| {
        drop(AutoreleasePool::new());
        me()
    });
    let late: PendingHome<_> = asked(&home);
    assert_eq!(decided(&late), Some(NotMade::HomeEnded));
    assert_eq!(log.count(), 1);
    // It ends before it looks at its inbox, and while another thread waits.
    let worker = Worker::new("home");
    let home = worker.run(|| {
        drop(AutoreleasePool::new());
        me()
    });
    let (early, unseen) = (asked(&home), asked(&home));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| early.wait());
        worker.join();
        assert_eq!(waiter.join().unwrap().err(), Some(NotMade::HomeEnded));
    });
    assert_eq!(decided(&unseen), Some(NotMade::HomeEnded), "a first look");
    assert!(NotMade::HomeEnded.to_string().contains("ended"));
    // The closure is an orphan, which never makes the value elsewhere.
    quiesce_until(|| log.count() == 3);
    assert_eq!(decided(&early), Some(NotMade::HomeEnded));
    assert!(!MADE.load(Ordering::Relaxed));
}

#[test]
fn a_thread_is_a_home_once_it_has_given_its_handle_away() {
    let log = Log::new();
    let worker = Worker::new("home");
    // All that the thread has done before.
    let home = worker.run(me);
    let (probe, dropped) = (log.probe(1), log.probe(2));
    let pending = HomeRef::new_on(&home, move || probe);
    drop(HomeRef::new_on(&home, move || dropped));
    assert!(pending.try_get().is_none(), "not refused");
    assert_eq!(worker.run(run_inbox), 2);
    assert_eq!(pending.wait().unwrap().home(), home.key());
    assert_eq!((log.ids(), log.threads()), (vec![2], vec![worker.id()]));
    worker.join();
}

#[test]
fn a_thread_without_pools_is_no_home() {
    let worker = Worker::new("home");
    let found = || global().thread_by_id(worker.id()).unwrap();
    // Enters the thread, without pools.
    worker.run(|| drop(Ref::new(1)));
    let without = HomeRef::new_on(&found(), || 5);
    assert_eq!(without.wait().err(), Some(NotMade::NoPools));
    assert!(NotMade::NoPools.to_string().contains("no pools"));
    worker.run(|| drop(AutoreleasePool::new()));
    let with = HomeRef::new_on(&found(), || 6);
    assert_eq!(worker.run(run_inbox), 1);
    assert!(with.wait().is_ok());
    worker.join();
    let other = Worker::new("ends without pools");
    other.run(|| drop(Ref::new(1)));
    let ended = global().thread_by_id(other.id()).unwrap();
    other.join();
    let without = HomeRef::new_on(&ended, || 7);
    assert_eq!(without.wait().err(), Some(NotMade::HomeEnded));
}

#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "reads /proc")]
fn a_wait_that_sleeps_ends_after_the_home() {
    let worker = Worker::new("home");
    let pending = HomeRef::new_on(&worker.run(me), || 5);
    let (tell, told) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let own = std::fs::canonicalize("/proc/thread-self").unwrap();
        tell.send(own.join("stat")).unwrap();
        pending.wait().err()
    });
    let state = told.recv().unwrap();
    wait_until(|| std::fs::read_to_string(&state).unwrap().contains(") S "));
    worker.join();
    assert_eq!(waiter.join().unwrap(), Some(NotMade::HomeEnded));
}

#[test]
fn a_dropped_request_does_not_cancel_and_loses_nothing() {
    drop(AutoreleasePool::new());
    let log = Log::new();
    let here = me();
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(HomeRef::new_on(&here, move || (Rc::new(1), log.probe(1))));
        });
    });
    assert_eq!((log.count(), run_inbox(), log.count()), (0, 1, 1));
    assert_eq!(log.threads(), [thread::current().id()]);
}
