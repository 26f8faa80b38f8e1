//! Delayed posts at the end of a loop: each runs on the loop's thread, is dropped there, or is
//! given back.
//!
//! Time does not pass in models: a delay of zero is due at once, any other delay never.

use super::frame::unlimited;
use super::steps::*;
use releasepool::{FrameLoop, Looper};
use std::time::Duration;

const NEVER: Duration = Duration::from_secs(3600);

pub fn models() -> Vec<Model> {
    [
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
        model!(
            later_looper,
            "a delayed post that is due, while its looper shuts down: it has run by then, or is given back",
            &["ran", "given back"],
        )
        .bounded(3),
    ]
    .into()
}

/// Returns a closure that records on which thread it ran; its probe records where it was dropped.
fn post() -> impl FnOnce() + Send + 'static {
    let probe = Box::new(Probe::new());
    move || {
        note();
        probe.look();
    }
}

/// Returns where one closure has run, and where it was dropped.
fn fate() -> (Option<ThreadId>, ThreadId) {
    let (ran, dropped) = (take_ran_on(), take_deaths());
    assert!(ran.len() <= 1, "it ran twice");
    assert_eq!(dropped.len(), 1, "it was dropped once");
    (ran.first().copied(), dropped[0])
}

/// Returns what became of the closure, which its loop has accepted.
fn fate_at_home(delay: Duration) -> &'static str {
    match fate() {
        (Some(ran), dropped) if ran == me() && dropped == me() => "ran",
        (None, dropped) if dropped == me() && delay == NEVER => "dropped",
        other => panic!("(ran, dropped): {other:?}"),
    }
}

fn against_close(delay: Duration) -> &'static str {
    let frames = unlimited();
    let poster = spawn_with(&frames.proxy(), move |proxy| {
        proxy.post_after(delay, post()).is_ok()
    });
    drop(frames);
    let (id, accepted) = (poster.id, poster.join());
    if accepted {
        return fate_at_home(delay);
    }
    assert_eq!(fate(), (None, id));
    "given back"
}

fn cancel_against(delay: Duration, end: fn(FrameLoop)) -> &'static str {
    let frames = unlimited();
    let proxy = frames.proxy();
    let id = proxy.post_after(delay, post()).unwrap();
    let canceller = spawn(move || proxy.cancel(id));
    end(frames);
    let (id, cancelled) = (canceller.id, canceller.join());
    if !cancelled {
        return fate_at_home(delay);
    }
    assert_eq!(fate(), (None, id));
    "cancelled"
}

fn later_looper() -> bool {
    let looper = Looper::spawn("looper").unwrap();
    let poster = spawn_with(&looper.proxy(), move |proxy| {
        proxy.post_after(Duration::ZERO, post()).is_ok()
    });
    looper.shutdown().unwrap();
    let ran = ran_on().len();
    let (id, accepted) = (poster.id, poster.join());
    assert_eq!(ran, usize::from(accepted), "shutdown has waited for it");
    match (accepted, fate()) {
        (true, (Some(ran), dropped)) => assert!(ran == dropped && ran != id && ran != me()),
        (false, fate) => assert_eq!(fate, (None, id)),
        other => panic!("accepted, (ran, dropped): {other:?}"),
    }
    accepted
}
