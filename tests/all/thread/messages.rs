//! References and closures that are sent to other threads, which release or run them.

use crate::frame::noting;
use crate::support::{
    Chain, DRAINS, Log, Worker, alone, events, fresh, fresh_to_the_end, global, listen, me,
    on_drop, quiesce_until, send, slot, with_log,
};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, Budget, Ref, autorelease, autoreleasepool};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

#[test]
fn release_to_a_thread_happens_in_its_next_outermost_drain() {
    let log = Log::new();
    let home = me();
    let mut pool = AutoreleasePool::new();
    let sender = fresh(|| {
        home.release(Ref::new(log.probe(1)));
        home.release(Ref::new(log.probe(2)));
        autoreleasepool(|pool| pool.create(0).to_string());
        thread::current().id()
    });
    assert_eq!(log.count(), 0, "not by the sender's drains");
    pool.create(log.probe(0));
    assert_eq!(pool.drain(), 1);
    assert_eq!(log.ids(), [0, 1, 2]);
    assert!(log.threads().iter().all(|&thread| thread != sender));
}

#[test]
fn release_to_a_thread_happens_in_any_outermost_drain() {
    for (what, drain) in DRAINS {
        with_log(|log| {
            let object = Ref::new(log.probe(0));
            me().release(object.clone());
            me().release(Ref::new(log.probe(1)));
            assert_eq!(Ref::strong_count(&object), 2);
            drain();
            assert_eq!(
                (Ref::strong_count(&object), log.ids()),
                (1, vec![1]),
                "{what}"
            );
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "a long chain takes minutes")]
fn what_a_release_leaves_in_the_queue_is_destroyed_before_the_next_release() {
    let log = Log::new();
    me().release(Chain::ending_in(move || log.note(0)));
    me().release(Ref::new(log.probe(1)));
    autoreleasepool(|_| ());
    assert_eq!(log.ids(), [0, 1]);
}

#[test]
fn release_of_unsized_objects() {
    let log = Log::new();
    me().release(Ref::<[_]>::from(vec![log.probe(0), log.probe(1)]));
    me().release(Ref::<str>::from("text"));
    let probe = (log.probe(2),);
    let object = Ref::new(move || {
        let (probe,) = &probe;
        probe.id
    });
    me().release(releasepool::unsize!(object => dyn Fn() -> u32 + Send + Sync));
    global().drain_root();
    assert_eq!(log.ids(), [0, 1, 2]);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of generations take minutes")]
fn release_that_feeds_the_drain_a_thousand_generations_is_reported() {
    /// Of this test, as the event is reported once for each type.
    struct Relay(usize);
    impl Drop for Relay {
        fn drop(&mut self) {
            if self.0 > 0 {
                autorelease(Ref::new(Relay(self.0 - 1)));
            }
        }
    }
    listen();
    let mut pool = AutoreleasePool::new();
    for (generations, warnings) in [(999, 0), (1_000, 1)] {
        me().release(Ref::new(on_drop(move || {
            autorelease(Ref::new(Relay(generations)));
            // This is released first; its one generation does not count for the other.
            autorelease(Ref::new(Relay(1)));
        })));
        assert_eq!(pool.drain(), generations + 3);
        let told = events(EventKind::EndlessDrain);
        assert_eq!(told.len(), warnings, "{generations}: {told:?}");
    }
}

#[test]
fn one_drain_makes_remote_releases_and_runs_orphans_and_releases_what_they_autorelease() {
    // This runs in a process of its own, so that no other thread runs the orphan.
    let log = alone!();
    let gone = fresh_to_the_end(me);
    let mut pool = AutoreleasePool::new();
    me().release(Ref::new(log.probe(0)));
    gone.release(Ref::new(log.probe(1)));
    let probe = log.probe(2);
    gone.release(Ref::new(on_drop(move || autorelease(Ref::new(probe)))));
    gone.release(Ref::new(log.probe(3)));
    assert_eq!(pool.drain(), 1);
    assert_eq!(log.ids(), [0, 1, 3, 2], "all orphans, and then the entry");
}

#[test]
fn run_inbox_makes_remote_releases_that_a_budgeted_drain_has_left() {
    let log = Log::new();
    send(&me(), &log, 0..10);
    AutoreleasePool::new().drain_within(Budget::Count(1));
    me().post(noting(&log, 10)).unwrap();
    assert_eq!(global().run_inbox(), 1);
    assert_eq!(log.ids(), Vec::from_iter(0..11));
}

#[test]
fn posted_closures_that_post_wait_for_the_next_call() {
    let log = Log::new();
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
}

#[test]
fn posted_closures_may_run_the_inbox_drain_and_open_pools() {
    let log = Log::new();
    for id in 0..4 {
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
}

#[test]
fn post_of_a_large_and_over_aligned_closure() {
    #[repr(align(256))]
    struct Large([u8; 1024]);
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
    let key = fresh_to_the_end(move || {
        (0..5).for_each(|id| me().post(noting(&log, id)).unwrap());
        global().drain_root();
        me().post(noting(&log, 5)).unwrap();
        me().key()
    });
    assert!(global().thread(key).is_none());
    quiesce_until(|| log.count() == 6);
    assert!(log.sorted().into_iter().eq(0..6), "once each");
}

#[test]
fn a_successor_leaves_orphaned_closures_to_other_threads() {
    let log = alone!();
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
}

#[test]
fn orphaned_closure_is_not_run_by_a_destructor_that_calls_quiesce() {
    let log = alone!();
    let _this_thread_has_a_slot = me();
    let closure = noting(&log, 0);
    fresh_to_the_end(move || me().post(closure).unwrap());
    drop(Ref::new(on_drop(move || {
        assert!(!global().quiesce(Duration::ZERO));
        assert_eq!(log.count(), 0);
    })));
    assert!(global().quiesce(Duration::ZERO));
    assert_eq!(log.ids(), [0]);
}

#[test]
fn sender_of_a_closure_can_run_it_when_its_thread_has_ended() {
    // This runs in a process of its own, so that the slot of the ended thread is the next to be
    // used.
    let log = alone!();
    let target = Worker::new("target");
    target.run(me).post(noting(&log, 0)).unwrap();
    target.join();
    // This is the sender's first use of the crate, except for the post.
    drop(AutoreleasePool::new());
    assert!(global().quiesce(Duration::ZERO));
    assert_eq!(log.ids(), [0]);
}

#[test]
fn closures_of_a_thread_that_ended_keep_their_order() {
    let log = alone!();
    let post = move |id| me().post(noting(&log, id)).unwrap();
    let _this_thread_has_a_slot = me();
    fresh_to_the_end(move || {
        post(0);
        // This takes the closure out of the inbox.
        drop(AutoreleasePool::new());
        post(1);
    });
    assert!(global().quiesce(Duration::ZERO));
    assert_eq!(log.ids(), [0, 1]);
}
