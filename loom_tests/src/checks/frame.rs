//! Loops: no wake-up is missed, and no accepted closure is lost.

use super::model::Model;
use super::probe::{Overlap, Probe, me, spawn, take_deaths};
use loom::sync::{Arc, Condvar};
use loom::thread::ThreadId;
use releasepool::{FrameConfig, FrameLoop, FrameProxy, Looper, Ref};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "frame_post_close",
        "two threads post while a loop closes, one of them for a frame: accepted posts have run by then, the others are given back",
        &["both ran", "1 ran", "2 ran", "both given back"],
        post_close,
    )
    // Three threads, and the lock of the thread's waker.
    .bounded(3),
    Model::new(
        "frame_delayed_close",
        "a delayed post that is due at once, and one that is not, while the loop closes",
        &["ran", "given back"],
        delayed_close,
    ),
    Model::new(
        "frame_two_posters",
        "two threads post to a loop that makes frames on demand: it wakes",
        &["two frames", "three frames"],
        two_posters,
    )
    // Three threads, and the locks of the loop's sleep. With 2: 126,364 executions, in which one
    // frame is enough, too.
    .bounded(1),
    Model::new(
        "frame_posts_during_post",
        "two threads post to a loop that makes frames on demand and is running its first closure: it wakes",
        &["0 meanwhile", "1 meanwhile", "2 meanwhile"],
        posts_during_post,
    )
    // As before.
    .bounded(2)
    .plain_bounded(1),
    Model::new(
        "frame_post_wakes",
        "two posts of one thread wake a loop that makes frames on demand",
        &["one frame", "two frames", "three frames"],
        || {
            on_demand(|proxy| {
                proxy.post(note).unwrap();
                proxy.post(note).unwrap();
            })
        },
    )
    .plain(&["two frames", "three frames"])
    // The locks of the loop's sleep; unbounded takes many minutes.
    .bounded(4),
    Model::new(
        "frame_delayed_wakes",
        "a post and a delayed post wake a loop that makes frames on demand",
        &["one frame", "two frames", "three frames"],
        || {
            on_demand(|proxy| {
                proxy.post(note).unwrap();
                proxy.post_after(Duration::ZERO, note).map(drop).unwrap();
            })
        },
    )
    // The locks of the loop's sleep, as before.
    .bounded(4),
    Model::new(
        "frame_request_release",
        "a request for a frame and a release wake a loop that makes frames on demand",
        &["released before", "released after"],
        request_release,
    ),
    Model::new(
        "frame_request_during",
        "a frame is requested while a loop on demand makes one: it makes another one, unless the first has seen why",
        &["one frame", "two frames"],
        request_during,
    ),
    Model::new(
        "frame_delayed_earlier",
        "a loop on demand sleeps until a delayed post is due, and another thread makes one that is due earlier: it wakes",
        Overlap::ANY,
        delayed_earlier,
    ),
    Model::new(
        "frame_claimed",
        "a loop on demand whose drains have no time makes all releases that it has claimed before it sleeps",
        &["waited", "did not wait"],
        claimed,
    ),
    Model::new(
        "frame_call_close",
        "a call while the loop closes: it runs in the loop, or is given back",
        &["ran", "given back"],
        call_close,
    ),
    Model::new(
        "call_thread_exit",
        "a call to a loop that its ending thread has not closed: it never runs on another thread",
        &["ran", "given back"],
        call_exit,
    )
    // Unbounded: 697,475 executions.
    .bounded(4),
    Model::new(
        "looper_post_shutdown",
        "a post while the looper shuts down: it has run when shutdown returns, or is given back",
        &["ran", "given back"],
        post_shutdown,
    )
    // Three threads, and the two locks of their sleeps.
    .bounded(4),
    Model::new(
        "looper_release",
        "a release wakes a looper, which destroys the object before it ends",
        &["before the shutdown", "in the shutdown"],
        looper_release,
    ),
];

static RAN_ON: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

fn ran_on() -> std::sync::MutexGuard<'static, Vec<ThreadId>> {
    RAN_ON.lock().unwrap_or_else(PoisonError::into_inner)
}

fn note() {
    ran_on().push(me());
}

fn take_ran_on() -> Vec<ThreadId> {
    std::mem::take(&mut ran_on())
}

/// Records which of two posts have run.
static RAN: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn ran() -> std::sync::MutexGuard<'static, Vec<u32>> {
    RAN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn post_close() -> String {
    let frames = FrameLoop::new(FrameConfig::new().unlimited());
    let posters = [1, 2].map(|number| {
        let proxy = frames.proxy();
        let run = move || {
            note();
            ran().push(number);
        };
        spawn(move || match number {
            1 => proxy.post(run).is_ok(),
            _ => proxy.post_frame(move |_| run()).is_ok(),
        })
    });
    drop(frames);
    let mut before = std::mem::take(&mut *ran());
    let accepted = posters.map(|p| p.join().unwrap());
    // This would run a post that was accepted too late.
    releasepool::PoolManager::global().run_inbox();
    assert!(ran().is_empty(), "a post was accepted after the close");
    assert!(take_ran_on().iter().all(|thread| *thread == me()));
    before.sort();
    match (accepted, &before[..]) {
        ([true, true], [1, 2]) => "both ran",
        ([true, false], [1]) => "1 ran",
        ([false, true], [2]) => "2 ran",
        ([false, false], []) => "both given back",
        other => panic!("{other:?}"),
    }
    .to_owned()
}

