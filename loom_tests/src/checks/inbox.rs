//! The inbox on its own.

use super::steps::*;
use releasepool::model::parts::{Atomic, Counted, Inbox};

pub fn models() -> Vec<Model> {
    [
        model!(
            inbox_arm_close,
            "one sender; the owner arms its inbox, then closes it: each message is received or refused",
            &["refused", "received", "received, woken"],
        ),
        model!(
            inbox_nudge,
            "a thread writes and nudges the owner while another one sends: the owner sees the writing, or is to look again",
            &["saw it", "is to look again"],
        )
        // Unbounded: 139,620 executions.
        .bounded(4),
        model!(
            inbox_nudge_arm,
            "a thread nudges an owner that arms its inbox: the owner is woken, or is to look",
            &["armed and woken", "not armed"],
        ),
        model!(
            inbox_nudge_close,
            "a thread nudges an owner that closes its inbox: it stays closed",
            &["nudged before the close", "not nudged before"],
        )
        .plain(&["not nudged before"]),
        model!(
            inbox_full_counted,
            "a number waits while another is refused: it is counted all the time",
            &["1", "2"],
        ),
        model!(
            inbox_counted,
            "a sender of two; the owner runs what is there, then closes: exactly what has not run is counted",
            &["0 of 0", "0 of 1", "0 of 2", "1 of 1", "1 of 2", "2 of 2"],
        )
        // An outcome is how many messages were taken before the close, of how many accepted ones.
        .plain(&["0 of 0", "0 of 1", "0 of 2"]),
        model!(
            inbox_counted_twice,
            "two senders count their messages at once: both are counted",
            OVERLAP,
        ),
        model!(
            inbox_refused_twice,
            "two senders count messages that a closed inbox refuses, at once: none stays counted",
            OVERLAP,
        ),
        model!(
            inbox_bound_counted,
            "two senders announce within a bound, and room for one is made meanwhile: what was not admitted stays refused",
            &["0", "1"],
        )
        .bounded(4),
        model!(
            inbox_never_empty,
            "one message always waits: another thread never reads a count of zero",
            &["1 wait", "2 wait", "3 wait"],
        ),
        model!(
            inbox_push_take_close,
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
        )
        .plain(&[
            "refused 1, refused 2",
            "refused 1, closed on 2",
            "closed on 1, refused 2",
            "closed on 1, closed on 2",
        ]),
    ]
    .into()
}

fn inbox_arm_close() -> usize {
    let inbox = Arc::new(Inbox::default());
    let sender = spawn_with(&inbox, |inbox| inbox.push(1));
    let armed = inbox.arm();
    let received = inbox.close();
    let wakes = sender.join();
    assert_eq!(received.len(), usize::from(wakes.is_some()));
    assert!(
        armed || wakes != Some(true),
        "armed although there was a message"
    );
    assert!(!inbox.arm(), "armed although closed");
    wakes.map_or(0, |woken| 1 + usize::from(woken))
}

fn inbox_nudge() -> bool {
    let shared = Arc::new((Inbox::default(), Atomic::default()));
    let sender = spawn_with(&shared, |shared| shared.0.push(1) == Some(true));
    let asker = spawn_with(&shared, |shared| {
        shared.1.store(1);
        shared.0.nudge()
    });
    let (inbox, written) = &*shared;
    let armed = inbox.arm();
    let taken = inbox.take().len();
    let seen = written.load() == 1;
    let woken = [sender, asker].map(Thread::join);
    assert!(!armed || woken != [false, false], "nobody wakes the owner");
    let waits = inbox.has_messages();
    assert_eq!(taken + inbox.close().len(), 1, "the number arrives");
    assert!(
        seen || waits,
        "the owner has looked, and has not seen what it was nudged for"
    );
    seen
}

fn inbox_nudge_arm() -> bool {
    let inbox = Arc::new(Inbox::default());
    let asker = spawn_with(&inbox, |inbox| inbox.nudge());
    let armed = inbox.arm();
    assert_eq!(asker.join(), armed, "the owner is woken if it sleeps");
    assert!(armed || inbox.has_messages(), "the nudge is lost");
    armed
}

