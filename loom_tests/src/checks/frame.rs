//! Loops: nobody sleeps over what was sent, and nothing that was accepted is lost.

use super::model::Model;
use super::probe::{Probe, me, spawn, take_deaths};
use loom::sync::Arc;
use loom::thread::ThreadId;
use releasepool::model::parts::{Gate, Inbox};
use releasepool::{FrameConfig, FrameLoop, FrameProxy, Looper, Ref};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "wake_push_sleep",
        "two messages; the owner sleeps whenever there is nothing: a lost wake is a deadlock",
        &["never slept", "slept once", "slept twice"],
        || push_sleep(&[&[1, 2]]),
    ),
    Model::new(
        "wake_two_senders",
        "the same from two senders",
        &["never slept", "slept once", "slept twice"],
        || push_sleep(&[&[1], &[2]]),
    )
    // Locks of three threads; unbounded takes longer than ten minutes.
    .bounded(3),
    Model::new(
        "wake_arm_close",
        "a sender; the owner arms its inbox, then closes it: received or refused, rung or not",
        &["refused", "received", "received, rung"],
        arm_close,
    ),
    Model::new(
        "gate_close",
        "two posters; a loop closes: what it accepted is there, the rest comes back",
        &["both accepted", "1 accepted", "2 accepted", "both refused"],
        gate_close,
    )
    // Unbounded: 429,570 executions in the plain mode alone.
    .bounded(5),
    Model::new(
        "frame_post_wakes",
        "two posts wake a loop that makes frames on demand",
        &["one frame", "two frames", "three frames"],
        || {
            on_demand(|proxy| {
                proxy.post(note).unwrap();
                proxy.post(note).unwrap();
            })
        },
    )
    .plain(&["two frames", "three frames"])
    // Locks that the loop sleeps by; unbounded takes many minutes.
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
    // As above.
    .bounded(4),
    Model::new(
        "frame_request_release",
        "a request for a frame and a release to a loop that makes frames on demand",
        &["released before", "released after"],
        request_release,
    ),
    Model::new(
        "frame_call_close",
        "a call while the loop closes: it runs in the loop, or comes back",
        &["ran", "given back"],
        call_close,
    ),
    Model::new(
        "call_thread_exit",
        "a call to a loop whose thread ends without closing it: never on another thread",
        &["ran", "given back"],
        call_exit,
    )
    // Unbounded: 697,475 executions.
    .bounded(4),
    Model::new(
        "looper_post_shutdown",
        "a post while the looper shuts down: it has run when that returns, or comes back",
        &["ran", "given back"],
        post_shutdown,
    )
    // Three threads, and two locks that they sleep by.
    .bounded(4),
    Model::new(
        "looper_release",
        "a looper is woken by a release, and destroys what is sent before it ends",
        &["died there"],
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

fn push_sleep(senders: &[&'static [u32]]) -> String {
    let inbox = Arc::new(Inbox::default());
    let start = |numbers: &&'static [u32]| {
        let (inbox, numbers) = (inbox.clone(), *numbers);
        spawn(move || numbers.iter().for_each(|n| assert!(inbox.push(*n))))
    };
    let senders: Vec<_> = senders.iter().map(start).collect();
    let mut received = Vec::new();
    let mut slept = 0;
    loop {
        received.extend(inbox.take());
        if received.len() == 2 {
            break;
        }
        slept += usize::from(inbox.sleep());
    }
    senders.into_iter().for_each(|s| s.join().unwrap());
    received.sort();
    assert_eq!(received, [1, 2]);
    assert!(inbox.close().is_empty());
    ["never slept", "slept once", "slept twice"][slept].to_owned()
}

fn arm_close() -> String {
    let inbox = Arc::new(Inbox::default());
    let sender = {
        let inbox = inbox.clone();
        spawn(move || inbox.push_and_ring(1))
    };
    let armed = inbox.arm();
    let received = inbox.close();
    let rung = sender.join().unwrap();
    assert_eq!(received.len(), usize::from(rung.is_some()));
    assert!(armed || rung == Some(false), "armed over a message");
    assert!(!inbox.arm(), "armed when closed");
    match rung {
        None => "refused",
        Some(false) => "received",
        Some(true) => "received, rung",
    }
    .to_owned()
}

fn gate_close() -> String {
    let shared = Arc::new((Gate::default(), Inbox::default()));
    let posters = [1, 2].map(|number| {
        let shared = shared.clone();
        spawn(move || {
            let (gate, inbox) = &*shared;
            gate.pass(|| assert!(inbox.push(number))).is_some()
        })
    });
    let (gate, inbox) = &*shared;
    gate.close();
    let mut received = inbox.take();
    let accepted = posters.map(|p| p.join().unwrap());
    assert!(inbox.take().is_empty(), "something came after the close");
    received.sort();
    match (accepted, &received[..]) {
        ([true, true], [1, 2]) => "both accepted",
        ([true, false], [1]) => "1 accepted",
        ([false, true], [2]) => "2 accepted",
        ([false, false], []) => "both refused",
        other => panic!("{other:?}"),
    }
    .to_owned()
}

/// Frames only when something is to be done, as soon as it is.
fn eager() -> FrameLoop {
    FrameLoop::new(FrameConfig::new().on_demand().unlimited())
}

fn on_demand(send: fn(&FrameProxy)) -> String {
    let mut frames = eager();
    let proxy = frames.proxy();
    let sender = spawn(move || send(&proxy));
    let mut count = 0;
    frames.run(|_| {
        count += 1;
        if ran_on().len() == 2 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    sender.join().unwrap();
    drop(frames);
    assert_eq!(take_ran_on(), [me(); 2]);
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
    // The first frame comes unasked.
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
    // What the caller took back still stands there; it does nothing.
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
    // What has been orphaned by now is run here; the call must not be, as this is not
    // the thread any more that it was for. The caller may be waiting still.
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
    looper.shutdown().unwrap();
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 1);
    assert_ne!(deaths[0], me());
    "died there".to_owned()
}
