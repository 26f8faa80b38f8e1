//! Threads: each has its own pools, and a key that is never reused.

use crate::support::{
    Log, Worker, fresh, fresh_to_the_end, global, in_child, me, on_threads, slot, wait_until,
};
use releasepool::{
    AutoreleasePool, PoolManager, PoolRef, Ref, ThreadKey, autorelease, autoreleasepool,
};
use std::collections::{HashMap, HashSet};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

fn my_key() -> ThreadKey {
    me().key()
}

#[test]
fn classic_timeline() {
    // Thread 1 opens a pool, thread 2 another one; 2 autoreleases, 1 closes its pool, 2 still uses
    // the object and closes its own. With one stack for both, thread 1 would close that of thread 2.
    type Open = fn() -> Box<dyn FnOnce()>;
    let opens: [Open; 2] = [
        || {
            let token = global().push();
            Box::new(move || _ = global().pop(token).unwrap())
        },
        || {
            let pool = AutoreleasePool::new();
            Box::new(|| drop(pool))
        },
    ];
    for open in opens {
        let log = Log::new();
        let step = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                let close = open();
                step.wait(); // 1 has opened its pool
                step.wait(); // 2 has autoreleased
                close();
                step.wait(); // 1 has closed its pool
            });
            scope.spawn(|| {
                step.wait();
                let close = open();
                let object = Ref::new((log.probe(1), String::from("still there")));
                let weak = Ref::downgrade(&object);
                let raw = Ref::as_ptr(&object);
                autorelease(object);
                step.wait();
                step.wait();
                assert_eq!(log.count(), 0);
                // SAFETY: the pool of this thread keeps a reference.
                let (probe, text) = unsafe { &*raw };
                assert_eq!((probe.id, text.as_str()), (1, "still there"));
                close();
                assert!(weak.upgrade().is_none());
            });
        });
        assert_eq!(log.ids(), [1]);
    }
}

#[test]
fn many_threads_share_one_object_through_what_a_pool_lends() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    let lent = pool.create((log.probe(0), AtomicU32::new(0)));
    const ROUNDS: u32 = if cfg!(miri) { 10 } else { 1_000 };
    on_threads(4, |_| {
        for _ in 0..ROUNDS {
            let kept = PoolRef::retain(lent);
            kept.1.fetch_add(1, Ordering::Relaxed);
            let weak = PoolRef::downgrade(lent);
            assert!(weak.upgrade().is_some());
            autoreleasepool(|pool| pool.autorelease(kept).0.id);
        }
    });
    assert_eq!(lent.1.load(Ordering::Relaxed), 4 * ROUNDS);
    assert_eq!(pool.drain(), 1);
    assert_eq!(log.ids(), [0]);
}

#[test]
fn last_release_on_another_thread_drops_the_value_there_once() {
    let log = Log::new();
    let object = Ref::new(log.probe(0));
    let (theirs, worker) = (object.clone(), Worker::new("worker"));
    drop(object);
    assert_eq!(log.count(), 0);
    worker.run(move || drop(theirs));
    assert_eq!(log.threads(), [worker.id()]);
}

#[test]
fn last_release_raced_by_many_threads_drops_the_value_once() {
    const ROUNDS: u32 = if cfg!(miri) { 5 } else { 300 };
    let log = Log::new();
    for id in 0..ROUNDS {
        let object = Ref::new(log.probe(id));
        let step = Barrier::new(4);
        thread::scope(|scope| {
            for way in 0..4 {
                let (object, step) = (object.clone(), &step);
                scope.spawn(move || {
                    step.wait();
                    match way {
                        0 => drop(object),
                        1 => autoreleasepool(|pool| assert_eq!(pool.autorelease(object).id, id)),
                        2 => drop(Ref::into_inner(object)),
                        _ => _ = Ref::try_unwrap(object),
                    }
                });
            }
            drop(object);
        });
        assert_eq!(log.count() as u32, id + 1);
    }
}

#[test]
fn weak_upgrade_racing_the_last_release_is_valid_or_none() {
    const ROUNDS: u32 = if cfg!(miri) { 10 } else { 1_000 };
    let log = Log::new();
    let mut outcomes = HashSet::new();
    for id in 0..ROUNDS {
        let object = Ref::new((log.probe(id), vec![id; 3]));
        let weak = Ref::downgrade(&object);
        let step = Barrier::new(2);
        let upgraded = thread::scope(|scope| {
            let upgrader = scope.spawn(|| {
                step.wait();
                let upgraded = weak.upgrade();
                if let Some(object) = &upgraded {
                    assert_eq!((object.0.id, &object.1[..]), (id, &[id; 3][..]));
                }
                upgraded.is_some()
            });
            step.wait();
            drop(object);
            upgrader.join().unwrap()
        });
        outcomes.insert(upgraded);
        assert_eq!(log.count() as u32, id + 1);
        assert!(weak.upgrade().is_none());
    }
    assert!(!outcomes.is_empty());
}

