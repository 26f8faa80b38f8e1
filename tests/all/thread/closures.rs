//! Closures that are posted to threads.

use crate::support::{
    Log, child, fresh, fresh_to_the_end, global, me, on_drop, quiesce_until, slot,
};
use releasepool::{AutoreleasePool, Ref, autoreleasepool};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

#[test]
fn ordinary_drains_run_no_posted_closures() {
    fresh(|| {
        let log = Log::new();
        let inner_log = log.clone();
        me().post(move || inner_log.note(1)).unwrap();
        let mut pool = AutoreleasePool::new();
        pool.drain();
        drop(pool);
        autoreleasepool(|_| ());
        let token = global().push();
        global().pop(token).unwrap();
        global().drain_root();
        assert_eq!(
            log.count(),
            0,
            "closures run only when the thread calls run_inbox"
        );
        assert_eq!(global().run_inbox(), 1);
        assert_eq!(log.ids(), [1]);
        assert_eq!(global().run_inbox(), 0);
    });
}

#[test]
fn posted_closures_run_in_the_order_of_their_sender() {
    fresh(|| {
        let log = Log::new();
        let home = me();
        fresh(|| {
            for id in 0..100 {
                let log = log.clone();
                home.post(move || log.note(id)).unwrap();
                if id % 10 == 0 {
                    home.release(Ref::new(()));
                }
            }
        });
        global().drain_root();
        let last_log = log.clone();
        home.post(move || last_log.note(100)).unwrap();
        assert_eq!(global().run_inbox(), 101);
        assert!(log.ids().into_iter().eq(0..=100));
    });
}

#[test]
fn posted_closures_that_post_wait_for_the_next_call() {
    fresh(|| {
        let log = Log::new();
        let (first, second) = (log.clone(), log.clone());
        me().post(move || {
            first.note(0);
            me().post(move || second.note(1)).unwrap();
        })
        .unwrap();
        assert_eq!(global().run_inbox(), 1);
        assert_eq!(log.ids(), [0]);
        assert_eq!(global().run_inbox(), 1);
        assert_eq!(log.ids(), [0, 1]);
    });
}

#[test]
fn posted_closures_may_run_the_inbox_drain_and_open_pools() {
    fresh(|| {
        let log = Log::new();
        for id in 0..4 {
            let log = log.clone();
            me().post(move || {
                log.note(id);
                global().run_inbox();
                autoreleasepool(|pool| pool.create(log.probe(id + 10)).id);
                global().drain_root();
            })
            .unwrap();
        }
        assert_eq!(global().run_inbox(), 1, "the first one ran the others");
        assert_eq!(log.ids(), [0, 1, 2, 3, 13, 12, 11, 10]);
    });
}

#[test]
fn post_of_a_large_and_over_aligned_closure() {
    #[repr(align(256))]
    struct Large([u8; 1024]);
    fresh(|| {
        let large = Large([7; 1024]);
        let seen = Arc::new(AtomicU32::new(0));
        let inner = seen.clone();
        me().post(move || {
            let large = &large;
            assert!(std::ptr::from_ref(large).is_aligned());
            inner.store(
                large.0.iter().map(|&byte| u32::from(byte)).sum(),
                Ordering::Relaxed,
            );
        })
        .unwrap();
        global().run_inbox();
        assert_eq!(seen.load(Ordering::Relaxed), 7 * 1024);
    });
}

#[test]
fn post_to_a_thread_that_has_ended_gives_the_closure_back() {
    let gone = fresh_to_the_end(me);
    let probe = Log::new();
    let log = probe.clone();
    let closed = gone.post(move || log.note(1)).unwrap_err();
    assert_eq!(probe.count(), 0);
    assert!(closed.to_string().contains("shut down"), "{closed}");
    assert!(!format!("{closed:?}").is_empty());
    let _: &dyn std::error::Error = &closed;
    (closed.0)();
    assert_eq!(probe.ids(), [1]);
}

#[test]
fn closures_of_a_thread_that_ended_without_asking_are_not_lost() {
    let log = Log::new();
    let closures = log.clone();
    let key = fresh_to_the_end(move || {
        for id in 0..5 {
            let log = closures.clone();
            me().post(move || log.note(id)).unwrap();
        }
        global().drain_root();
        let log = closures.clone();
        me().post(move || log.note(5)).unwrap();
        me().key()
    });
    assert!(global().thread(key).is_none());
    quiesce_until(|| log.count() == 6);
    let mut ids = log.ids();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..6), "once each");
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_successor_leaves_orphaned_closures_to_other_threads() {
    let child = child!(|| {
        let log = Log::new();
        let _this_thread_has_a_slot = me();
        let (tell, told) = mpsc::channel();
        let (leave, left) = mpsc::channel::<()>();
        let closures = log.clone();
        let target = fresh_to_the_end(move || {
            me().post(move || closures.note(0)).unwrap();
            me().key()
        });
        let successor = thread::spawn(move || {
            tell.send(me().key()).unwrap();
            left.recv().unwrap();
            assert!(
                !global().quiesce(Duration::from_millis(5)),
                "the successor must not run it"
            );
        });
        assert_eq!(
            slot(told.recv().unwrap()),
            slot(target),
            "the successor has the slot"
        );
        assert_eq!(global().snapshot().orphans, 1);
        leave.send(()).unwrap();
        successor.join().unwrap();
        assert_eq!(log.count(), 0);
        assert_ne!(slot(me().key()), slot(target));
        assert!(global().quiesce(Duration::from_secs(10)));
        assert_eq!(log.ids(), [0]);
        assert_eq!(global().snapshot().orphans, 0);
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn orphaned_closure_is_not_run_by_a_destructor_that_calls_quiesce() {
    let child = child!(|| {
        let log = Log::new();
        let _this_thread_has_a_slot = me();
        let closures = log.clone();
        fresh_to_the_end(move || me().post(move || closures.note(0)).unwrap());
        let inner_log = log.clone();
        drop(Ref::new(on_drop(move || {
            assert!(!global().quiesce(Duration::ZERO));
            assert_eq!(inner_log.count(), 0);
        })));
        assert!(global().quiesce(Duration::ZERO));
        assert_eq!(log.ids(), [0]);
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn sender_of_a_closure_can_run_it_when_its_thread_has_ended() {
    // This runs in a process of its own, so that the slot of the ended thread is the next to be
    // used.
    let child = child!(|| {
        let log = Log::new();
        let (tell, told) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let target = thread::spawn(move || {
            tell.send(me()).unwrap();
            let _ = wait.recv();
        });
        let handle = told.recv().unwrap();
        let inner_log = log.clone();
        handle.post(move || inner_log.note(0)).unwrap();
        drop(go);
        target.join().unwrap();
        // This is the sender's first use of the crate, except for the post.
        drop(AutoreleasePool::new());
        assert!(global().quiesce(Duration::ZERO));
        assert_eq!(log.ids(), [0]);
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn closures_of_a_thread_that_ended_keep_their_order() {
    let child = child!(|| {
        let log = Log::new();
        let inner_log = log.clone();
        let post = move |id| {
            let log = inner_log.clone();
            me().post(move || log.note(id)).unwrap();
        };
        let _this_thread_has_a_slot = me();
        fresh_to_the_end(move || {
            post(0);
            // This takes the closure out of the inbox.
            drop(AutoreleasePool::new());
            post(1);
        });
        assert!(global().quiesce(Duration::ZERO));
        assert_eq!(log.ids(), [0, 1]);
    });
    child.assert_success();
}