fn inbox_nudge_close() -> bool {
    let inbox = Arc::new(Inbox::default());
    let asker = spawn_with(&inbox, |inbox| inbox.nudge());
    let nudged = inbox.has_messages();
    assert!(inbox.close().is_empty());
    assert!(!asker.join(), "nobody sleeps");
    assert_eq!(inbox.push(1), None, "it stays closed");
    nudged
}

fn inbox_push_take_close() -> String {
    let inbox = Arc::new(Inbox::default());
    let senders = [1, 2].map(|n| spawn_with(&inbox, move |inbox| inbox.push(n).is_some()));
    let taken = inbox.take();
    let closed = inbox.close();
    let accepted = senders.map(Thread::join);
    assert!(inbox.close().is_empty(), "nothing comes after the close");
    assert_eq!(inbox.push(3), None);
    let fate = |number: u32| {
        let received = [&taken, &closed].map(|v| v.iter().filter(|n| **n == number).count());
        match (received, accepted[number as usize - 1]) {
            ([1, 0], true) => format!("took {number}"),
            ([0, 1], true) => format!("closed on {number}"),
            ([0, 0], false) => format!("refused {number}"),
            other => panic!("number {number} (received, accepted): {other:?}"),
        }
    };
    format!("{}, {}", fate(1), fate(2))
}

fn inbox_counted() -> String {
    let inbox = Arc::new(Counted::default());
    let sender = spawn_with(&inbox, |inbox| [1, 2].map(|number| inbox.push(number)));
    let run = |numbers: Vec<u32>| numbers.iter().map(|_| inbox.done()).count();
    let taken = run(inbox.take());
    let closed = inbox.close();
    assert!(
        inbox.waiting() >= closed.len() as u64,
        "what has not run waits"
    );
    let ran = taken + run(closed);
    let accepted = sender
        .join()
        .into_iter()
        .filter(|accepted| *accepted)
        .count();
    assert_eq!(ran, accepted);
    assert_eq!(inbox.waiting(), 0, "what was refused does not wait");
    format!("{taken} of {accepted}")
}

fn inbox_full_counted() -> String {
    let inbox = Arc::new(Counted::default());
    assert!(inbox.push(1));
    let sender = spawn_with(&inbox, |inbox| inbox.refuse());
    let waiting = inbox.waiting();
    assert!(waiting >= 1, "what is refused counts for nothing else");
    sender.join();
    assert_eq!(inbox.waiting(), 1);
    assert_eq!(inbox.close(), [1]);
    waiting.to_string()
}

/// Sends a number from each of two threads. Returns how many numbers wait then, and whether the
/// sends overlapped.
fn sent_by_two(inbox: &Arc<Counted>, accepted: bool) -> (u64, bool) {
    let shared = inbox.clone();
    let (there, here, at_once) = overlap(move || shared.push(1), || inbox.push(2));
    assert_eq!((there, here), (accepted, accepted));
    (inbox.waiting(), at_once)
}

fn inbox_counted_twice() -> bool {
    let inbox = Arc::new(Counted::default());
    let (waiting, at_once) = sent_by_two(&inbox, true);
    assert_eq!((waiting, inbox.close().len()), (2, 2));
    at_once
}

fn inbox_refused_twice() -> bool {
    let inbox = Arc::new(Counted::default());
    assert!(inbox.close().is_empty());
    let (waiting, at_once) = sent_by_two(&inbox, false);
    assert_eq!(waiting, 0);
    at_once
}

fn inbox_bound_counted() -> String {
    let inbox = Arc::new(Counted::default());
    assert!(inbox.announce_within(1));
    let sender = || spawn_with(&inbox, |inbox| inbox.announce_within(1));
    let senders = [sender(), sender()];
    inbox.done();
    let admitted = senders
        .into_iter()
        .filter_map(|sender| sender.join().then_some(()))
        .count();
    assert_eq!(inbox.waiting(), admitted as u64);
    admitted.to_string()
}

fn inbox_never_empty() -> String {
    let inbox = Arc::new(Counted::default());
    assert!(inbox.push(1));
    let asker = spawn_with(&inbox, |inbox| inbox.waiting());
    assert!(inbox.push(2));
    assert!(inbox.push(3));
    inbox.done();
    inbox.done();
    let waiting = asker.join();
    assert_ne!(waiting, 0, "one waits all the time");
    assert_eq!(inbox.close().len(), 3);
    format!("{waiting} wait")
}
