//! Closures that are posted to threads.

use crate::frame::noting;
use crate::support::{
    Log, Worker, alone, fresh, fresh_to_the_end, global, me, on_drop, quiesce_until, slot, sorted,
    with_log,
};
use releasepool::{AutoreleasePool, Ref, autoreleasepool};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[test]
fn ordinary_drains_run_no_posted_closures() {
    fresh(with_log(|log| {
        me().post(noting(&log, 1)).unwrap();
        let mut pool = AutoreleasePool::new();
        pool.drain();
        drop(pool);
        autoreleasepool(|_| ());
        let token = global().push();
        global().pop(token).unwrap();
        global().drain_root();
        // Closures run only when the thread calls run_inbox.
        assert_eq!(log.count(), 0);
        assert_eq!(global().run_inbox(), 1);
        assert_eq!(log.ids(), [1]);
        assert_eq!(global().run_inbox(), 0);
    }));
}

#[test]
fn posted_closures_run_in_the_order_of_their_sender() {
    fresh(with_log(|log| {
        let home = me();
        fresh(|| {
            for id in 0..100 {
                home.post(noting(&log, id)).unwrap();
                if id % 10 == 0 {
                    home.release(Ref::new(()));
                }
            }
        });
        global().drain_root();
        home.post(noting(&log, 100)).unwrap();
        assert_eq!(global().run_inbox(), 101);
        assert!(log.ids().into_iter().eq(0..=100));
    }));
}

#[test]
fn posted_closures_that_post_wait_for_the_next_call() {
    fresh(with_log(|log| {
        let (first, second) = (noting(&log, 0), noting(&log, 1));
        let posts = move || {
            first();
            me().post(second).unwrap();
        };
        me().post(posts).unwrap();
        assert_eq!(global().run_inbox(), 1);
        assert_eq!(log.ids(), [0]);
        assert_eq!(global().run_inbox(), 1);
        assert_eq!(log.ids(), [0, 1]);
    }));
}

#[test]
fn posted_closures_may_run_the_inbox_drain_and_open_pools() {
    fresh(with_log(|log| {
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
    }));
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
    let log = Log::new();
    let closed = gone.post(noting(&log, 1)).unwrap_err();
    assert_eq!(log.count(), 0);
    assert!(closed.to_string().contains("shut down"), "{closed}");
    assert!(!format!("{closed:?}").is_empty());
    let _: &dyn std::error::Error = &closed;
    (closed.0)();
    assert_eq!(log.ids(), [1]);
}

#[test]
fn closures_of_a_thread_that_ended_without_asking_are_not_lost() {
    let log = Log::new();
    let inner = log.clone();
    let key = fresh_to_the_end(move || {
        (0..5).for_each(|id| me().post(noting(&inner, id)).unwrap());
        global().drain_root();
        me().post(noting(&inner, 5)).unwrap();
        me().key()
    });
    assert!(global().thread(key).is_none());
    quiesce_until(|| log.count() == 6);
    assert!(sorted(&log).into_iter().eq(0..6), "once each");
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_successor_leaves_orphaned_closures_to_other_threads() {
    alone!(with_log(|log| {
        let _this_thread_has_a_slot = me();
        let closure = noting(&log, 0);
        let target = fresh_to_the_end(move || {
            me().post(closure).unwrap();
            me().key()
        });
        let successor = Worker::new("successor");
        let has_the_slot = slot(successor.run(me).key()) == slot(target);
        assert!(has_the_slot && slot(me().key()) != slot(target));
        assert_eq!(global().snapshot().orphans, 1);
        let is_done = successor.run(|| global().quiesce(Duration::from_millis(5)));
        assert!(!is_done, "the successor must not run it");
        successor.join();
        assert_eq!(log.count(), 0);
        assert!(global().quiesce(Duration::from_secs(10)));
        assert_eq!((log.ids(), global().snapshot().orphans), (vec![0], 0));
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn orphaned_closure_is_not_run_by_a_destructor_that_calls_quiesce() {
    alone!(with_log(|log| {
        let _this_thread_has_a_slot = me();
        let closure = noting(&log, 0);
        fresh_to_the_end(move || me().post(closure).unwrap());
        let inner_log = log.clone();
        drop(Ref::new(on_drop(move || {
            assert!(!global().quiesce(Duration::ZERO));
            assert_eq!(inner_log.count(), 0);
        })));
        assert!(global().quiesce(Duration::ZERO));
        assert_eq!(log.ids(), [0]);
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn sender_of_a_closure_can_run_it_when_its_thread_has_ended() {
    // This runs in a process of its own, so that the slot of the ended thread is the next to be
    // used.
    alone!(with_log(|log| {
        let target = Worker::new("target");
        target.run(me).post(noting(&log, 0)).unwrap();
        target.join();
        // This is the sender's first use of the crate, except for the post.
        drop(AutoreleasePool::new());
        assert!(global().quiesce(Duration::ZERO));
        assert_eq!(log.ids(), [0]);
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn closures_of_a_thread_that_ended_keep_their_order() {
    alone!(with_log(|log| {
        let inner = log.clone();
        let post = move |id| me().post(noting(&inner, id)).unwrap();
        let _this_thread_has_a_slot = me();
        fresh_to_the_end(move || {
            post(0);
            // This takes the closure out of the inbox.
            drop(AutoreleasePool::new());
            post(1);
        });
        assert!(global().quiesce(Duration::ZERO));
        assert_eq!(log.ids(), [0, 1]);
    }));
}
