//! Threads: each has its own pools, and a key that is never reused.

use crate::support::{
    Log, child, fresh, fresh_to_the_end, global, in_child, on_drop, slot, wait_until,
};
use releasepool::{
    AutoreleasePool, PoolManager, PoolRef, Ref, ThreadKey, autorelease, autoreleasepool,
};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

fn my_key() -> ThreadKey {
    global().current_thread().unwrap().key()
}

#[test]
fn classic_timeline() {
    // Thread 1 pushes, thread 2 pushes, 2 autoreleases, 1 pops, 2 still uses the object, 2 pops.
    // With one stack for both, thread 1 would pop the pool of thread 2.
    let log = Log::new();
    let step = Barrier::new(2);
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            let token = global().push();
            step.wait(); // 1 has pushed
            step.wait(); // 2 has pushed
            step.wait(); // 2 has autoreleased
            assert_eq!(global().pop(token), Ok(0));
            step.wait(); // 1 has popped
            step.wait(); // 2 has used it
        });
        let second = scope.spawn(|| {
            step.wait();
            let token = global().push();
            step.wait();
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
            step.wait();
            assert_eq!(global().pop(token), Ok(1));
            assert!(weak.upgrade().is_none());
        });
        first.join().unwrap();
        second.join().unwrap();
    });
    assert_eq!(log.ids(), [1]);
}

#[test]
fn classic_timeline_with_guard_pools() {
    let log = Log::new();
    let step = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let pool = AutoreleasePool::new();
            step.wait();
            step.wait();
            drop(pool);
            step.wait();
        });
        scope.spawn(|| {
            step.wait();
            let pool = AutoreleasePool::new();
            let lent = pool.create(log.probe(1));
            step.wait();
            step.wait();
            assert_eq!((lent.id, log.count()), (1, 0));
            drop(pool);
            assert_eq!(log.count(), 1);
        });
    });
}

#[test]
fn a_worker_autoreleases_while_the_ui_thread_clears_its_pool() {
    const FRAMES: u32 = if cfg!(miri) { 20 } else { 3_000 };
    let done = AtomicBool::new(false);
    let worked = AtomicU32::new(0);
    static DIED: AtomicU32 = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) || worked.load(Ordering::Relaxed) == 0 {
                autoreleasepool(|pool| {
                    let lent = pool.create(vec![7; 10]);
                    for _ in 0..20 {
                        pool.create(String::from("response"));
                    }
                    thread::yield_now();
                    assert_eq!(*lent, [7; 10]);
                    assert_eq!(pool.len(), 21, "nobody else touches it");
                });
                worked.fetch_add(1, Ordering::Relaxed);
            }
        });
        let ui = scope.spawn(|| {
            let mut pool = AutoreleasePool::named("ui");
            for _ in 0..FRAMES {
                for _ in 0..10 {
                    pool.create(on_drop(|| _ = DIED.fetch_add(1, Ordering::Relaxed)));
                }
                assert_eq!(pool.drain(), 10);
            }
        });
        ui.join().unwrap();
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(DIED.load(Ordering::Relaxed), 10 * FRAMES);
}

#[test]
fn many_threads_share_one_object_through_what_a_pool_lends() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    let lent = pool.create((log.probe(0), AtomicU32::new(0)));
    const ROUNDS: u32 = if cfg!(miri) { 10 } else { 1_000 };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let kept = PoolRef::retain(lent);
                    kept.1.fetch_add(1, Ordering::Relaxed);
                    let weak = PoolRef::downgrade(lent);
                    assert!(weak.upgrade().is_some());
                    autoreleasepool(|pool| pool.autorelease(kept).0.id);
                }
            });
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
    let theirs = object.clone();
    let step = Barrier::new(2);
    let thread = thread::scope(|scope| {
        let other = scope.spawn(|| {
            step.wait();
            drop(theirs);
            thread::current().id()
        });
        drop(object);
        assert_eq!(log.count(), 0);
        step.wait();
        other.join().unwrap()
    });
    assert_eq!(log.threads(), [thread]);
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
fn a_reused_thread_id_does_not_reuse_the_key() {
    const THREADS: usize = if cfg!(miri) { 10 } else { 500 };
    let mut keys = HashSet::new();
    let mut slots = HashMap::new();
    for _ in 0..THREADS {
        let key = fresh_to_the_end(my_key);
        assert!(keys.insert(key), "{key} came back");
        *slots.entry(slot(key)).or_insert(0) += 1;
        assert!(global().thread(key).is_none());
    }
    assert!(
        slots.values().any(|&threads| threads > 1),
        "slots are reused: {slots:?}"
    );
}

