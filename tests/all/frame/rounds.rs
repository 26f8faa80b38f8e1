//! Tests how much drains inside a frame, a posted closure or a command do of what their thread
//! owes: a share, and all in a round that takes long.

use super::{looper, quick};
use crate::hot::handles::hot;
use crate::support::{Log, alone, fresh, me, on_drop, send};
use releasepool::{AutoreleasePool, Budget, HandoffPool, Ref, Slot, autorelease, autoreleasepool};
use std::cell::RefCell;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Releases of each kind.
const EACH: usize = 100;

/// Most releases of each kind that a drain in a round makes.
const SHARE: usize = 16;

/// After this time in a round, drains make all releases.
const LONG: Duration = Duration::from_millis(100);

/// Lets `n` hot objects go, and has another thread send as many releases to this one.
fn owe(n: usize, hot_log: &Log, sent: &Log) {
    (0..n as u32).for_each(|id| drop(hot(hot_log.probe(id))));
    let me = me();
    fresh(|| send(&me, sent, 0..n as u32));
}

/// Asserts that the drain of any pool makes a share of what the thread owes in a round, and that the
/// rounds' ends make the rest.
fn assert_share(in_round: impl Fn(Box<dyn FnOnce() + Send>)) {
    let drains: [(fn(), usize); 5] = [
        (|| drop(AutoreleasePool::new()), 1),
        (|| autoreleasepool(|_| ()), 1),
        (|| _ = AutoreleasePool::new().create(Box::new(1)), 1),
        (|| _ = HandoffPool::new().drain(), 1),
        // It is drained again when it is closed.
        (|| _ = AutoreleasePool::new().drain(), 2),
    ];
    for ((drain, shares), n) in drains.into_iter().zip(1..) {
        let most = shares * SHARE;
        // A drain whose thread has to wait for a processor has no time for a whole share.
        let makes_share = (0..100).any(|_| {
            let logs = [(); 2].map(|()| Log::new());
            let (tell, told) = channel();
            let [hot_log, sent] = logs;
            in_round(Box::new(move || {
                owe(EACH, &hot_log, &sent);
                let began = Instant::now();
                drain();
                let released = [hot_log, sent].map(|log| log.count());
                tell.send((released, began.elapsed())).unwrap();
            }));
            let (released, took) = told.recv().unwrap();
            let is_share = released.iter().all(|made| *made <= most);
            assert!(is_share || took >= LONG, "{n}: {released:?}");
            // At the end of this round, or of later ones if that was short of time.
            let is_over = || logs.iter().all(|log| log.count() == EACH);
            let rounds = (0..1_000).take_while(|_| !is_over());
            assert!(
                rounds.map(|_| in_round(Box::new(|| ()))).count() < 1_000,
                "{n}"
            );
            released == [most; 2]
        });
        assert!(makes_share, "{n}");
    }
}

#[test]
fn drains_in_a_round_make_a_share() {
    alone!();
    let frames = RefCell::new(quick());
    assert_share(|f| {
        let mut f = Some(f);
        frames.borrow_mut().tick(|_| f.take().unwrap()());
    });
    assert_share(|f| {
        frames.borrow().proxy().post(f).unwrap();
        assert_eq!(frames.borrow_mut().tick(|_| ()).panics, 0);
    });
    let looper = looper();
    assert_share(|f| {
        looper.call(f).unwrap();
        // When the command before it has ended.
        looper.call(|| ()).unwrap();
    });
}

/// A main loop of a program, which runs in one round: asserts that what waits is bounded.
fn main_loop() {
    let (hot_log, sent) = (Log::new(), Log::new());
    let me = me();
    let mut owed = 0;
    let mut turn = || {
        drop(hot(hot_log.probe(0)));
        send(&me, &sent, 0..EACH as u32);
        owed += 1 + EACH;
        drop(AutoreleasePool::new());
        owed - hot_log.count() - sent.count()
    };
    // Until the round has become a long one.
    let long = (0..1_000).find(|_| {
        thread::sleep(Duration::from_millis(1));
        turn() == 0
    });
    assert!(long.is_some(), "nothing is released but shares");
    let most = (0..1_000).map(|_| turn()).max();
    assert_eq!(most, Some(0), "each drain releases all");
}

#[test]
fn a_round_that_takes_long_releases_all() {
    alone!();
    let mut frames = quick();
    frames.tick(|_| main_loop());
    frames.proxy().post(main_loop).unwrap();
    assert_eq!(frames.tick(|_| ()).panics, 0);
    let (tell, told) = channel();
    let looper = looper();
    let command = move || {
        main_loop();
        tell.send(()).unwrap();
    };
    looper.post(command).unwrap();
    told.recv().unwrap();
}

#[test]
fn a_round_takes_long_only_from_the_first_drain_that_finds_what_the_thread_owes() {
    let log = alone!();
    let slot = Slot::new(Ref::new(0));
    quick().tick(|_| {
        let drain = |n| autoreleasepool(|pool| (0..n).for_each(|n| _ = pool.create(Box::new(n))));
        drain(20);
        // The next drain must ask whether slots have retired anything.
        slot.with(|_| ());
        drain(1);
        thread::sleep(LONG);
        send(&me(), &log, 0..EACH as u32);
        drain(20);
        assert!(log.count() <= SHARE, "{}", log.count());
    });
}

