//! Threads: each has its own pools, and a key that is never reused.

use crate::support::{Worker, alone, fresh, fresh_to_the_end, global, me, slot, wait_until};
use releasepool::thread::ThreadKey;
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease, autoreleasepool};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Barrier;
use std::thread;

fn my_key() -> ThreadKey {
    me().key()
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
    assert!(handle.is_alive());
    let (both, listed) = ([me(), handle.clone()], global().threads());
    assert!(both.iter().all(|thread| listed.contains(thread)));
    assert_eq!(global().thread(handle.key()), Some(handle.clone()));
    // All managers find it.
    for manager in [global(), &PoolManager::new()] {
        assert_eq!(manager.thread_by_id(id), Some(handle.clone()));
    }
    assert_ne!(me(), handle);
    let hashes = RandomState::new();
    assert_ne!(hashes.hash_one(me()), hashes.hash_one(&handle));
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
            // A successor has another key.
            assert!(global().thread(handle.key()).is_none());
        });
    }
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
    alone!(body);
}
