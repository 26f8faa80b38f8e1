//! Pools that another thread drains.

use super::steps::*;
use releasepool::{AutoreleasePool, Budget, HandoffPool, Ref, model};

pub fn models() -> Vec<Model> {
    [
        model!(
            handoff_chain,
            "a pool of two pages is handed to a thread that drains: it gets all entries, or none yet",
            &["in the first drain", "in the second"],
        ),
        model!(
            handoff_exit,
            "a pool is handed to an exiting thread: released there, or as an orphan",
            &["by the leaver", "by a drain of the sender"],
        ),
        model!(
            orphans_by_parts,
            "a budgeted drain claims orphans and leaves some, while another thread drains",
            &["0 here", "1 here"],
        )
        // Two sends and the sender's drain race with the claim of a budgeted drain and with what
        // that drain gives back: three preemptions put each of the three in between.
        .bounded(3),
    ]
    .into()
}

/// More entries than a page has in model builds.
const MANY: usize = 6;

fn handoff_chain() -> bool {
    let to = this();
    let seen = Seen::new();
    let mut pool = AutoreleasePool::new();
    let sender = spawn(move || {
        let mut handoff = HandoffPool::new();
        handoff.autorelease(Ref::new((Probe::new(), Watched(seen))));
        for _ in 1..MANY {
            handoff.autorelease(Ref::new(Probe::new()));
        }
        assert_eq!(handoff.drain_on(&to), MANY);
    });
    let_others_go_first();
    pool.drain();
    let mut deaths = take_deaths();
    let first = deaths.len();
    assert!([0, MANY].contains(&first), "{first} of {MANY}");
    sender.join();
    pool.drain();
    deaths.extend(take_deaths());
    assert_eq!(deaths, [me(); MANY]);
    first > 0
}

fn handoff_exit() -> bool {
    let leaver = this();
    drain();
    let sender = spawn(move || {
        let mut handoff = HandoffPool::new();
        for _ in 0..MANY {
            handoff.autorelease(Ref::new(Probe::new()));
        }
        handoff.drain_on(&leaver);
        drain();
    });
    model::thread_exit();
    let sender = sender.ended();
    assert!(quiesce());
    let deaths = take_deaths();
    let by_leaver = deaths[0] == me();
    assert_eq!(deaths, [if by_leaver { me() } else { sender }; MANY]);
    by_leaver
}

fn orphans_by_parts() -> usize {
    let sender = spawn_with(&gone(), |gone| {
        gone.release(Ref::new(Probe::new()));
        gone.release(Ref::new(Probe::new()));
        drain();
    });
    let_others_go_first();
    let drained = AutoreleasePool::new().drain_within(Budget::Count(1));
    let mut deaths = take_deaths();
    let here = deaths.iter().filter(|thread| **thread == me()).count();
    assert_eq!(here, drained.released);
    sender.join();
    // Also makes a release that this thread has claimed and left for later.
    assert!(quiesce());
    deaths.append(&mut take_deaths());
    assert_eq!(deaths.len(), 2);
    here
}
