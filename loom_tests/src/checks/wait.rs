//! Waits with a time limit: they end by their wake-up, or when nothing else can happen.

use super::hot::hot;
use super::model::Model;
use super::probe::{Overlap, Probe, Seen, Watched, me, spawn, take_deaths};
use loom::sync::{Arc, Condvar, Mutex};
use releasepool::model::now;
use releasepool::{AutoreleasePool, FrameConfig, FrameLoop, Hot, PoolManager, Ref, autorelease};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3_600);

pub const MODELS: &[Model] = &[
    Model {
        must_fail: Some("deadlock"),
        ..Model::new(
            "canary_lost_wake",
            "a wait with a limit that nothing ends is a deadlock while time does not pass",
            &[],
            never_woken,
        )
    },
    Model::new(
        "shutdown_woken",
        "shutdown with a long limit is woken by the drain that it asked for, or by the thread's exit",
        &["when asked", "by its exit"],
        shutdown_woken,
    )
    // Two locks, and the whole of an exit; unbounded takes many minutes.
    .bounded(3),
    Model::new(
        "shutdown_exit",
        "shutdown of a manager while a thread that does not use it exits: it sees what that thread did",
        &["gone", "still there"],
        shutdown_exit,
    )
    // The whole of an exit. Unbounded: 61,464 executions.
    .bounded(4),
    Model::new(
        "shutdown_exit_post",
        "shutdown while a thread exits that has not run a closure: it runs it, or reports it",
        &["run", "still there"],
        shutdown_exit_post,
    )
    // The whole of an exit, and the calling thread enters the registry.
    .bounded(3),
    Model::new(
        "shutdown_own_release",
        "a release arrives at the thread that shuts down: it makes it, even if it was only seen to wait",
        &["sent later", "made"],
        shutdown_own_release,
    )
    .timed(),
    Model::new(
        "shutdown_hot",
        "shutdown while another thread reviews hot objects, one of which is dead: it is released before shutdown returns",
        &["died on 0", "died on 1"],
        shutdown_hot,
    )
    .timed()
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "shutdown_limit",
        "shutdown gives up at its limit while another thread keeps a pool open",
        Overlap::ANY,
        shutdown_limit,
    )
    .timed()
    // Each nap of shutdown takes a dozen steps of all threads.
    .bounded(2),
    Model::new(
        "frame_pacing",
        "a post does not make the next frame of a paced loop early",
        &["in the first frame", "in the second frame"],
        pacing,
    )
    .plain(&["in the second frame"])
    .timed(),
    Model::new(
        "frame_delayed_due",
        "a loop on demand sleeps until a delayed post of another thread is due",
        Overlap::ANY,
        delayed_due,
    )
    .timed(),
    Model::new(
        "posts_left_in_destructor",
        "a post to a loop that is dropped inside a destructor: if accepted, it runs at the thread's end",
        &["ran", "given back"],
        posts_left,
    ),
    Model::new(
        "call_left_in_destructor",
        "a call to a loop that is dropped inside a destructor and leaves it to the thread",
        &["refused", "given back after a nap"],
        call_left,
    )
    .timed(),
];

fn never_woken() -> String {
    let pool = AutoreleasePool::new();
    let waiter = spawn(|| PoolManager::global().shutdown(LONG).is_ok());
    // Waits for the pool.
    waiter.join().unwrap();
    drop(pool);
    String::new()
}

/// A gate that one thread waits for and another one opens.
#[derive(Clone)]
struct Door(Arc<(Mutex<bool>, Condvar)>);

impl Door {
    fn new() -> Self {
        Self(Arc::new((Mutex::new(false), Condvar::new())))
    }

    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let mut open = self.0.0.lock().unwrap();
        while !*open {
            open = self.0.1.wait(open).unwrap();
        }
    }
}

fn shutdown_woken() -> String {
    let entered = Door::new();
    let other = {
        let entered = entered.clone();
        spawn(move || {
            let seen = Seen::new();
            let watched = Watched(seen.clone());
            autorelease(Ref::new((Probe::new(), watched)));
            entered.open();
            drop(AutoreleasePool::new());
            // The thread was asked: its root pool was drained together with the other pool.
            seen.get()
        })
    };
    entered.wait();
    PoolManager::global().shutdown(LONG).unwrap();
    // DashMap's lock, which loom does not see, makes the effects of the exit visible.
    assert_eq!(take_deaths().len(), 1, "done too early");
    let asked = other.join().unwrap();
    if asked { "when asked" } else { "by its exit" }.to_owned()
}

fn shutdown_exit() -> String {
    let seen = Seen::new();
    drop(AutoreleasePool::new());
    let this = PoolManager::global().current_thread().unwrap();
    this.release(Ref::new((Probe::new(), Watched(seen.clone()))));
    let waiter = spawn(move || {
        let done = PoolManager::new().shutdown(Duration::ZERO).is_ok();
        if done {
            assert!(seen.get(), "done too early");
        }
        done
    });
    releasepool::model::thread_exit();
    let done = waiter.join().unwrap();
    take_deaths();
    if done { "gone" } else { "still there" }.to_owned()
}

