//! The scenarios of the models on real threads (see [`crate::races`]): threads that exit while
//! others send to them, look them up and take over their slots; and managers.

use crate::races::{Line, ROUNDS, Watched, me};
use crate::support::{Log, global, listen, quiesce_until, slot};
use releasepool::{
    AutoreleasePool, HomeRef, PoolManager, PopError, Ref, ThreadHandle, ThreadKey, autorelease,
};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

fn my_handle() -> ThreadHandle {
    global().current_thread().unwrap()
}

/// Starts a thread to send to, which runs `last` after the barrier and exits.
fn leaver(
    line: &Arc<Line>,
    last: impl FnOnce() + Send + 'static,
) -> (ThreadHandle, JoinHandle<()>) {
    let (tell, told) = mpsc::channel();
    let line = line.clone();
    let thread = thread::spawn(move || {
        tell.send(my_handle()).unwrap();
        line.wait();
        last();
    });
    (told.recv().unwrap(), thread)
}

/// Starts a thread that takes over the slot of the exiting one, if it is late enough, and drains.
fn successor(line: &Arc<Line>) -> JoinHandle<(ThreadKey, thread::ThreadId)> {
    line.start(|| {
        drop(AutoreleasePool::new());
        my_handle().key()
    })
}

/// Asserts that these objects and no others were destroyed, once each.
fn assert_ids(log: &Log, wanted: impl IntoIterator<Item = u32>) {
    let mut ids = log.ids();
    ids.sort_unstable();
    let mut wanted: Vec<u32> = wanted.into_iter().collect();
    wanted.sort_unstable();
    assert_eq!(ids, wanted);
}

#[test]
fn exit_release() {
    let deaths = Log::new();
    for id in 0..ROUNDS {
        let line = Line::of(3);
        let (target, leaver) = leaver(&line, || drop(AutoreleasePool::new()));
        let successor = successor(&line);
        let r = Ref::new(Watched::new(id, &deaths));
        line.wait();
        r.look();
        target.release(r);
        leaver.join().unwrap();
        let (key, _) = successor.join().unwrap();
        assert_ne!(key, target.key());
        assert!(!target.is_alive());
    }
    // The last one may be among the orphans.
    quiesce_until(|| deaths.count() == ROUNDS as usize);
    assert_ids(&deaths, 0..ROUNDS);
}

/// A closure, and the thread that ran it.
type Run = (u32, Option<ThreadKey>);

#[test]
fn exit_post() {
    // This thread has a slot, so it cannot be a successor.
    let _slot = my_handle();
    let runs: Arc<Mutex<Vec<Run>>> = Arc::default();
    let mut targets = Vec::new();
    for id in 0..ROUNDS {
        let line = Line::of(3);
        let (target, leaver) = leaver(&line, || _ = global().run_inbox());
        let successor = line.start(|| {
            let me = my_handle().key();
            assert_eq!(global().run_inbox(), 0, "meant for another");
            me
        });
        let noted = runs.clone();
        line.wait();
        let posted = target.post(move || {
            // This does not register the thread: a thread without a slot is no successor.
            let runner = global().thread_by_id(thread::current().id());
            let runner = runner.map(|thread| thread.key());
            noted.lock().unwrap().push((id, runner));
        });
        if let Err(closed) = posted {
            // The closure was returned.
            (closed.0)();
        }
        leaver.join().unwrap();
        successor.join().unwrap();
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
        let line = Line::of(3);
        // Takes, then closes.
        let (target, leaver) = leaver(&line, || _ = global().run_inbox());
        let send = move |target: &ThreadHandle, id: u32, ran: Log| {
            let text = id.to_string();
            target
                .post(move || ran.note(text.parse().unwrap()))
                .is_ok()
                .then_some(id)
        };
        let other = {
            let (target, ran) = (target.clone(), ran.clone());
            line.start(move || [4 * round, 4 * round + 1].map(|id| send(&target, id, ran.clone())))
        };
        line.wait();
        let mine = [4 * round + 2, 4 * round + 3].map(|id| send(&target, id, ran.clone()));
        let (others, _) = other.join().unwrap();
        leaver.join().unwrap();
        for both in [mine, others] {
            assert!(both[0].is_some() || both[1].is_none(), "closed for ever");
            accepted.extend(both.into_iter().flatten());
        }
    }
    quiesce_until(|| ran.count() == accepted.len());
    assert_ids(&ran, accepted);
}

