//! Delayed posts at the end of a loop: each runs on the loop's thread, is dropped there, or is
//! given back.
//!
//! Time does not pass in models: a delay of zero is due at once, any other delay never.

use super::model::Model;
use super::probe::{Probe, me, spawn, take_deaths};
use loom::thread::ThreadId;
use releasepool::{FrameConfig, FrameLoop, Looper};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const NEVER: Duration = Duration::from_secs(3600);

pub const MODELS: &[Model] = &[
    Model::new(
        "later_close_due",
        "a delayed post that is due, while its loop closes: it runs, or is given back",
        &["ran", "given back"],
        || against_close(Duration::ZERO),
    ),
    Model::new(
        "later_close_not_due",
        "a delayed post that is not due, while its loop closes: it is dropped there, or given back",
        &["dropped", "given back"],
        || against_close(NEVER),
    ),
    Model::new(
        "later_cancel_close",
        "a delayed post is cancelled while its loop closes: exactly one of the two drops it",
        &["cancelled", "dropped"],
        || cancel_against(NEVER, drop),
    ),
    Model::new(
        "later_cancel_run",
        "a delayed post that is due is cancelled while the loop makes a frame and closes",
        &["cancelled", "ran"],
        || {
            cancel_against(Duration::ZERO, |mut frames| {
                frames.tick(|_| ());
            })
        },
    ),
    Model::new(
        "later_looper",
        "a delayed post that is due, while its looper shuts down: it has run by then, or is given back",
        &["ran", "given back"],
        looper,
    )
    // Three threads, and the two locks of their sleeps.
    .bounded(3),
];

static RAN_ON: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

fn ran_on() -> std::sync::MutexGuard<'static, Vec<ThreadId>> {
    RAN_ON.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a closure that records on which thread it ran; its probe records where it was dropped.
fn note() -> impl FnOnce() + Send + 'static {
    let probe = Box::new(Probe::new());
    move || {
        ran_on().push(me());
        probe.look();
    }
}

/// Returns where one closure has run, and where it was dropped.
fn fate() -> (Option<ThreadId>, ThreadId) {
    let ran: Vec<_> = std::mem::take(&mut ran_on());
    let dropped = take_deaths();
    assert!(ran.len() <= 1, "it ran twice");
    assert_eq!(dropped.len(), 1, "it was dropped once");
    (ran.first().copied(), dropped[0])
}

fn frames() -> FrameLoop {
    FrameLoop::new(FrameConfig::new().unlimited())
}

fn against_close(delay: Duration) -> String {
    let frames = frames();
    let proxy = frames.proxy();
    let poster = spawn(move || (proxy.post_after(delay, note()).is_ok(), me()));
    drop(frames);
    let ((accepted, poster), home) = (poster.join().unwrap(), me());
    match (accepted, fate()) {
        (true, (Some(ran), dropped)) if ran == home && dropped == home => "ran",
        (true, (None, dropped)) if dropped == home && delay == NEVER => "dropped",
        (false, (None, dropped)) if dropped == poster => "given back",
        other => panic!("accepted, (ran, dropped): {other:?}"),
    }
    .to_owned()
}

fn cancel_against(delay: Duration, end: fn(FrameLoop)) -> String {
    let frames = frames();
    let proxy = frames.proxy();
    let id = proxy.post_after(delay, note()).unwrap();
    let canceller = spawn(move || (proxy.cancel(id), me()));
    end(frames);
    let ((cancelled, canceller), home) = (canceller.join().unwrap(), me());
    match (cancelled, fate()) {
        (true, (None, dropped)) if dropped == canceller => "cancelled",
        (false, (Some(ran), dropped)) if ran == home && dropped == home => "ran",
        (false, (None, dropped)) if dropped == home && delay == NEVER => "dropped",
        other => panic!("cancelled, (ran, dropped): {other:?}"),
    }
    .to_owned()
}

fn looper() -> String {
    let looper = Looper::spawn("looper").unwrap();
    let proxy = looper.proxy();
    let poster = spawn(move || (proxy.post_after(Duration::ZERO, note()).is_ok(), me()));
    looper.shutdown().unwrap();
    let ran = ran_on().len();
    let (accepted, poster) = poster.join().unwrap();
    assert_eq!(ran, usize::from(accepted), "shutdown has waited for it");
    match (accepted, fate()) {
        (true, (Some(ran), dropped)) if ran == dropped && ran != poster && ran != me() => "ran",
        (false, (None, dropped)) if dropped == poster => "given back",
        other => panic!("accepted, (ran, dropped): {other:?}"),
    }
    .to_owned()
}
