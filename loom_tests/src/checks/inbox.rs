//! The inbox by itself.

use super::model::Model;
use super::probe::spawn;
use loom::sync::Arc;
use releasepool::model::parts::Inbox;

pub const MODELS: &[Model] = &[
    Model::new(
        "inbox_arm_close",
        "a sender; the owner arms its inbox, then closes it: received or refused, rung or not",
        &["refused", "received", "received, rung"],
        arm_close,
    ),
    Model::new(
        "inbox_push_take_close",
        "two senders; the owner takes, then closes: all is received or refused",
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
    let rings = sender.join().unwrap();
    assert_eq!(received.len(), usize::from(rings.is_some()));
    assert!(armed || rings != Some(true), "armed over a message");
    assert!(!inbox.arm(), "armed when closed");
    match rings {
        None => "refused",
        Some(false) => "received",
        Some(true) => "received, rung",
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