#[test]
fn orphans_quiesce() {
    // A thread without a slot would run the closures of other tests, and might then get the slot of
    // the thread that they were sent to.
    let _slot = my_handle();
    let deaths = Log::new();
    for id in 0..ROUNDS {
        let gone = thread::spawn(my_handle).join().unwrap();
        let line = Line::of(2);
        gone.release(Ref::new(Watched::new(2 * id, &deaths)));
        let r = Ref::new(Watched::new(2 * id + 1, &deaths));
        let other = line.start(move || {
            gone.release(r);
            drop(AutoreleasePool::new());
        });
        line.wait();
        global().quiesce(Duration::ZERO);
        other.join().unwrap();
    }
    // A drain of another test may be running it.
    quiesce_until(|| deaths.count() == 2 * ROUNDS as usize);
    assert_ids(&deaths, 0..2 * ROUNDS);
}

#[test]
fn exit_drains_root() {
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(2), Log::new());
        let r = Ref::new(Watched::new(0, &deaths));
        let weak = Ref::downgrade(&r);
        let leaver = line.start(move || {
            let _never_popped = global().push();
            autorelease(r);
        });
        line.wait();
        let seen = weak.upgrade().map(|r| r.look()).is_some();
        let ((), one) = leaver.join().unwrap();
        assert!(weak.upgrade().is_none(), "the exit has drained it");
        let died = deaths.threads();
        assert!(died == [one] || (seen && died == [me()]), "{died:?}");
    }
}

#[test]
fn registry_lookup_reuse() {
    for _ in 0..ROUNDS {
        let line = Line::of(3);
        let (target, leaver) = leaver(&line, || ());
        let successor = successor(&line);
        let (key, id) = (target.key(), leaver.thread().id());
        drop(target);
        line.wait();
        if let Some(found) = global().thread(key) {
            assert_eq!(found.key(), key, "another thread's record");
            assert_eq!(found.name(), None);
        }
        if let Some(found) = global().thread_by_id(id) {
            assert_eq!(found.key(), key, "std's ids are not reused");
        }
        let all = global().threads();
        assert!(all.iter().filter(|thread| thread.key() == key).count() <= 1);
        leaver.join().unwrap();
        let (successor, _) = successor.join().unwrap();
        assert_ne!(successor, key, "a key came back");
        assert!(global().thread(key).is_none(), "found after it left");
        assert!(global().thread_by_id(id).is_none());
    }
}

#[test]
fn two_managers_on_two_threads() {
    // Objects that are autoreleased without a pool are reported: a hook takes these events.
    listen();
    fn use_both(other: &PoolManager) {
        let deaths = Log::new();
        let new = |id| Ref::new(Watched::new(id, &deaths));
        other.autorelease(new(0));
        let outer = other.push();
        let inner = global().push();
        other.autorelease(new(1));
        autorelease(new(2));
        assert_eq!(global().pop(inner), Ok(1));
        assert_eq!(deaths.ids(), [2]);
        assert_eq!(other.pop(outer), Ok(1));
        assert_eq!(other.pop(outer), Err(PopError::Stale));
        assert_eq!(deaths.ids(), [2, 1]);
        assert_eq!(other.drain_root(), 1);
        assert_eq!(deaths.ids(), [2, 1, 0]);
        assert!(deaths.threads().iter().all(|thread| *thread == me()));
    }
    for _ in 0..ROUNDS {
        let line = Line::of(2);
        let other = Arc::new(PoolManager::new());
        let theirs = other.clone();
        let one = line.start(move || use_both(&theirs));
        line.wait();
        use_both(&other);
        one.join().unwrap();
    }
}

