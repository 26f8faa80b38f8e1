//! Loops: no wake-up is missed, and no accepted closure is lost.

use super::steps::*;
use releasepool::frame::{FrameConfig, LoopProxy};
use releasepool::{FrameLoop, Looper, Reclaimer, Ref, drop_later, finish};
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub fn models() -> Vec<Model> {
    [
        model!(
            frame_post_close,
            "two threads post while a loop closes, one of them for a frame: accepted posts have run by then, the others are given back",
            &["both ran", "1 ran", "2 ran", "both given back"],
        )
        .bounded(3),
        model!(
            frame_delayed_close,
            "a delayed post that is due at once, and one that is not, while the loop closes",
            &["ran", "given back"],
        ),
        model!(
            frame_two_posters,
            "two threads post to a loop that makes frames on demand: it wakes",
            &["two frames", "three frames"],
        )
        // With 2: 126,364 executions, which also reach "one frame".
        .bounded(1),
        model!(
            frame_posts_during_post,
            "two threads post to a loop that makes frames on demand and is running its first closure: it wakes",
            &["0 meanwhile", "1 meanwhile", "2 meanwhile"],
        )
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
        // Unbounded: many minutes.
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
        .bounded(4),
        model!(
            frame_request_release,
            "a request for a frame and a release wake a loop that makes frames on demand",
            &["released before", "released after"],
        ),
        model!(
            frame_request_during,
            "a frame is requested while a loop on demand makes one: it makes another one, unless the first has seen why",
            &["one frame", "two frames"],
        ),
        model!(
            frame_delayed_earlier,
            "a loop on demand sleeps until a delayed post is due, and another thread makes one that is due earlier: it wakes",
            OVERLAP,
        ),
        model!(
            frame_claimed,
            "a loop on demand whose drains have no time makes all releases that it has claimed before it sleeps",
            &["waited", "did not wait"],
        ),
        model!(
            frame_call_close,
            "a call while the loop closes: it runs in the loop, or is given back",
            &["ran", "given back"],
        ),
        model!(
            call_thread_exit,
            "a call to a loop that its ending thread has not closed: it never runs on another thread",
            &["ran", "given back"],
        )
        // Unbounded: 697,475 executions.
        .bounded(4),
        model!(
            looper_post_shutdown,
            "a post while the looper shuts down: it has run when shutdown returns, or is given back",
            &["ran", "given back"],
        )
        .bounded(4),
        model!(
            finish_looper,
            "a post while `finish` ends a looper: it has run when `finish` returns, or is given back",
            &["ran", "given back"],
        )
        // `finish` also waits for changes that do not wake it.
        .timed()
        .bounded(2)
        .plain_bounded(1),
        model!(
            finish_drop_later,
            "`finish` while the thread behind `drop_later` destroys a value and ends: it waits for both",
            &["done at once", "waited for"],
        )
        .timed()
        .bounded(1)
        // With one preemption, the plain mode takes minutes.
        .plain_bounded(0)
        .plain(&["waited for"]),
        model!(
            finish_frame_loop,
            "`finish` while a loop makes frames on demand: the loop returns",
            &["0", "1"],
        )
        .bounded(2),
        model!(
            looper_release,
            "a release wakes a looper, which destroys the object before it ends",
            &["before the shutdown", "in the shutdown"],
        ),
    ]
    .into()
}

/// Returns a loop that does not wait between frames.
pub fn unlimited() -> FrameLoop {
    FrameLoop::new(FrameConfig::new().unlimited())
}

/// Returns a loop that makes frames on demand, and does not wait between them.
fn eager() -> FrameLoop {
    FrameLoop::new(FrameConfig::new().on_demand().unlimited())
}

/// Returns a loop that makes frames on demand, and has made its first one, which needs no request.
pub fn idle() -> FrameLoop {
    let mut frames = eager();
    frames.tick(|_| ());
    frames
}

