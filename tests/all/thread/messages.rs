//! References that are sent to other threads, which release them.

use crate::frame::noting;
use crate::support::{
    Chain, Log, alone, events, fresh, fresh_to_the_end, global, log_to_the_end, me, on_drop,
    quiesce_until, send, slot, sorted, wait_until, with_log,
};
use releasepool::event::EventKind;
use releasepool::{
    AutoreleasePool, Budget, Ref, ThreadHandle, ThreadKey, autorelease, autoreleasepool,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn release_to_a_thread_happens_in_its_next_outermost_drain() {
    fresh(with_log(|log| {
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
    }));
}

#[test]
fn release_to_a_thread_happens_when_it_closes_a_pool_even_an_empty_one() {
    fresh(with_log(|log| {
        let token = global().push();
        for id in 0..4 {
            me().release(Ref::new(log.probe(id)));
            match id {
                0 => drop(AutoreleasePool::new()),
                1 => autoreleasepool(|_| ()),
                2 => assert_eq!(global().pop(token), Ok(0)),
                _ => assert_eq!(global().drain_root(), 0),
            }
            assert_eq!(log.count() as u32, id + 1);
        }
    }));
}

#[test]
fn release_to_a_thread_happens_in_run_inbox_too() {
    fresh(with_log(|log| {
        me().release(Ref::new(log.probe(0)));
        assert_eq!(global().run_inbox(), 0, "a release is no closure");
        assert_eq!(log.ids(), [0]);
    }));
}

#[test]
#[cfg_attr(miri, ignore = "a long chain takes minutes")]
fn what_a_release_leaves_in_the_queue_is_destroyed_before_the_next_release() {
    fresh(with_log(|log| {
        let first = log.clone();
        me().release(Chain::ending_in(move || first.note(0)));
        me().release(Ref::new(log.probe(1)));
        autoreleasepool(|_| ());
        assert_eq!(log.ids(), [0, 1]);
    }));
}

#[test]
fn release_of_a_shared_object_gives_up_one_reference_only() {
    fresh(with_log(|log| {
        let object = Ref::new(log.probe(0));
        me().release(object.clone());
        assert_eq!(Ref::strong_count(&object), 2);
        global().drain_root();
        assert_eq!((Ref::strong_count(&object), log.count()), (1, 0));
    }));
}

#[test]
fn release_of_unsized_objects() {
    fresh(with_log(|log| {
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
    }));
}

#[test]
#[cfg_attr(miri, ignore = "thousands of generations take minutes")]
fn release_that_feeds_the_drain_a_thousand_generations_is_reported() {
    struct Relay(usize);
    impl Drop for Relay {
        fn drop(&mut self) {
            if self.0 > 0 {
                autorelease(Ref::new(Relay(self.0 - 1)));
            }
        }
    }
    fresh(|| {
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
    });
}

#[test]
fn release_to_a_thread_that_has_ended_is_done_by_others() {
    let gone = fresh_to_the_end(me);
    let log = Log::new();
    send(&gone, &log, 0..10);
    // Any outermost drain of any thread may run them.
    quiesce_until(|| log.count() == 10);
    assert!(sorted(&log).into_iter().eq(0..10));
}

#[test]
fn messages_to_a_thread_that_never_had_a_pool_are_not_lost() {
    let log = log_to_the_end(|log| {
        me().release(Ref::new(log.probe(0)));
        me().post(move || log.note(1)).unwrap();
    });
    quiesce_until(|| log.count() == 2);
    assert_eq!(sorted(&log), [0, 1]);
}

#[test]
fn many_threads_send_to_one() {
    const SENDERS: u32 = 4;
    const EACH: u32 = if cfg!(miri) { 20 } else { 2_000 };
    fresh(with_log(|log| {
        let home = me();
        let ran = Arc::new(AtomicU32::new(0));
        thread::scope(|scope| {
            for sender in 0..SENDERS {
                let (home, log, ran) = (home.clone(), log.clone(), ran.clone());
                scope.spawn(move || {
                    for i in 0..EACH {
                        home.release(Ref::new(log.probe(sender * EACH + i)));
                        let ran = ran.clone();
                        home.post(move || _ = ran.fetch_add(1, Ordering::Relaxed))
                            .unwrap();
                    }
                });
            }
            wait_until(|| {
                global().drain_root();
                log.count() == (SENDERS * EACH) as usize
            });
        });
        global().run_inbox();
        assert_eq!(ran.load(Ordering::Relaxed), SENDERS * EACH);
        let home = thread::current().id();
        assert!(log.threads().iter().all(|&thread| thread == home));
        let ids = log.ids();
        for sender in 0..SENDERS {
            let of = sender * EACH..(sender + 1) * EACH;
            let order = ids.iter().copied().filter(|id| of.contains(id));
            assert!(order.eq(of.clone()), "in each sender's order");
        }
    }));
}

#[test]
fn release_or_post_to_a_thread_that_is_just_leaving() {
    // Threads start and end on the same few registry slots, as fast as they can; two senders send
    // to the newest thread that they know.
    const THREADS: u32 = if cfg!(miri) { 15 } else { 2_000 };
    let log = Log::new();
    let targets: Arc<Mutex<Option<ThreadHandle>>> = Arc::default();
    let done = AtomicBool::new(false);
    // For each closure, the threads that ran it.
    let runs: Arc<Mutex<HashMap<u32, Vec<Option<ThreadKey>>>>> = Arc::default();
    let (released, posted, refused) = thread::scope(|scope| {
        let senders: Vec<_> = (0..2)
            .map(|sender| {
                let (targets, done, runs, log) = (&targets, &done, &runs, &log);
                scope.spawn(move || {
                    let (mut released, mut posted, mut refused) = (0, Vec::new(), 0);
                    let (mut id, mut last, mut shots) = (sender, None, 0);
                    while !done.load(Ordering::Relaxed) {
                        let Some(target) = targets.lock().unwrap().clone() else {
                            continue;
                        };
                        if last.replace(target.key()) != Some(target.key()) {
                            shots = 0;
                        }
                        shots += 1;
                        if shots > 40 {
                            thread::yield_now();
                            continue;
                        }
                        id += 2;
                        target.release(Ref::new(log.probe(id)));
                        released += 1;
                        let runs = runs.clone();
                        let run = move || {
                            // This does not register the thread: a thread without a slot is no
                            // successor, and must not become one here.
                            let runner = global().thread_by_id(thread::current().id());
                            let runner = runner.map(|thread| thread.key());
                            runs.lock().unwrap().entry(id).or_default().push(runner);
                        };
                        match target.post(run) {
                            Ok(()) => posted.push((id, target.key())),
                            Err(_) => refused += 1,
                        }
                    }
                    (released, posted, refused)
                })
            })
            .collect();
        for i in 0..THREADS {
            let targets = targets.clone();
            let thread = thread::spawn(move || {
                *targets.lock().unwrap() = Some(me());
                match i % 3 {
                    0 => drop(AutoreleasePool::new()),
                    1 => _ = global().run_inbox(),
                    _ => {}
                }
            });
            thread.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        let mut sum = (0, Vec::new(), 0);
        for sender in senders {
            let (released, posted, refused) = sender.join().unwrap();
            sum.1.extend(posted);
            sum = (sum.0 + released, sum.1, sum.2 + refused);
        }
        sum
    });
    quiesce_until(|| log.count() == released && runs.lock().unwrap().len() == posted.len());
    let mut ids = log.ids();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), released, "no release twice");
    let runs = runs.lock().unwrap();
    for (id, target) in &posted {
        let by = &runs[id];
        assert_eq!(by.len(), 1, "closure {id} ran once");
        // A runner without a key was in its teardown and had left its slot.
        if let Some(by) = by[0].filter(|by| by != target) {
            assert_ne!(slot(by), slot(*target), "{by} is the successor of {target}");
        }
    }
    assert!(released == posted.len() + refused);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn one_drain_makes_remote_releases_and_runs_orphans_and_releases_what_they_autorelease() {
    // This runs in a process of its own, so that no other thread runs the orphan.
    alone!(with_log(|log| {
        let gone = fresh_to_the_end(me);
        let mut pool = AutoreleasePool::new();
        me().release(Ref::new(log.probe(0)));
        gone.release(Ref::new(log.probe(1)));
        let probe = log.probe(2);
        gone.release(Ref::new(on_drop(move || autorelease(Ref::new(probe)))));
        assert_eq!(pool.drain(), 1);
        assert_eq!(log.ids(), [0, 1, 2]);
    }));
}

#[test]
fn run_inbox_makes_remote_releases_that_a_budgeted_drain_has_left() {
    fresh(with_log(|log| {
        send(&me(), &log, 0..10);
        AutoreleasePool::new().drain_within(Budget::Count(1));
        me().post(noting(&log, 10)).unwrap();
        assert_eq!(global().run_inbox(), 1);
        assert_eq!(log.ids(), Vec::from_iter(0..11));
    }));
}