#[test]
fn keys_of_one_slot_differ_by_their_generation() {
    const THREADS: usize = if cfg!(miri) { 10 } else { 500 };
    assert_eq!(size_of::<ThreadKey>(), 8);
    let mut keys = HashSet::new();
    let mut by_slot: HashMap<u32, ThreadKey> = HashMap::new();
    for _ in 0..THREADS {
        let key = fresh_to_the_end(my_key);
        assert!(keys.insert(key), "{key} came back");
        assert!(global().thread(key).is_none());
        if let Some(before) = by_slot.insert(slot(key), key) {
            assert!(before != key && before < key);
            assert_ne!(before.to_string(), key.to_string());
            assert_ne!(format!("{before:?}"), format!("{key:?}"));
        }
    }
    assert!(by_slot.len() < THREADS, "slots are reused");
}

#[test]
fn a_living_thread_is_found_by_key_and_by_id() {
    let worker = Worker::new("worker");
    let id = worker.id();
    let handle = worker.run(|| {
        let before = global().thread_by_id(thread::current().id());
        assert!(before.is_none(), "it has not used the crate");
        me()
    });
    assert_eq!(
        worker.run(|| global().current_thread()),
        Some(handle.clone())
    );
    assert_eq!(handle.name(), Some("worker"));
    assert!(handle.is_alive() && global().threads().contains(&handle));
    assert_eq!(global().thread(handle.key()), Some(handle.clone()));
    // All managers find it.
    for manager in [global(), &PoolManager::new()] {
        assert_eq!(manager.thread_by_id(id), Some(handle.clone()));
    }
    assert_ne!(me(), handle);
    let (debug, key) = (format!("{handle:?}"), handle.key().to_string());
    assert!(debug.contains("worker") && debug.contains(&key), "{debug}");
    worker.join();
}

#[test]
fn a_thread_that_has_ended_is_not_found_but_its_handle_stays_good() {
    let handle = fresh_to_the_end(me);
    assert!(!handle.is_alive());
    assert!(global().thread(handle.key()).is_none());
    assert!(!global().threads().contains(&handle));
    assert_eq!(handle.name(), Some("fresh"));
    assert_eq!(handle, handle.clone());
    let id = thread::spawn(|| _ = my_key()).thread().id();
    wait_until(|| global().thread_by_id(id).is_none());
    for _ in 0..20 {
        fresh(|| {
            assert!(
                global().thread(handle.key()).is_none(),
                "a successor has another key"
            )
        });
    }
}

#[test]
fn many_threads_at_once_are_all_listed() {
    const THREADS: usize = if cfg!(miri) { 5 } else { 80 };
    let step = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let _pool = AutoreleasePool::new();
                step.wait();
                step.wait();
            });
        }
        step.wait();
        let keys: HashSet<_> = global()
            .threads()
            .iter()
            .map(|thread| thread.key())
            .collect();
        assert!(keys.len() >= THREADS);
        let slots: HashSet<_> = keys.iter().map(|&key| slot(key)).collect();
        assert_eq!(slots.len(), keys.len(), "one living thread in each slot");
        step.wait();
    });
}

#[test]
fn look_ups_race_threads_that_come_and_go() {
    const THREADS: usize = if cfg!(miri) { 10 } else { 1_000 };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for handle in global().threads() {
                    if let Some(found) = global().thread(handle.key()) {
                        assert_eq!(found, handle);
                    }
                    let _ = global().snapshot();
                }
                thread::yield_now();
            }
        });
        for _ in 0..THREADS {
            fresh_to_the_end(|| assert_eq!(global().thread(my_key()), Some(me())));
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn threads_may_all_begin_at_once() {
    let body = || {
        const THREADS: usize = 32;
        let start = Barrier::new(THREADS);
        let first_use = |way| {
            start.wait();
            let object = Ref::new(1);
            let weak = Ref::downgrade(&object);
            match way {
                0 => autorelease(object),
                1 => drop(global().pool().autorelease(object).to_string()),
                2 => drop(AutoreleasePool::new().autorelease(object).to_string()),
                _ => autoreleasepool(|_| Ref::autorelease(object)),
            }
            assert_eq!(global().drain_root(), usize::from(way == 0));
            assert!(weak.upgrade().is_none());
            (std::ptr::from_ref(global()).addr(), my_key())
        };
        thread::scope(|scope| {
            let threads =
                Vec::from_iter((0..THREADS).map(|i| scope.spawn(move || first_use(i % 4))));
            let all = threads.into_iter().map(|thread| thread.join().unwrap());
            let (managers, keys): (HashSet<_>, HashSet<_>) = all.unzip();
            assert_eq!((managers.len(), keys.len()), (1, THREADS));
        });
    };
    // Nothing has used the crate before: Miri runs this test alone, and with the crate's own thread-locals, too
    // (ci/sanitize/miri.sh).
    if cfg!(miri) {
        return body();
    }
    let test = "thread::threads::threads_may_all_begin_at_once";
    if let Some(child) = in_child(test, body) {
        child.assert_success();
    }
}