fn shutdown_exit_post() -> String {
    let seen = Seen::new();
    let watched = Watched(seen.clone());
    let this = PoolManager::global().current_thread().unwrap();
    this.post(move || drop(watched)).unwrap();
    let waiter = spawn(move || {
        let done = PoolManager::new().shutdown(Duration::ZERO).is_ok();
        if done {
            assert!(seen.get(), "done too early");
        }
        done
    });
    releasepool::model::thread_exit();
    let done = waiter.join().unwrap();
    assert!(PoolManager::global().quiesce(Duration::ZERO));
    if done { "run" } else { "still there" }.to_owned()
}

fn shutdown_own_release() -> String {
    drop(AutoreleasePool::new());
    let this = PoolManager::global().current_thread().unwrap();
    let r = Ref::new(Probe::new());
    let sender = loom::thread::spawn(move || this.release(r));
    PoolManager::global().shutdown(LONG).unwrap();
    let made = take_deaths().len();
    sender.join().unwrap();
    PoolManager::global().shutdown(LONG).unwrap();
    assert_eq!(made + take_deaths().len(), 1);
    ["sent later", "made"][made].to_owned()
}

fn shutdown_hot() -> String {
    drop(hot());
    let other = spawn(|| {
        Hot::review();
        me()
    });
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    PoolManager::global().shutdown(LONG).unwrap();
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 1, "done too early");
    let other = other.join().unwrap();
    format!("died on {}", usize::from(deaths == [other]))
}

fn shutdown_limit() -> String {
    let (opened, close) = (Door::new(), Door::new());
    let overlap = Overlap::shared();
    let other = {
        let (opened, close, overlap) = (opened.clone(), close.clone(), overlap.clone());
        spawn(move || {
            let pool = AutoreleasePool::new();
            opened.open();
            close.wait();
            overlap.during(|| drop(pool));
        })
    };
    opened.wait();
    let manager = PoolManager::global();
    let limit = Duration::from_millis(3);
    let report = manager.shutdown(limit).unwrap_err();
    assert_eq!(report.holders.len(), 1);
    // shutdown naps for 2 ms at a time.
    assert_eq!(now(), Duration::from_millis(4));
    close.open();
    overlap.during(|| manager.shutdown(LONG)).unwrap();
    other.join().unwrap();
    overlap.outcome()
}

fn pacing() -> String {
    let frame_time = Duration::from_millis(16);
    let mut frames = FrameLoop::new(FrameConfig::new().frame_time(frame_time));
    let proxy = frames.proxy();
    let poster = spawn(move || proxy.post(|| ()).unwrap());
    let mut began = Vec::new();
    let mut ran_in = Vec::new();
    frames.run(|frame| {
        began.push(now());
        ran_in.push(frame.last_report().map_or(0, |report| report.closures));
        if began.len() == 3 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    poster.join().unwrap();
    assert_eq!(began, [0, 1, 2].map(|n| frame_time * n));
    match ran_in[..] {
        [0, 1, 0] => "in the first frame",
        [0, 0, 1] => "in the second frame",
        ref other => panic!("{other:?}"),
    }
    .to_owned()
}

fn delayed_due() -> String {
    let delay = Duration::from_millis(5);
    let mut frames = FrameLoop::new(FrameConfig::new().on_demand().unlimited());
    // The first frame is made without a request.
    frames.tick(|_| ());
    let proxy = frames.proxy();
    let overlap = Overlap::shared();
    let posting = overlap.clone();
    let poster = spawn(move || {
        let at_its_time = || assert_eq!(now(), 5 * MS);
        posting.during(|| proxy.post_after(delay, at_its_time).map(drop))
    });
    overlap.during(|| frames.run(|_| ControlFlow::Break(())));
    assert_eq!(now(), delay);
    poster.join().unwrap().unwrap();
    overlap.outcome()
}

const MS: Duration = Duration::from_millis(1);

/// Drops a loop inside its destructor.
struct Owner(Option<FrameLoop>);

// SAFETY: only this model creates one, and it drops it on the thread that created it.
unsafe impl Send for Owner {}
// SAFETY: only this model creates one, and it drops it on the thread that created it.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

fn posts_left() -> String {
    static RAN: AtomicBool = AtomicBool::new(false);
    RAN.store(false, Ordering::Relaxed);
    let frames = FrameLoop::new(FrameConfig::new().unlimited());
    let proxy = frames.proxy();
    let poster = spawn(move || proxy.post(|| RAN.store(true, Ordering::Relaxed)).is_ok());
    drop(Ref::new(Owner(Some(frames))));
    releasepool::model::thread_exit();
    let ran = RAN.load(Ordering::Relaxed);
    assert_eq!(ran, poster.join().unwrap());
    if ran { "ran" } else { "given back" }.to_owned()
}

fn call_left() -> String {
    let frames = FrameLoop::new(FrameConfig::new().unlimited());
    let proxy = frames.proxy();
    let caller = spawn(move || proxy.call(|| ()).is_ok());
    drop(Ref::new(Owner(Some(frames))));
    // The call may be in the inbox, which no thread runs meanwhile.
    assert!(!caller.join().unwrap());
    PoolManager::global().run_inbox();
    if now().is_zero() {
        "refused"
    } else {
        "given back after a nap"
    }
    .to_owned()
}