#[test]
fn keys_compare_by_slot_and_generation() {
    assert_eq!(size_of::<ThreadKey>(), 8);
    // Keys of one slot differ by their generation only, and compare and hash as different.
    let mut by_slot: HashMap<u32, ThreadKey> = HashMap::new();
    for _ in 0..10 {
        let key = fresh_to_the_end(my_key);
        if let Some(&before) = by_slot.get(&slot(key)) {
            assert_ne!(before, key);
            assert!(before < key);
            assert_ne!(before.to_string(), key.to_string());
            assert_ne!(format!("{before:?}"), format!("{key:?}"));
            assert_eq!(HashSet::from([before, key]).len(), 2);
        }
        by_slot.insert(slot(key), key);
    }
}

#[test]
fn a_living_thread_is_found_by_key_and_by_id() {
    let step = Barrier::new(2);
    thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let step = &step;
        let thread = thread::Builder::new().name("worker".into());
        let thread = thread.spawn_scoped(scope, move || {
            assert!(
                global().thread_by_id(thread::current().id()).is_none(),
                "not yet entered"
            );
            let me = global().current_thread().unwrap();
            tell.send(me.clone()).unwrap();
            step.wait();
            assert_eq!(global().current_thread(), Some(me));
        });
        let handle = told.recv().unwrap();
        let id = thread.unwrap().thread().id();
        assert_eq!(handle.name(), Some("worker"));
        assert!(handle.is_alive());
        assert_eq!(global().thread(handle.key()), Some(handle.clone()));
        assert_eq!(global().thread_by_id(id), Some(handle.clone()));
        assert_eq!(
            PoolManager::new().thread_by_id(id),
            Some(handle.clone()),
            "all managers"
        );
        assert!(global().threads().contains(&handle));
        assert_ne!(global().current_thread(), Some(handle.clone()));
        let debug = format!("{handle:?}");
        assert!(
            debug.contains("worker") && debug.contains(&handle.key().to_string()),
            "{debug}"
        );
        step.wait();
    });
}

#[test]
fn a_thread_that_has_ended_is_not_found_but_its_handle_stays_good() {
    let handle = fresh_to_the_end(|| global().current_thread().unwrap());
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
        let mut keys = HashSet::new();
        for _ in 0..THREADS {
            let key = fresh_to_the_end(|| {
                let me = global().current_thread().unwrap();
                assert_eq!(global().thread(me.key()).as_ref(), Some(&me));
                me.key()
            });
            assert!(keys.insert(key));
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn two_threads_make_the_first_use_at_once_and_there_is_one_manager() {
    let child = child!(|| {
        let step = Arc::new(Barrier::new(8));
        let threads: Vec<_> = (0..8)
            .map(|i| {
                let step = step.clone();
                thread::spawn(move || {
                    step.wait();
                    let object = Ref::new(1);
                    let weak = Ref::downgrade(&object);
                    match i % 4 {
                        0 => autorelease(object),
                        1 => drop(global().pool().autorelease(object).to_string()),
                        2 => drop(AutoreleasePool::new().autorelease(object).to_string()),
                        _ => autoreleasepool(|_| Ref::autorelease(object)),
                    }
                    assert_eq!(global().drain_root(), usize::from(i % 4 == 0));
                    assert!(weak.upgrade().is_none());
                    (std::ptr::from_ref(global()).addr(), my_key())
                })
            })
            .collect();
        let (managers, keys): (HashSet<_>, HashSet<_>) = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .unzip();
        assert_eq!(managers.len(), 1);
        assert_eq!(keys.len(), 8);
    });
    child.assert_success();
}

#[test]
fn threads_may_all_begin_at_once() {
    let body = || {
        const THREADS: usize = 32;
        let start = Barrier::new(THREADS);
        let first_use = || {
            start.wait();
            let pool = AutoreleasePool::new();
            pool.autorelease(Ref::new(5));
        };
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(first_use);
            }
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
