//! A thread exits while others send to it, and its registry slot is reused at once.
//!
//! The exiting thread is the main thread.

use super::model::Model;
use super::probe::{Probe, Seen, Watched, me, spawn, take_deaths};
use loom::thread::ThreadId;
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease, model};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "exit_release",
        "a release to an exiting thread: made on that thread, or as an orphan",
        &["by the leaver", "by a drain of the sender"],
        exit_release,
    ),
    Model::new(
        "exit_release_feeds",
        "a release to an exiting thread, whose destructor autoreleases: what it adds to the root pool is released, too",
        &["by the leaver", "by a drain of the sender"],
        exit_release_feeds,
    ),
    Model::new(
        "alive_until_exit",
        "is_alive and post while the thread exits",
        &["alive, accepted", "alive, refused", "gone, refused"],
        alive_until_exit,
    ),
    Model::new(
        "exit_release_successor",
        "a release to an exiting thread while another thread reuses its slot",
        &[
            "by the leaver",
            "by the successor's drain, as an orphan",
            "by quiesce",
        ],
        exit_release_successor,
    )
    // Three threads go through the whole registry; unbounded takes very long.
    .bounded(6),
    Model::new(
        "exit_post_successor",
        "a closure to an exiting thread: given back or run by quiesce, never by a thread that reuses the slot",
        &[
            "given back, same slot",
            "given back, other slot",
            "run by quiesce, same slot",
            "run by quiesce, other slot",
        ],
        exit_post_successor,
    )
    // Three threads enter the registry. With 6 (once, by hand): 2,787,400 executions
    // in 221 s.
    .bounded(3),
    Model::new(
        "orphans_quiesce",
        "two threads run orphans: each runs once, and quiesce sees its effects",
        &["0 ran both", "1 ran both", "each ran one"],
        orphans_quiesce,
    )
    // Three threads enter the registry here, too. With 6 (once, by hand): 584,000 executions.
    .bounded(4),
    Model::new(
        "orphans_counted",
        "a release is orphaned while an orphaned closure waits: quiesce counts both",
        &["released by quiesce", "released later"],
        orphans_counted,
    ),
];

fn exit_release() -> String {
    released_in_exit(Probe::new())
}

/// Autoreleases what it holds when it is destroyed.
pub struct Feeds(pub Option<Ref<Probe>>);

impl Drop for Feeds {
    fn drop(&mut self) {
        autorelease(self.0.take().unwrap());
    }
}

fn exit_release_feeds() -> String {
    released_in_exit(Feeds(Some(Ref::new(Probe::new()))))
}

/// Another thread sends an object with a probe to the main thread, which exits, and then drains.
fn released_in_exit<T: Send + Sync + 'static>(object: T) -> String {
    let manager = PoolManager::global();
    let leaver = manager.current_thread().unwrap();
    drop(AutoreleasePool::new());
    let r = Ref::new(object);
    let sender = spawn(move || {
        leaver.release(r);
        drop(AutoreleasePool::new());
        me()
    });
    model::thread_exit();
    let sender = sender.join().unwrap();
    assert!(manager.quiesce(Duration::ZERO));
    match take_deaths()[..] {
        [thread] if thread == me() => "by the leaver",
        [thread] if thread == sender => "by a drain of the sender",
        ref other => panic!("died on {other:?}"),
    }
    .to_owned()
}

fn alive_until_exit() -> String {
    let manager = PoolManager::global();
    let leaver = manager.current_thread().unwrap();
    let asker = loom::thread::spawn(move || {
        let alive = leaver.is_alive();
        let accepted = leaver.post(|| ran_on().push(me())).is_ok();
        (alive, accepted)
    });
    model::thread_exit();
    let (alive, accepted) = asker.join().unwrap();
    manager.quiesce(Duration::ZERO);
    let ran = std::mem::take(&mut *ran_on()).len();
    assert_eq!(ran, usize::from(accepted));
    let alive = if alive { "alive" } else { "gone" };
    let fate = if accepted { "accepted" } else { "refused" };
    format!("{alive}, {fate}")
}

