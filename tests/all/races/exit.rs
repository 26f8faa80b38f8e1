//! Threads that exit on real threads, for the checkers, while others send to them, look them up and
//! take over their slots; and managers.

use super::objects::scenario::*;
use super::{ROUNDS, rounds};
use crate::support::{Log, global, listen, quiesce_until, slot};
use releasepool::pool::PopError;
use releasepool::thread::ThreadKey;
use releasepool::{HomeRef, PoolManager, Ref, ThreadHandle, autorelease};
use std::sync::Mutex;
use std::time::Duration;

/// Takes over the slot of an exiting thread, if it is late enough, and drains.
fn succeed() -> ThreadKey {
    drain();
    this().key()
}

/// Waits until all probes have died, of which some may be among the orphans. A drain of another
/// test may be running them.
fn all_died(n: u32) {
    quiesce_until(|| deaths().len() == n as usize);
}

#[test]
fn exit_release() {
    begin();
    for _ in 0..ROUNDS {
        let (target, leaver) = spawn_after(this, drain);
        let successor = spawn(succeed);
        let r = Ref::new(Probe::new());
        go();
        r.look();
        target.release(r);
        leaver.join();
        assert_ne!(successor.join(), target.key());
        assert!(!target.is_alive());
    }
    all_died(ROUNDS);
}

/// A closure, and the thread that ran it.
type Run = (u32, Option<ThreadKey>);

#[test]
fn exit_post() {
    // This thread has a slot, so it cannot be a successor.
    let _slot = this();
    let runs: Arc<Mutex<Vec<Run>>> = Arc::default();
    let mut targets = Vec::new();
    for id in 0..ROUNDS {
        let (target, leaver) = spawn_after(this, || _ = global().run_inbox());
        let successor = spawn(|| {
            this();
            assert_eq!(global().run_inbox(), 0, "meant for another");
        });
        let noted = runs.clone();
        go();
        let posted = target.post(move || {
            // This does not register the thread: a thread without a slot is no successor.
            let runner = global().thread_by_id(me());
            let runner = runner.map(|thread| thread.key());
            noted.lock().unwrap().push((id, runner));
        });
        if let Err(closed) = posted {
            // The closure was returned.
            (closed.0)();
        }
        join_all([leaver, successor]);
        targets.push(target.key());
    }
    quiesce_until(|| runs.lock().unwrap().len() == targets.len());
    let mut runs = std::mem::take(&mut *runs.lock().unwrap());
    runs.sort_unstable_by_key(|(id, _)| *id);
    assert!(runs.iter().map(|(id, _)| *id).eq(0..ROUNDS), "once each");
    for (target, (_, runner)) in targets.into_iter().zip(runs) {
        if let Some(runner) = runner.filter(|runner| *runner != target) {
            assert_ne!(slot(runner), slot(target), "run by the successor");
        }
    }
}

#[test]
fn inbox_push_take_close() {
    let ran = Log::new();
    let mut accepted = Vec::new();
    for round in 0..ROUNDS {
        // Takes, then closes.
        let (target, leaver) = spawn_after(this, || _ = global().run_inbox());
        let send = |(target, ran): (ThreadHandle, Log), first: u32| {
            [first, first + 1].map(|id| {
                let (text, ran) = (id.to_string(), ran);
                let posted = target.post(move || ran.note(text.parse().unwrap()));
                posted.is_ok().then_some(id)
            })
        };
        let to = (target, ran);
        let other = spawn_with(&to, move |to| send(to, 4 * round));
        go();
        let mine = send(to, 4 * round + 2);
        let others = other.join();
        leaver.join();
        for both in [mine, others] {
            assert!(both[0].is_some() || both[1].is_none(), "closed for ever");
            accepted.extend(both.into_iter().flatten());
        }
    }
    quiesce_until(|| ran.count() == accepted.len());
    let mut ran = ran.ids();
    ran.sort_unstable();
    accepted.sort_unstable();
    assert_eq!(ran, accepted);
}

