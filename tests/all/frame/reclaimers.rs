//! Loopers that destroy what other threads send them.

use crate::frame::{hold, id_of, looper};
use crate::support::{Log, child, wait_until};
use releasepool::{AutoreleasePool, HandoffPool, Looper, PoolManager, Ref};
use std::thread;

#[test]
fn reclaimer_destroys_what_other_threads_release_there() {
    let log = Log::new();
    let reclaimer = Looper::reclaimer("reclaimer").unwrap();
    let id = id_of(&reclaimer);
    for n in 0..100 {
        reclaimer.thread().release(Ref::new(log.probe(n)));
    }
    reclaimer.shutdown().unwrap();
    assert_eq!(log.count(), 100);
    assert!(log.threads().iter().all(|thread| *thread == id));
}

#[test]
fn reclaimer_that_is_behind_leaves_releases_to_the_sender() {
    let log = Log::new();
    let reclaimer = Looper::reclaimer_bounded("reclaimer", 3).unwrap();
    let id = id_of(&reclaimer);
    let go = hold(&reclaimer);
    let send = |n| reclaimer.thread().release(Ref::new(log.probe(n)));
    (0..5).for_each(send);
    assert_eq!(log.ids(), [3, 4], "here, at once");
    drop(go);
    wait_until(|| log.count() == 5);
    // There is room for as many as before.
    let go = hold(&reclaimer);
    (5..9).for_each(send);
    assert_eq!(log.ids()[5..], [8]);
    let thread = reclaimer.thread().clone();
    drop(go);
    reclaimer.shutdown().unwrap();
    assert_eq!(log.count(), 9);
    let there = log.threads().iter().filter(|t| **t == id).count();
    assert_eq!(there, 6);
    // Releases sent to a reclaimer that has ended go to the orphans, without a bound.
    for n in 10..15 {
        thread.release(Ref::new(log.probe(n)));
    }
    wait_until(|| {
        drop(AutoreleasePool::new());
        log.count() == 14
    });
}

#[test]
fn reclaimer_that_is_behind_leaves_pools_to_the_sender() {
    let log = Log::new();
    let reclaimer = Looper::reclaimer_bounded("reclaimer", 3).unwrap();
    let id = id_of(&reclaimer);
    let go = hold(&reclaimer);
    let mut pool = HandoffPool::new();
    let mut send = |from: u32| {
        for n in from..from + 4 {
            pool.create(log.probe(n));
        }
        assert_eq!(pool.drain_on(reclaimer.thread()), 4);
    };
    // A whole pool is accepted if there is room for one reference.
    send(0);
    assert_eq!(log.count(), 0);
    send(4);
    assert_eq!(log.ids(), [7, 6, 5, 4], "here, at once");
    drop(go);
    wait_until(|| log.count() == 8);
    let go = hold(&reclaimer);
    send(8);
    assert_eq!(log.count(), 8);
    drop(go);
    reclaimer.shutdown().unwrap();
    let there = log.threads().iter().filter(|t| **t == id).count();
    assert_eq!((log.count(), there), (12, 8));
}

#[test]
fn waiting_counts_references_until_they_are_released() {
    let log = Log::new();
    let reclaimer = Looper::reclaimer_bounded("reclaimer", 1_000).unwrap();
    assert_eq!(reclaimer.waiting(), 0);
    let go = hold(&reclaimer);
    reclaimer.thread().release(Ref::new(log.probe(0)));
    let mut pool = HandoffPool::new();
    for n in 1..10 {
        pool.create(log.probe(n));
    }
    pool.drain_on(reclaimer.thread());
    assert_eq!(reclaimer.waiting(), 10);
    // References that its own drains release do not wait any more, either.
    let inside = reclaimer.proxy();
    drop(go);
    wait_until(|| reclaimer.waiting() == 0);
    assert_eq!(log.count(), 10);
    let go = hold(&reclaimer);
    reclaimer.thread().release(Ref::new(log.probe(10)));
    inside
        .post(|| {
            PoolManager::global().run_inbox();
        })
        .unwrap();
    drop(go);
    wait_until(|| log.count() == 11 && reclaimer.waiting() == 0);
    assert_eq!(
        looper().waiting(),
        0,
        "a looper without a bound counts nothing"
    );
}

#[test]
fn references_that_run_inbox_releases_on_a_reclaimer_do_not_wait() {
    let log = Log::new();
    let reclaimer = Looper::reclaimer_bounded("reclaimer", 1_000).unwrap();
    let probes = [log.probe(0), log.probe(1), log.probe(2)];
    let done = reclaimer.call(move || {
        let me = PoolManager::global().current_thread().unwrap();
        let [one, two, three] = probes;
        me.release(Ref::new(one));
        let mut pool = HandoffPool::new();
        pool.create(two);
        pool.create(three);
        pool.drain_on(&me);
        PoolManager::global().run_inbox();
    });
    done.unwrap();
    assert_eq!((log.count(), reclaimer.waiting()), (3, 0));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn orphans_that_a_reclaimer_claims_count_as_waiting() {
    child!(|| {
        let log = Log::new();
        let gone = thread::spawn(|| PoolManager::global().current_thread().unwrap());
        let gone = gone.join().unwrap();
        let reclaimer = Looper::reclaimer_bounded("reclaimer", 1_000).unwrap();
        let mut pool = HandoffPool::new();
        for n in 0..10 {
            pool.create(log.probe(n));
        }
        pool.drain_on(&gone);
        // One of its drains claims the orphans.
        reclaimer.call(|| ()).unwrap();
        wait_until(|| log.count() == 10 && reclaimer.waiting() == 0);
        assert!(log.threads().iter().all(|id| *id == id_of(&reclaimer)));
    })
    .assert_success();
}

#[test]
fn reclaimer_with_no_room_at_all_releases_nothing() {
    let log = Log::new();
    let reclaimer = Looper::reclaimer_bounded("reclaimer", 0).unwrap();
    reclaimer.thread().release(Ref::new(log.probe(0)));
    assert_eq!(log.threads(), [thread::current().id()]);
    assert_eq!(reclaimer.call(|| 1).unwrap(), 1, "commands are not bounded");
}
