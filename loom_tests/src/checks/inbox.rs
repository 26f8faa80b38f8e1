//! The inbox on its own.

use super::model::Model;
use super::probe::{Overlap, spawn};
use loom::sync::Arc;
use releasepool::model::parts::{Atomic, Counted, Inbox};

pub const MODELS: &[Model] = &[
    Model::new(
        "inbox_arm_close",
        "one sender; the owner arms its inbox, then closes it: each message is received or refused",
        &["refused", "received", "received, woken"],
        arm_close,
    ),
    Model::new(
        "inbox_nudge",
        "a thread writes and nudges the owner while another one sends: the owner sees the writing, or is to look again",
        &["saw it", "is to look again"],
        nudge,
    )
    // Unbounded: 139,620 executions.
    .bounded(4),
    Model::new(
        "inbox_nudge_arm",
        "a thread nudges an owner that arms its inbox: the owner is woken, or is to look",
        &["armed and woken", "not armed"],
        nudge_arm,
    ),
    Model::new(
        "inbox_nudge_close",
        "a thread nudges an owner that closes its inbox: it stays closed",
        &["nudged before the close", "not nudged before"],
        nudge_close,
    )
    .plain(&["not nudged before"]),
    Model::new(
        "inbox_full_counted",
        "a number waits while another is refused: it is counted all the time",
        &["1", "2"],
        full_counted,
    ),
    Model::new(
        "inbox_counted",
        "a sender of two; the owner runs what is there, then closes: exactly what has not run is counted",
        &[
            "0 of 0 were taken before the close",
            "0 of 1 were taken before the close",
            "0 of 2 were taken before the close",
            "1 of 1 were taken before the close",
            "1 of 2 were taken before the close",
            "2 of 2 were taken before the close",
        ],
        counted,
    )
    .plain(&[
        "0 of 0 were taken before the close",
        "0 of 1 were taken before the close",
        "0 of 2 were taken before the close",
    ]),
    Model::new(
        "inbox_counted_twice",
        "two senders count their messages at once: both are counted",
        Overlap::ANY,
        counted_twice,
    ),
    Model::new(
        "inbox_refused_twice",
        "two senders count messages that a closed inbox refuses, at once: none stays counted",
        Overlap::ANY,
        refused_twice,
    ),
    Model::new(
        "inbox_never_empty",
        "one message always waits: another thread never reads a count of zero",
        &["1 wait", "2 wait", "3 wait"],
        never_empty,
    ),
    Model::new(
        "inbox_push_take_close",
        "two senders; the owner takes, then closes: each message is received or refused",
        &[
            "refused 1, refused 2",
            "refused 1, closed on 2",
            "refused 1, took 2",
            "closed on 1, refused 2",
            "closed on 1, closed on 2",
            "closed on 1, took 2",
            "took 1, refused 2",
            "took 1, closed on 2",
            "took 1, took 2",
        ],
        push_take_close,
    )
    .plain(&[
        "refused 1, refused 2",
        "refused 1, closed on 2",
        "closed on 1, refused 2",
        "closed on 1, closed on 2",
    ]),
];

fn arm_close() -> String {
    let inbox = Arc::new(Inbox::default());
    let sender = {
        let inbox = inbox.clone();
        spawn(move || inbox.push(1))
    };
    let armed = inbox.arm();
    let received = inbox.close();
    let wakes = sender.join().unwrap();
    assert_eq!(received.len(), usize::from(wakes.is_some()));
    assert!(
        armed || wakes != Some(true),
        "armed although there was a message"
    );
    assert!(!inbox.arm(), "armed although closed");
    match wakes {
        None => "refused",
        Some(false) => "received",
        Some(true) => "received, woken",
    }
    .to_owned()
}

fn nudge() -> String {
    let shared = Arc::new((Inbox::default(), Atomic::default()));
    let sender = {
        let shared = shared.clone();
        spawn(move || shared.0.push(1) == Some(true))
    };
    let asker = {
        let shared = shared.clone();
        spawn(move || {
            shared.1.store(1);
            shared.0.nudge()
        })
    };
    let (inbox, written) = &*shared;
    let armed = inbox.arm();
    let taken = inbox.take().len();
    let seen = written.load() == 1;
    let woken = [sender, asker].map(|thread| thread.join().unwrap());
    assert!(!armed || woken != [false, false], "nobody wakes the owner");
    let waits = inbox.has_messages();
    assert_eq!(taken + inbox.close().len(), 1, "the number arrives");
    match (seen, waits) {
        (true, _) => "saw it",
        (false, true) => "is to look again",
        (false, false) => panic!("the owner has looked, and has not seen what it was nudged for"),
    }
    .to_owned()
}

