//! Loopers that destroy what other threads send them.

use crate::frame::{died_on, hold, id_of, looper};
use crate::support::{Log, alone, fresh_to_the_end, me, send, wait_until};
use releasepool::{AutoreleasePool, HandoffPool, Looper, PoolManager, Ref, ThreadHandle};
use std::ops::Range;
use std::thread;

/// Hands a pool of objects over to a thread.
fn hand_over(thread: &ThreadHandle, log: &Log, ids: Range<u32>) {
    let mut pool = HandoffPool::new();
    let n = ids.len();
    ids.for_each(|id| _ = pool.create(log.probe(id)));
    assert_eq!(pool.drain_on(thread), n);
}

#[test]
fn reclaimer_that_is_behind_leaves_releases_to_the_sender() {
    let log = Log::new();
    let reclaimer = Looper::reclaimer_bounded("reclaimer", 3).unwrap();
    let id = id_of(&reclaimer);
    let go = hold(&reclaimer);
    send(reclaimer.thread(), &log, 0..5);
    assert_eq!(log.ids(), [3, 4], "here, at once");
    drop(go);
    wait_until(|| log.count() == 5);
    // There is room for as many as before.
    let go = hold(&reclaimer);
    send(reclaimer.thread(), &log, 5..9);
    assert_eq!(log.ids()[5..], [8]);
    let thread = reclaimer.thread().clone();
    drop(go);
    reclaimer.shutdown().unwrap();
    assert_eq!((log.count(), died_on(&log, id)), (9, 6));
    // Releases sent to a reclaimer that has ended go to the orphans, without a bound.
    send(&thread, &log, 10..15);
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
    let send_four = |from| hand_over(reclaimer.thread(), &log, from..from + 4);
    // A whole pool is accepted if there is room for one reference.
    send_four(0);
    assert_eq!(log.count(), 0);
    send_four(4);
    assert_eq!(log.ids(), [7, 6, 5, 4], "here, at once");
    drop(go);
    wait_until(|| log.count() == 8);
    let go = hold(&reclaimer);
    send_four(8);
    assert_eq!(log.count(), 8);
    drop(go);
    reclaimer.shutdown().unwrap();
    assert_eq!((log.count(), died_on(&log, id)), (12, 8));
}

#[test]
fn waiting_counts_references_until_they_are_released() {
    let log = Log::new();
    let reclaimer = Looper::reclaimer_bounded("reclaimer", 1_000).unwrap();
    assert_eq!(reclaimer.waiting(), 0);
    let go = hold(&reclaimer);
    reclaimer.thread().release(Ref::new(log.probe(0)));
    hand_over(reclaimer.thread(), &log, 1..10);
    assert_eq!(reclaimer.waiting(), 10);
    // References that its own drains release do not wait any more, either.
    let inside = reclaimer.proxy();
    drop(go);
    wait_until(|| reclaimer.waiting() == 0);
    assert_eq!(log.count(), 10);
    let go = hold(&reclaimer);
    reclaimer.thread().release(Ref::new(log.probe(10)));
    hand_over(reclaimer.thread(), &log, 11..13);
    inside
        .post(|| _ = PoolManager::global().run_inbox())
        .unwrap();
    drop(go);
    wait_until(|| log.count() == 13 && reclaimer.waiting() == 0);
    assert_eq!(looper().waiting(), 0, "without a bound, it counts nothing");
}

#[test]
fn orphans_that_a_reclaimer_claims_count_as_waiting() {
    let log = alone!();
    let gone = fresh_to_the_end(me);
    let reclaimer = Looper::reclaimer_bounded("reclaimer", 1_000).unwrap();
    hand_over(&gone, &log, 0..10);
    // One of its drains claims the orphans.
    reclaimer.call(|| ()).unwrap();
    wait_until(|| log.count() == 10 && reclaimer.waiting() == 0);
    assert_eq!(log.threads(), [id_of(&reclaimer); 10]);
}

#[test]
fn reclaimer_with_no_room_at_all_releases_nothing() {
    let log = Log::new();
    let reclaimer = Looper::reclaimer_bounded("reclaimer", 0).unwrap();
    reclaimer.thread().release(Ref::new(log.probe(0)));
    assert_eq!(log.threads(), [thread::current().id()]);
    assert_eq!(reclaimer.call(|| 1).unwrap(), 1, "commands are not bounded");
}