#[test]
fn orphans_quiesce() {
    // A thread without a slot would run the closures of other tests, and might then get the slot of
    // the thread that they were sent to.
    let _slot = this();
    begin();
    for _ in 0..ROUNDS {
        let gone = thread::spawn(this).join().unwrap();
        gone.release(Ref::new(Probe::new()));
        let r = Ref::new(Probe::new());
        let other = spawn(move || {
            gone.release(r);
            drain();
        });
        go();
        global().quiesce(Duration::ZERO);
        other.join();
    }
    all_died(2 * ROUNDS);
}

#[test]
fn registry_lookup_reuse() {
    rounds(1, || {
        let (target, leaver) = spawn_after(|| this().key(), || ());
        let successor = spawn(succeed);
        let id = leaver.id;
        go();
        if let Some(found) = global().thread(target) {
            assert_eq!(found.key(), target, "another thread's record");
            assert_eq!(found.name(), None);
        }
        if let Some(found) = global().thread_by_id(id) {
            assert_eq!(found.key(), target, "std's ids are not reused");
        }
        let all = global().threads();
        assert!(all.iter().filter(|thread| thread.key() == target).count() <= 1);
        leaver.join();
        assert_ne!(successor.join(), target, "a key came back");
        assert!(global().thread(target).is_none(), "found after it left");
        assert!(global().thread_by_id(id).is_none());
    });
}

#[test]
fn two_managers_on_two_threads() {
    // Objects that are autoreleased without a pool are reported: a hook takes these events.
    listen();
    fn use_both(other: Arc<PoolManager>) {
        let log = Log::new();
        let new = |id| Ref::new((log.probe(id), Probe::new()));
        other.autorelease(new(0));
        let outer = other.push();
        let inner = global().push();
        other.autorelease(new(1));
        autorelease(new(2));
        assert_eq!(global().pop(inner), Ok(1));
        assert_eq!(log.ids(), [2]);
        assert_eq!(other.pop(outer), Ok(1));
        assert_eq!(other.pop(outer), Err(PopError::Stale));
        assert_eq!(log.ids(), [2, 1]);
        assert_eq!(other.drain_root(), 1);
        assert_eq!(log.ids(), [2, 1, 0]);
        assert!(log.threads().iter().all(|thread| *thread == me()));
    }
    rounds(1, || {
        let other = Arc::new(PoolManager::new());
        let one = spawn_with(&other, use_both);
        go();
        use_both(other);
        one.join();
    });
}

#[test]
fn shutdown_and_snapshot_look_at_a_thread_at_work() {
    // Objects that are autoreleased without a pool are reported: a hook takes these events.
    listen();
    rounds(1, || {
        let manager = Arc::new(PoolManager::new());
        let worker = spawn_with(&manager, |manager| {
            manager.autorelease(Ref::new(Probe::new()));
            let pool = manager.pool();
            pool.create(Probe::new()).look();
            // If it was asked, it also drains the root pool.
            drop(pool);
        });
        go();
        for thread in manager.snapshot().threads {
            assert!(thread.open_pools <= 1 && thread.root_entries <= 1);
        }
        let _somebody_may_hold_something = manager.shutdown(Duration::ZERO);
        let one = worker.ended();
        assert_eq!(deaths(), [one, one], "never drained by another");
    });
}

#[test]
fn home_exit() {
    listen();
    let (mut died, before) = (0, global().snapshot().kept);
    rounds(1, || {
        let (object, home) = spawn_after(|| HomeRef::new(Probe::new()), drain);
        let dropper = spawn_with(&object, drop);
        go();
        assert!(object.get().is_none());
        drop(object);
        let home = home.ended();
        dropper.join();
        let deaths = deaths();
        assert!(deaths == [home] || deaths.is_empty(), "{deaths:?}");
        died += deaths.len() as u64;
    });
    // Objects of other tests may have been kept meanwhile.
    let kept = global().snapshot().kept - before;
    assert!(died + kept >= u64::from(ROUNDS));
}

#[test]
fn home_exit_anywhere() {
    rounds(1, || {
        let (object, home) = spawn_after(|| HomeRef::new_or_anywhere(Probe::new()), drain);
        let dropper = spawn_with(&object, drop);
        go();
        drop(object);
        let threads = [home.ended(), dropper.ended(), me()];
        let deaths = deaths();
        assert!(deaths.len() == 1 && threads.contains(&deaths[0]));
    });
}