#[test]
fn foreign_token() {
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(2), Log::new());
        let token = global().push();
        autorelease(Ref::new(Watched::new(0, &deaths)));
        let owner = my_handle().key();
        let thief = line.start(move || global().pop(token));
        line.wait();
        assert_eq!(global().pop(token), Ok(1));
        let (stolen, _) = thief.join().unwrap();
        assert_eq!(stolen, Err(PopError::WrongThread { owner }));
        assert_eq!(deaths.threads(), [me()]);
    }
}

#[test]
fn shutdown_and_snapshot_look_at_a_thread_at_work() {
    // Objects that are autoreleased without a pool are reported: a hook takes these events.
    listen();
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(2), Log::new());
        let manager = Arc::new(PoolManager::new());
        let (theirs, log) = (manager.clone(), deaths.clone());
        let worker = line.start(move || {
            theirs.autorelease(Ref::new(Watched::new(0, &log)));
            let pool = theirs.pool();
            pool.create(Watched::new(1, &log)).look();
            // If it was asked, it also drains the root pool.
            drop(pool);
        });
        line.wait();
        for thread in manager.snapshot().threads {
            assert!(thread.open_pools <= 1 && thread.root_entries <= 1);
        }
        let _somebody_may_hold_something = manager.shutdown(Duration::ZERO);
        let ((), one) = worker.join().unwrap();
        assert_eq!(deaths.threads(), [one, one], "never drained by another");
        assert_ids(&deaths, 0..2);
    }
}

/// Starts a thread that makes a thread-bound object, passes it to `f` after the barrier, and exits.
fn home<T: Send + 'static>(
    line: &Arc<Line>,
    make: impl FnOnce() -> T + Send + 'static,
) -> (T, JoinHandle<()>) {
    let (tell, told) = mpsc::channel();
    let line = line.clone();
    let thread = thread::spawn(move || {
        tell.send(make()).unwrap();
        line.wait();
        drop(AutoreleasePool::new());
    });
    (told.recv().unwrap(), thread)
}

#[test]
fn home_exit() {
    listen();
    let (deaths, before) = (Log::new(), global().snapshot().kept);
    for id in 0..ROUNDS {
        let (line, log) = (Line::of(3), deaths.clone());
        let (object, home) = home(&line, move || HomeRef::new(Watched::new(id, &log)));
        let clone = object.clone();
        let died = deaths.count();
        let dropper = line.start(move || drop(clone));
        line.wait();
        assert!(object.get().is_none());
        drop(object);
        let id = home.thread().id();
        home.join().unwrap();
        dropper.join().unwrap();
        let died = &deaths.threads()[died..];
        assert!(died == [id] || died.is_empty(), "{died:?}");
    }
    // Objects of other tests may have been kept meanwhile.
    let kept = global().snapshot().kept - before;
    assert!(deaths.count() as u64 + kept >= u64::from(ROUNDS));
}

#[test]
fn home_exit_anywhere() {
    let deaths = Log::new();
    for id in 0..ROUNDS {
        let (line, log) = (Line::of(3), deaths.clone());
        let make = move || HomeRef::new_or_anywhere(Watched::new(id, &log));
        let (object, home) = home(&line, make);
        let clone = object.clone();
        let dropper = line.start(move || drop(clone));
        let homes = home.thread().id();
        line.wait();
        drop(object);
        home.join().unwrap();
        let ((), dropper) = dropper.join().unwrap();
        let last = deaths.threads()[id as usize];
        assert!([homes, dropper, me()].contains(&last));
    }
    assert_ids(&deaths, 0..ROUNDS);
}