fn nudge_arm() -> String {
    let inbox = Arc::new(Inbox::default());
    let asker = {
        let inbox = inbox.clone();
        spawn(move || inbox.nudge())
    };
    let armed = inbox.arm();
    let woken = asker.join().unwrap();
    assert!(woken || inbox.has_messages(), "the nudge is lost");
    if armed {
        "armed and woken"
    } else {
        "not armed"
    }
    .to_owned()
}

fn nudge_close() -> String {
    let inbox = Arc::new(Inbox::default());
    let asker = {
        let inbox = inbox.clone();
        spawn(move || inbox.nudge())
    };
    let nudged = inbox.has_messages();
    assert!(inbox.close().is_empty());
    asker.join().unwrap();
    assert_eq!(inbox.push(1), None, "it stays closed");
    match nudged {
        true => "nudged before the close",
        false => "not nudged before",
    }
    .to_owned()
}

fn push_take_close() -> String {
    let inbox = Arc::new(Inbox::default());
    let sender = |number| {
        let inbox = inbox.clone();
        spawn(move || inbox.push(number).is_some())
    };
    let (one, two) = (sender(1), sender(2));
    let taken = inbox.take();
    let closed = inbox.close();
    let accepted = [one.join().unwrap(), two.join().unwrap()];
    assert!(inbox.close().is_empty(), "nothing comes after the close");
    assert_eq!(inbox.push(3), None);
    let fate = |number: u32| {
        let received = [&taken, &closed].map(|v| v.iter().filter(|n| **n == number).count());
        let accepted = accepted[number as usize - 1];
        match received {
            [1, 0] if accepted => format!("took {number}"),
            [0, 1] if accepted => format!("closed on {number}"),
            [0, 0] if !accepted => format!("refused {number}"),
            other => panic!("number {number} accepted: {accepted}, received {other:?}"),
        }
    };
    format!("{}, {}", fate(1), fate(2))
}

fn counted() -> String {
    let inbox = Arc::new(Counted::default());
    let sender = {
        let inbox = inbox.clone();
        spawn(move || [1, 2].map(|number| inbox.push(number)))
    };
    let run = |numbers: Vec<u32>| numbers.iter().map(|_| inbox.done()).count();
    let taken = run(inbox.take());
    let closed = inbox.close();
    assert!(
        inbox.waiting() >= closed.len() as u64,
        "what has not run waits"
    );
    let ran = taken + run(closed);
    let accepted = sender.join().unwrap();
    let accepted = accepted.iter().filter(|accepted| **accepted).count();
    assert_eq!(ran, accepted);
    assert_eq!(inbox.waiting(), 0, "what was refused does not wait");
    format!("{taken} of {accepted} were taken before the close")
}

fn full_counted() -> String {
    let inbox = Arc::new(Counted::default());
    let shared = inbox.clone();
    assert!(inbox.push(1));
    let sender = spawn(move || shared.refuse());
    let waiting = inbox.waiting();
    assert!(waiting >= 1, "what is refused counts for nothing else");
    sender.join().unwrap();
    assert_eq!(inbox.waiting(), 1);
    assert_eq!(inbox.close(), [1]);
    waiting.to_string()
}

fn counted_twice() -> String {
    let inbox = Arc::new(Counted::default());
    let shared = inbox.clone();
    let overlap = Overlap::default();
    let pushing = overlap.clone();
    let sender = spawn(move || pushing.during(|| shared.push(1)));
    assert!(overlap.during(|| inbox.push(2)));
    assert!(sender.join().unwrap());
    assert_eq!(inbox.waiting(), 2);
    assert_eq!(inbox.close().len(), 2);
    overlap.outcome()
}

fn refused_twice() -> String {
    let inbox = Arc::new(Counted::default());
    assert!(inbox.close().is_empty());
    let shared = inbox.clone();
    let overlap = Overlap::default();
    let pushing = overlap.clone();
    let sender = spawn(move || pushing.during(|| shared.push(1)));
    assert!(!overlap.during(|| inbox.push(2)));
    assert!(!sender.join().unwrap());
    assert_eq!(inbox.waiting(), 0);
    overlap.outcome()
}

fn never_empty() -> String {
    let inbox = Arc::new(Counted::default());
    assert!(inbox.push(1));
    let shared = inbox.clone();
    let asker = spawn(move || shared.waiting());
    assert!(inbox.push(2));
    assert!(inbox.push(3));
    inbox.done();
    inbox.done();
    let waiting = asker.join().unwrap();
    assert_ne!(waiting, 0, "one waits all the time");
    assert_eq!(inbox.close().len(), 3);
    format!("{waiting} wait")
}