fn delayed_close() -> String {
    let frames = FrameLoop::new(FrameConfig::new().unlimited());
    let proxy = frames.proxy();
    let poster = spawn(move || {
        // Dropped, or given back.
        let later = proxy.post_after(Duration::from_secs(1), || panic!("it is not due"));
        let accepted = proxy.post_after(Duration::ZERO, note).is_ok();
        assert!(later.is_ok() || !accepted, "it was closed before");
        accepted
    });
    drop(frames);
    let ran = take_ran_on();
    let accepted = poster.join().unwrap();
    let expected: &[ThreadId] = if accepted { &[me()] } else { &[] };
    assert_eq!(ran, expected);
    if accepted { "ran" } else { "given back" }.to_owned()
}

fn two_posters() -> String {
    let mut frames = eager();
    let posters = [(), ()].map(|()| {
        let proxy = frames.proxy();
        spawn(move || proxy.post(note).unwrap())
    });
    let outcome = frames_until_both_ran(&mut frames);
    posters
        .into_iter()
        .for_each(|poster| poster.join().unwrap());
    drop(frames);
    assert_eq!(take_ran_on(), [me(); 2]);
    outcome
}

fn posts_during_post() -> String {
    static POSTED: AtomicU32 = AtomicU32::new(0);
    static MEANWHILE: AtomicU32 = AtomicU32::new(0);
    POSTED.store(0, Ordering::Relaxed);
    let mut frames = eager();
    let first = || {
        // So that loom explores the executions in which both post meanwhile, without a preemption.
        loom::thread::yield_now();
        MEANWHILE.store(POSTED.load(Ordering::Relaxed), Ordering::Relaxed);
    };
    frames.proxy().post(first).unwrap();
    let posters = [(), ()].map(|()| {
        let proxy = frames.proxy();
        loom::thread::spawn(move || {
            proxy.post(note).unwrap();
            POSTED.fetch_add(1, Ordering::Relaxed);
        })
    });
    frames_until_both_ran(&mut frames);
    posters
        .into_iter()
        .for_each(|poster| poster.join().unwrap());
    drop(frames);
    assert_eq!(take_ran_on(), [me(); 2]);
    format!("{} meanwhile", MEANWHILE.load(Ordering::Relaxed))
}

/// Makes frames on demand, without waiting between them.
fn eager() -> FrameLoop {
    FrameLoop::new(FrameConfig::new().on_demand().unlimited())
}

fn on_demand(send: fn(&FrameProxy)) -> String {
    let mut frames = eager();
    let proxy = frames.proxy();
    let sender = spawn(move || send(&proxy));
    let outcome = frames_until_both_ran(&mut frames);
    sender.join().unwrap();
    drop(frames);
    assert_eq!(take_ran_on(), [me(); 2]);
    outcome
}