pub fn stop_if(stop: bool) -> ControlFlow<()> {
    if stop {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// Asserts that [`note`] has run once, on this thread, if `ran`, or else never; returns `ran`.
fn noted(ran: bool) -> bool {
    assert_eq!(take_ran_on(), vec![me(); usize::from(ran)]);
    ran
}

fn frame_post_close() -> &'static str {
    /// Records which of two posts have run.
    static RAN: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    let take_ran = || std::mem::take(&mut *RAN.lock().unwrap_or_else(PoisonError::into_inner));
    let frames = unlimited();
    let posters = [1, 2].map(|number| {
        let proxy = frames.proxy();
        let run = move || {
            note();
            RAN.lock().unwrap().push(number);
        };
        spawn(move || match number {
            1 => proxy.post(run).is_ok(),
            _ => proxy.post_frame(move |_| run()).is_ok(),
        })
    });
    drop(frames);
    let mut before = take_ran();
    let accepted = posters.map(Thread::join);
    // This would run a post that was accepted too late.
    manager().run_inbox();
    assert!(take_ran().is_empty(), "a post was accepted after the close");
    assert!(take_ran_on().iter().all(|thread| *thread == me()));
    before.sort();
    match (accepted, &before[..]) {
        ([true, true], [1, 2]) => "both ran",
        ([true, false], [1]) => "1 ran",
        ([false, true], [2]) => "2 ran",
        ([false, false], []) => "both given back",
        other => panic!("{other:?}"),
    }
}

fn frame_delayed_close() -> bool {
    let frames = unlimited();
    let poster = spawn_with(&frames.proxy(), move |proxy| {
        // The loop drops the closure, or gives it back.
        let later = proxy.post_after(Duration::from_secs(1), || panic!("it is not due"));
        let accepted = proxy.post_after(Duration::ZERO, note).is_ok();
        assert!(later.is_ok() || !accepted, "it was closed before");
        accepted
    });
    drop(frames);
    let ran = ran_on().len();
    let accepted = poster.join();
    assert_eq!(ran, usize::from(accepted));
    noted(accepted)
}

fn frame_two_posters() -> &'static str {
    let mut frames = eager();
    let posters = [(), ()].map(|()| {
        let proxy = frames.proxy();
        spawn(move || proxy.post(note).unwrap())
    });
    let outcome = frames_until_both_ran(&mut frames);
    join_all(posters);
    both_ran(frames);
    outcome
}

fn frame_posts_during_post() -> usize {
    static POSTED: AtomicUsize = AtomicUsize::new(0);
    static MEANWHILE: AtomicUsize = AtomicUsize::new(0);
    POSTED.store(0, Ordering::Relaxed);
    let mut frames = eager();
    let first = || {
        // Lets loom explore the executions in which both threads post during this closure, without
        // a preemption.
        let_others_go_first();
        MEANWHILE.store(POSTED.load(Ordering::Relaxed), Ordering::Relaxed);
    };
    frames.proxy().post(first).unwrap();
    let posters = [(), ()].map(|()| {
        let proxy = frames.proxy();
        spawn_without_exit(move || {
            proxy.post(note).unwrap();
            POSTED.fetch_add(1, Ordering::Relaxed);
        })
    });
    frames_until_both_ran(&mut frames);
    join_all(posters);
    both_ran(frames);
    MEANWHILE.load(Ordering::Relaxed)
}

fn on_demand(send: fn(&LoopProxy)) -> &'static str {
    let mut frames = eager();
    let sender = spawn_with(&frames.proxy(), move |proxy| send(&proxy));
    let outcome = frames_until_both_ran(&mut frames);
    sender.join();
    both_ran(frames);
    outcome
}

fn frames_until_both_ran(frames: &mut FrameLoop) -> &'static str {
    let mut count = 0;
    frames.run(|_| {
        count += 1;
        stop_if(ran_on().len() == 2)
    });
    ["one frame", "two frames", "three frames"][count - 1]
}

fn both_ran(frames: FrameLoop) {
    drop(frames);
    assert_eq!(take_ran_on(), [me(); 2]);
}

fn frame_request_release() -> bool {
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
    let mut before = 0;
    frames.run(|_| {
        before = take_deaths().len();
        stop_if(true)
    });
    other.join();
    drop(frames);
    assert_eq!(before + take_deaths().len(), 1);
    before == 1
}

fn frame_request_during() -> usize {
    static CHANGED: AtomicBool = AtomicBool::new(false);
    CHANGED.store(false, Ordering::Relaxed);
    let mut frames = eager();
    let other = spawn_with(&frames.proxy(), move |proxy| {
        CHANGED.store(true, Ordering::Relaxed);
        proxy.request_frame();
    });
    let mut more = 0;
    // The first frame is made without a request.
    frames.run(|_| {
        let changed = CHANGED.load(Ordering::Relaxed);
        let_others_go_first();
        more += usize::from(!changed);
        stop_if(changed)
    });
    other.join();
    more
}