#[test]
fn each_empty_pool_that_is_closed_in_a_round_makes_a_share() {
    alone!();
    let close_pools = || {
        let logs = [(); 2].map(|()| Log::new());
        // More hot objects, which still wait when all releases that were sent have been made.
        (0..3 * EACH as u32).for_each(|id| drop(hot(logs[0].probe(id))));
        send(&me(), &logs[1], 0..EACH as u32);
        // The first one takes all messages out of the inbox.
        let is_done = (0..1_000).any(|_| {
            drop(AutoreleasePool::new());
            logs.map(Log::count) == [3 * EACH, EACH]
        });
        assert!(is_done, "{:?}", logs.map(Log::count));
    };
    fresh(|| _ = quick().tick(|_| close_pools()));
    looper().call(close_pools).unwrap();
}

#[test]
fn a_share_is_only_a_part_of_a_pool_that_was_handed_over() {
    let log = Log::new();
    quick().tick(|_| {
        let mut sent = HandoffPool::new();
        (0..EACH as u32).for_each(|id| _ = sent.create(log.probe(id)));
        sent.drain_on(&me());
        drop(AutoreleasePool::new());
        assert!(log.count() <= SHARE, "{}", log.count());
    });
}

#[test]
fn an_empty_pool_leaves_what_a_budget_has_left() {
    alone!();
    _ = quick().tick(|_| {
        let sent = Log::new();
        send(&me(), &sent, 0..40);
        (0..100).for_each(|_| drop(AutoreleasePool::new()));
        assert_eq!(sent.count(), 40);
        send(&me(), &sent, 40..43);
        let mut pool = AutoreleasePool::new();
        (0..2).for_each(|n| _ = pool.create(n));
        // The budget is for one of these, and then for a release that was sent.
        for made in [40, 41] {
            pool.drain_within(Budget::Count(1));
            drop(AutoreleasePool::new());
            assert_eq!(sent.count(), made);
            // Nor does the drain of any other pool make the next one.
            HandoffPool::new().drain();
            autoreleasepool(|pool| (0..20).for_each(|n| _ = pool.create(Box::new(n))));
            assert_eq!(sent.count(), made);
        }
    });
}

#[test]
fn a_share_of_the_search_for_dead_objects_is_64_steps() {
    let log = alone!();
    let alive: Vec<_> = (0..100).map(|id| hot(log.probe(id)).get()).collect();
    let mut frames = quick();
    for _ in 0..10 {
        frames.tick(|_| {
            alive.iter().for_each(|one| drop(one.clone()));
            drop(AutoreleasePool::new());
            let mut pool = AutoreleasePool::new();
            let left = pool.drain_within(Budget::Count(0)).remaining;
            assert!(left >= 100 - 64, "{left}");
        });
    }
}

#[test]
fn the_drain_of_a_handoff_pool_serves_its_thread() {
    alone!();
    let (hot_log, sent) = (Log::new(), Log::new());
    owe(EACH, &hot_log, &sent);
    assert_eq!(HandoffPool::new().drain(), 0);
    assert_eq!([hot_log.count(), sent.count()], [EACH; 2]);
}

#[test]
fn a_release_that_uses_up_the_share_leaves_nothing_in_the_pool() {
    let log = Log::new();
    let last = log.probe(0);
    quick().tick(|_| {
        let mut pool = AutoreleasePool::new();
        (1..=10).for_each(|id| _ = pool.create(log.probe(id)));
        me().release(Ref::new(on_drop(|| {
            // A drain in a frame serves its thread for 1 ms.
            thread::sleep(Duration::from_millis(2));
            autorelease(Ref::new(last));
        })));
        pool.drain();
        assert_eq!(log.ids().last(), Some(&0));
    });
}

#[test]
fn a_drain_in_a_round_ends_after_a_slow_destructor() {
    let log = alone!();
    quick().tick(|_| {
        for id in 0..SHARE as u32 {
            me().release(Ref::new(on_drop(move || {
                log.note(id);
                thread::sleep(Duration::from_millis(2));
            })));
        }
        drop(AutoreleasePool::new());
        assert_eq!(log.count(), 1);
    });
}

#[test]
fn a_share_ends_after_a_millisecond() {
    let log = alone!();
    quick().tick(|_| {
        let me = me();
        let slow = |probe| {
            on_drop(move || {
                let began = Instant::now();
                while began.elapsed() < Duration::from_micros(150) {}
                drop(probe);
            })
        };
        fresh(|| (0..EACH as u32).for_each(|id| me.release(Ref::new(slow(log.probe(id))))));
        autoreleasepool(|_| ());
        // The seventh ends 1.05 ms after the beginning, or later.
        assert!((1..=7).contains(&log.count()), "{}", log.count());
    });
}