fn exit_release_successor() -> String {
    let manager = PoolManager::global();
    let leaver = manager.current_thread().unwrap();
    drop(AutoreleasePool::new());
    let r = Ref::new(Probe::new());
    let sender = loom::thread::spawn(move || {
        leaver.release(r);
    });
    let successor = spawn(|| {
        drop(AutoreleasePool::new());
        me()
    });
    model::thread_exit();
    let before = take_deaths();
    sender.join().unwrap();
    let successor = successor.join().unwrap();
    let meanwhile = take_deaths();
    assert!(manager.quiesce(Duration::ZERO));
    let after = take_deaths();
    match (&before[..], &meanwhile[..], &after[..]) {
        ([t], [], []) if *t == me() => "by the leaver",
        ([], [t], []) | ([t], [], []) if *t == successor => {
            "by the successor's drain, as an orphan"
        }
        ([], [], [t]) if *t == me() => "by quiesce",
        other => panic!("died {other:?}"),
    }
    .to_owned()
}

static RAN_ON: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

fn ran_on() -> std::sync::MutexGuard<'static, Vec<ThreadId>> {
    RAN_ON.lock().unwrap_or_else(PoisonError::into_inner)
}

fn exit_post_successor() -> String {
    let manager = PoolManager::global();
    let leaver = manager.current_thread().unwrap();
    let key = leaver.key();
    drop(AutoreleasePool::new());
    let sender = loom::thread::spawn(move || {
        let posted = leaver.post(|| ran_on().push(me()));
        posted.map_err(|closed| (closed.0)()).is_ok()
    });
    let successor = spawn(|| {
        let manager = PoolManager::global();
        let key = manager.current_thread().unwrap().key();
        assert_eq!(manager.run_inbox(), 0, "a closure ran on the successor");
        (key, me())
    });
    model::thread_exit();
    let accepted = sender.join().unwrap();
    let (successor_key, successor) = successor.join().unwrap();
    assert_ne!(key, successor_key);
    assert!(manager.quiesce(Duration::ZERO));
    let ran = std::mem::take(&mut *ran_on());
    assert_eq!(ran.len(), 1, "ran exactly once");
    assert_ne!(ran[0], successor);
    let fate = if accepted {
        assert_eq!(ran[0], me());
        "run by quiesce"
    } else {
        "given back"
    };
    let same = model::slot(key) == model::slot(successor_key);
    format!("{fate}, {}", if same { "same slot" } else { "other slot" })
}

fn orphans_quiesce() -> String {
    let manager = PoolManager::global();
    let gone = spawn(|| PoolManager::global().current_thread().unwrap());
    let gone = gone.join().unwrap();
    let seen = Seen::new();
    gone.release(Ref::new((Probe::new(), Watched(seen.clone()))));
    let other = {
        let gone = gone.clone();
        let r = Ref::new(Probe::new());
        spawn(move || {
            gone.release(r);
            let pool = AutoreleasePool::new();
            autorelease(Ref::new(()));
            drop(pool);
            me()
        })
    };
    while !manager.quiesce(Duration::ZERO) {
        loom::thread::yield_now();
    }
    // Whichever thread ran it, its effects happen before this.
    assert!(seen.get());
    let one = other.join().unwrap();
    assert!(manager.quiesce(Duration::ZERO));
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 2);
    match deaths.iter().filter(|t| **t == one).count() {
        0 => "0 ran both",
        2 => "1 ran both",
        _ => "each ran one",
    }
    .to_owned()
}

fn orphans_counted() -> String {
    let manager = PoolManager::global();
    let gone = spawn(|| {
        let this = PoolManager::global().current_thread().unwrap();
        this.post(|| ran_on().push(me())).unwrap();
        this
    });
    let gone = gone.join().unwrap();
    // This thread has reused the slot, so it does not run the closure.
    let this = manager.current_thread().unwrap();
    assert_eq!(model::slot(this.key()), model::slot(gone.key()));
    let r = Ref::new(Probe::new());
    let sender = loom::thread::spawn(move || gone.release(r));
    // So that loom also explores the executions in which the sender goes first.
    loom::thread::yield_now();
    assert!(!manager.quiesce(Duration::ZERO), "the closure still waits");
    let released = take_deaths().len();
    sender.join().unwrap();
    let other = spawn(|| {
        let manager = PoolManager::global();
        manager.current_thread().unwrap();
        assert!(manager.quiesce(Duration::ZERO));
        me()
    });
    assert_eq!(other.join().unwrap(), std::mem::take(&mut *ran_on())[0]);
    assert_eq!(released + take_deaths().len(), 1);
    match released {
        1 => "released by quiesce",
        _ => "released later",
    }
    .to_owned()
}