fn frame_delayed_earlier() -> bool {
    let mut frames = idle();
    let proxy = frames.proxy();
    let hour = Duration::from_secs(3_600);
    let late = proxy.post_after(hour, || panic!("it is not due"));
    late.map(drop).unwrap();
    let post = move || proxy.post_after(Duration::ZERO, note).map(drop);
    // Time does not pass: only the wake-up ends the sleep.
    let run = || frames.run(|_| stop_if(true));
    let (posted, _, at_once) = Overlap::shared().between(post, run);
    posted.unwrap();
    drop(frames);
    noted(true);
    at_once
}

fn frame_claimed() -> bool {
    let no_time = FrameConfig::new().on_demand().frame_time(Duration::ZERO);
    let mut frames = FrameLoop::new(no_time.min_drain(Duration::ZERO));
    let proxy = frames.proxy();
    let this = proxy.thread().clone();
    for _ in 0..2 {
        this.release(Ref::new(Probe::new()));
    }
    let door = Door::new();
    let opened = door.clone();
    this.release(Ref::new(OnDrop::new(move || opened.open())));
    // `tick` makes a frame without a request; its drain takes all three out of the inbox.
    frames.tick(|_| ());
    let first = take_deaths().len();
    assert!(first < 2, "the drain has no time for all");
    let other = spawn(move || {
        let waited = door.wait();
        proxy.request_frame();
        waited
    });
    // Only the destructor of the last object leads to another frame.
    frames.run(|_| stop_if(true));
    let waited = other.join();
    assert_eq!(first + take_deaths().len(), 2);
    waited
}

fn frame_call_close() -> bool {
    let frames = unlimited();
    let caller = spawn_with(&frames.proxy(), move |proxy| {
        let answer = proxy.call(|| {
            note();
            Ref::new(Probe::new())
        });
        answer.map(|r| r.look()).is_ok()
    });
    drop(frames);
    let answered = caller.join();
    take_deaths();
    // The message of a call that was given back is still in the inbox; running it does nothing.
    manager().run_inbox();
    noted(answered)
}

fn call_thread_exit() -> bool {
    let frames = unlimited();
    let caller = spawn_with(&frames.proxy(), move |proxy| proxy.call(note).is_ok());
    let mut frames = ManuallyDrop::new(frames);
    frames.tick(|_| ());
    releasepool::model::thread_exit();
    let ran = take_ran_on().len();
    // Runs what has been orphaned by now. The call must not run: its thread has exited, and this
    // thread has a new key. The caller may still be waiting.
    quiesce();
    let answered = caller.join();
    assert!(quiesce());
    assert_eq!(take_ran_on(), [], "it ran on another thread");
    assert_eq!(ran, usize::from(answered));
    ManuallyDrop::into_inner(frames);
    answered
}

fn looper_post_shutdown() -> bool {
    let looper = Looper::spawn("looper").unwrap();
    let poster = spawn_with(&looper.proxy(), move |proxy| proxy.post(note).is_ok());
    looper.shutdown().unwrap();
    let ran = take_ran_on().len();
    let accepted = poster.join();
    assert_eq!(ran, usize::from(accepted));
    accepted
}

fn finish_looper() -> bool {
    let looper = Looper::spawn("looper").unwrap();
    let poster = spawn_with(&looper.proxy(), move |proxy| proxy.post(note).is_ok());
    finish(Duration::MAX).unwrap();
    let ran = take_ran_on().len();
    let accepted = poster.join();
    assert_eq!(ran, usize::from(accepted));
    accepted
}

fn finish_drop_later() -> bool {
    drop_later(Probe::new());
    let_others_go_first();
    let at_once = finish(Duration::ZERO).is_ok();
    finish(Duration::MAX).unwrap();
    assert_eq!(take_deaths().len(), 1);
    at_once
}

fn finish_frame_loop() -> usize {
    let mut frames = eager();
    let asker = spawn(|| _ = finish(Duration::ZERO));
    let_others_go_first();
    let mut made = 0;
    frames.run(|_| {
        made += 1;
        ControlFlow::Continue(())
    });
    asker.join();
    made
}

fn looper_release() -> bool {
    let reclaimer = Reclaimer::new("reclaimer").unwrap();
    reclaimer.thread().release(Ref::new(Probe::new()));
    let_others_go_first();
    let mut deaths = take_deaths();
    let before = !deaths.is_empty();
    drop(reclaimer);
    deaths.extend(take_deaths());
    assert_eq!(deaths.len(), 1);
    assert_ne!(deaths[0], me());
    before
}