fn frames_until_both_ran(frames: &mut FrameLoop) -> String {
    let mut count = 0;
    frames.run(|_| {
        count += 1;
        if ran_on().len() == 2 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    match count {
        1 => "one frame",
        2 => "two frames",
        3 => "three frames",
        n => panic!("{n} frames for two posts"),
    }
    .to_owned()
}

fn request_release() -> String {
    let mut frames = eager();
    let proxy = frames.proxy();
    let handle = proxy.thread().clone();
    let r = Ref::new(Probe::new());
    // The first frame is made without a request.
    frames.tick(|_| ());
    let other = spawn(move || {
        handle.release(r);
        proxy.request_frame();
    });
    let mut at = "";
    frames.run(|_| {
        at = if take_deaths().is_empty() {
            "released after"
        } else {
            "released before"
        };
        ControlFlow::Break(())
    });
    other.join().unwrap();
    drop(frames);
    let after = take_deaths().len();
    assert_eq!(after, usize::from(at == "released after"));
    at.to_owned()
}

fn request_during() -> String {
    static CHANGED: AtomicBool = AtomicBool::new(false);
    CHANGED.store(false, Ordering::Relaxed);
    let mut frames = eager();
    let proxy = frames.proxy();
    let other = spawn(move || {
        CHANGED.store(true, Ordering::Relaxed);
        proxy.request_frame();
    });
    let mut count = 0;
    // The first frame is made without a request.
    frames.run(|_| {
        count += 1;
        let changed = CHANGED.load(Ordering::Relaxed);
        // So that loom also explores the executions in which the other thread goes first.
        loom::thread::yield_now();
        if changed {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    other.join().unwrap();
    match count {
        1 => "one frame",
        2 => "two frames",
        n => panic!("{n} frames"),
    }
    .to_owned()
}

fn delayed_earlier() -> String {
    let mut frames = eager();
    // The first frame is made without a request.
    frames.tick(|_| ());
    let proxy = frames.proxy();
    let hour = Duration::from_secs(3_600);
    let late = proxy.post_after(hour, || panic!("it is not due"));
    late.map(drop).unwrap();
    let overlap = Overlap::shared();
    let posting = overlap.clone();
    let poster = spawn(move || posting.during(|| proxy.post_after(Duration::ZERO, note).map(drop)));
    // Time does not pass: only the wake-up ends the sleep.
    overlap.during(|| frames.run(|_| ControlFlow::Break(())));
    poster.join().unwrap().unwrap();
    drop(frames);
    assert_eq!(take_ran_on(), [me()]);
    overlap.outcome()
}

/// Opens a door when it is destroyed.
struct Opens(Arc<(loom::sync::Mutex<bool>, Condvar)>);

impl Drop for Opens {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

fn claimed() -> String {
    let no_time = FrameConfig::new().on_demand().frame_time(Duration::ZERO);
    let mut frames = FrameLoop::new(no_time.min_drain(Duration::ZERO));
    let proxy = frames.proxy();
    let this = proxy.thread().clone();
    for _ in 0..2 {
        this.release(Ref::new(Probe::new()));
    }
    let door = Arc::new((loom::sync::Mutex::new(false), Condvar::new()));
    this.release(Ref::new(Opens(door.clone())));
    // The first frame is made without a request, and claims all.
    frames.tick(|_| ());
    let first = take_deaths().len();
    assert!(first < 2, "the drain has no time for all");
    let other = spawn(move || {
        let mut waited = false;
        let mut open = door.0.lock().unwrap();
        while !*open {
            waited = true;
            open = door.1.wait(open).unwrap();
        }
        drop(open);
        proxy.request_frame();
        waited
    });
    // Only the destructor of the last one leads to another frame.
    frames.run(|_| ControlFlow::Break(()));
    let waited = other.join().unwrap();
    assert_eq!(first + take_deaths().len(), 2);
    if waited { "waited" } else { "did not wait" }.to_owned()
}

fn call_close() -> String {
    let frames = FrameLoop::new(FrameConfig::new().unlimited());
    let proxy = frames.proxy();
    let caller = spawn(move || {
        let answer = proxy.call(|| {
            note();
            Ref::new(Probe::new())
        });
        answer.map(|r| r.look()).is_ok()
    });
    drop(frames);
    let answered = caller.join().unwrap();
    take_deaths();
    // The message of a call that was taken back is still in the inbox; it does nothing.
    releasepool::PoolManager::global().run_inbox();
    let expected: &[ThreadId] = if answered { &[me()] } else { &[] };
    assert_eq!(take_ran_on(), expected);
    if answered { "ran" } else { "given back" }.to_owned()
}

fn call_exit() -> String {
    let frames = FrameLoop::new(FrameConfig::new().unlimited());
    let proxy = frames.proxy();
    let caller = spawn(move || proxy.call(note).is_ok());
    let mut frames = std::mem::ManuallyDrop::new(frames);
    frames.tick(|_| ());
    releasepool::model::thread_exit();
    let ran = take_ran_on().len();
    let manager = releasepool::PoolManager::global();
    // Runs what has been orphaned by now. The call must not run: its thread has exited, and this
    // thread has a new key. The caller may still be waiting.
    manager.quiesce(Duration::ZERO);
    let answered = caller.join().unwrap();
    assert!(manager.quiesce(Duration::ZERO));
    assert_eq!(take_ran_on(), [], "it ran on another thread");
    assert_eq!(ran, usize::from(answered));
    std::mem::ManuallyDrop::into_inner(frames);
    if answered { "ran" } else { "given back" }.to_owned()
}

fn post_shutdown() -> String {
    let looper = Looper::spawn("looper").unwrap();
    let proxy = looper.proxy();
    let poster = spawn(move || proxy.post(note).is_ok());
    looper.shutdown().unwrap();
    let ran = take_ran_on().len();
    let accepted = poster.join().unwrap();
    assert_eq!(ran, usize::from(accepted));
    if accepted { "ran" } else { "given back" }.to_owned()
}

fn looper_release() -> String {
    let looper = Looper::reclaimer("reclaimer").unwrap();
    looper.thread().release(Ref::new(Probe::new()));
    // So that loom also explores the executions in which the looper goes first.
    loom::thread::yield_now();
    let mut deaths = take_deaths();
    let before = !deaths.is_empty();
    looper.shutdown().unwrap();
    deaths.extend(take_deaths());
    assert_eq!(deaths.len(), 1);
    assert_ne!(deaths[0], me());
    if before {
        "before the shutdown"
    } else {
        "in the shutdown"
    }
    .to_owned()
}
