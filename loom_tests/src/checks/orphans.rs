//! Orphans in every state, and releases that a thread had claimed (taken out of its inbox, and not
//! made yet) before it ended: each is made once, and before `quiesce` returns that nothing is left.

use super::hot::hot;
use super::steps::*;
use releasepool::model::parts::{orphans_ran, retire_and_adopt};
use releasepool::{AutoreleasePool, Budget, Hot, Ref, Slot, ThreadHandle, model};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub fn models() -> Vec<Model> {
    [
        model!(
            exit_claimed,
            "a thread with a backlog and claimed releases ends while another thread sends to it and drains",
            &["by the leaver", "by a drain of the sender"],
        ),
        model!(
            orphans_given_back,
            "a budgeted drain makes one of two orphaned releases, while another thread quiesces",
            &["quiet", "not yet"],
        )
        .bounded(6),
        model!(
            orphans_before_part,
            "a release is orphaned while a budgeted drain gives one back, and another drain makes one of the two: none is lost",
            &["the third in time", "the third later"],
        ),
        Model::new(
            "orphans_last_drained",
            "a drain makes the only orphaned release, while another thread quiesces",
            &["quiet", "not yet"],
            || last_orphan(Duration::ZERO, drop).0,
        )
        .bounded(6),
        Model::new(
            "orphans_last_part",
            "a budgeted drain makes the only orphaned release, while another thread quiesces",
            &["quiet", "not yet"],
            || {
                let drain = |mut pool: AutoreleasePool| _ = pool.drain_within(Budget::Count(1));
                last_orphan(Duration::ZERO, drain).0
            },
        )
        .bounded(6),
        model!(
            orphans_waited_for,
            "a drain makes the only orphaned release, while another thread waits until it is made",
            &["released here", "released there"],
        )
        .timed(),
        model!(
            orphans_shut_down,
            "a thread without a pool makes the only orphaned release, while another thread shuts down: it waits until it is made",
            &["released here", "released there"],
        )
        .timed()
        .bounded(2),
        model!(
            orphans_two_claims,
            "two budgeted drains claim orphans at once, and give the rest back",
            &["1 and 0", "1 and 1", "0 and 1"],
        )
        .bounded(6),
        model!(
            orphans_two_at_once,
            "two drains claim an orphan each, and run them at once: both are counted",
            &["none here", "one here", "both here"],
        )
        .bounded(3),
        model!(
            orphans_two_batches,
            "two threads make batches of retired references ready at once: none counts as in flight",
            OVERLAP,
        )
        // Each thread claims the tag of a batch once: one preemption runs the other thread between
        // the read of a tag and the claim, one returns. With 3: 29,560 executions in the rmw mode.
        .bounded(2)
        .plain_bounded(1),
        model!(
            orphans_call_enters,
            "an orphaned closure enters the thread that runs it into the slot of the target, while another thread comes and goes: the next closure runs elsewhere",
            &["same slot, elsewhere", "other slot, here"],
        ),
        Model::new(
            "orphans_last_hot",
            "the destructors of two orphans drop the last references to a hot object, while two threads drain",
            &["died on 0", "died on 1"],
            || orphans_last_hot(drop),
        )
        // With 3: 21,903 executions in the rmw mode.
        .bounded(2)
        .plain_bounded(3),
        Model::new(
            "orphans_last_hot_budgeted",
            "the destructors of two orphans drop the last references to a hot object, while two threads drain within budgets",
            &["died on 0", "died on 1"],
            || orphans_last_hot(|mut pool| _ = pool.drain_within(Budget::All)),
        )
        .bounded(2)
        .plain_bounded(3),
        model!(
            orphans_from_hot,
            "a drain releases a dead hot object, whose destructor sends an orphan, while another thread quiesces",
            &["quiet", "not yet"],
        )
        .bounded(3),
        model!(
            orphans_to_hot,
            "a drain makes an orphaned release, whose destructor drops the last reference to a hot object, while another thread quiesces",
            &["quiet", "not yet"],
        )
        .bounded(4),
        model!(
            orphans_looked_at,
            "the destructor of an orphan counts the orphans, right after it was sent",
            &["by the sender", "by the other"],
        )
        // Unbounded: 76,852 executions in the plain mode alone.
        .bounded(3),
        model!(
            orphans_retired_looked_at,
            "the destructor of a retired object counts the orphans, right after a slot gave it up",
            &["by the writer", "by the other"],
        )
        .bounded(2)
        .plain(&["by the writer"])
        .plain_bounded(0),
        model!(
            orphans_retired,
            "a slot retires an object, which becomes an orphan, while another thread quiesces",
            &["quiet, dead", "quiet before", "not yet"],
        )
        .bounded(2)
        .plain(&["quiet, dead", "not yet"])
        .plain_bounded(0),
    ]
    .into()
}

/// Returns the handle of a thread that has ended, and enters the calling thread in the registry.
fn gone() -> ThreadHandle {
    let gone = super::steps::gone();
    drain();
    gone
}

fn exit_claimed() -> bool {
    let this = this();
    let mut pool = AutoreleasePool::new();
    for _ in 0..2 {
        pool.create(Probe::new());
        this.release(Ref::new(Probe::new()));
    }
    // The drain has two entries and two sent releases; it makes one of each, and leaves one of
    // each.
    let drained = pool.drain_within(Budget::Count(2));
    assert_eq!((drained.released, drained.remaining), (2, 2));
    drop(pool);
    assert_eq!(take_deaths(), [me(); 2]);
    let (_, sent) = watched();
    let sender = spawn(move || {
        this.release(sent);
        drain();
    });
    model::thread_exit();
    let sender = sender.ended();
    let deaths = take_deaths();
    assert!(quiesce());
    assert_eq!(
        take_deaths(),
        [],
        "the sender has released what it orphaned"
    );
    let on = |thread| deaths.iter().filter(|at| **at == thread).count();
    let by_leaver = on(me());
    assert!(by_leaver >= 2 && by_leaver + on(sender) == 3 && deaths.len() == 3);
    by_leaver == 3
}

/// Orphans two releases.
fn two_orphans() -> [Arc<Seen>; 2] {
    let gone = gone();
    [(); 2].map(|()| {
        let (seen, object) = watched();
        gone.release(object);
        seen
    })
}

/// Drains within a budget of one release; returns how many objects that released.
fn drain_one() -> usize {
    AutoreleasePool::new()
        .drain_within(Budget::Count(1))
        .released
}

/// Runs what is left, and asserts that `deaths` probes have died since the last [`take_deaths`].
fn rest(deaths: usize) {
    assert!(quiesce());
    assert_eq!(take_deaths().len(), deaths);
}

fn orphans_given_back() -> bool {
    let seen = two_orphans();
    let other = spawn(move || quiesce_after(&seen));
    drain_one();
    let quiet = other.join();
    rest(2);
    quiet
}

fn orphans_before_part() -> bool {
    let gone = gone();
    for _ in 0..2 {
        gone.release(Ref::new(Probe::new()));
    }
    let (seen, third) = watched();
    let sender = spawn_without_exit(move || gone.release(third));
    // The release that the first drain has given back may be ahead of that of `third`.
    assert_eq!([drain_one(), drain_one()], [1, 1]);
    sender.join();
    let in_time = seen.get();
    assert_eq!(take_deaths().len(), 2);
    rest(1);
    in_time
}

/// Returns whether all was quiet for the other thread, and whether this thread made the release.
fn last_orphan(wait: Duration, drain: fn(AutoreleasePool)) -> (bool, bool) {
    let (seen, object) = watched();
    gone().release(object);
    let other = spawn(move || {
        let quiet = manager().quiesce(wait);
        assert!(!quiet || seen.get(), "quiet too early");
        quiet
    });
    let_others_go_first();
    drain(AutoreleasePool::new());
    let quiet = other.join();
    assert!(quiesce());
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 1);
    (quiet, deaths == [me()])
}

fn orphans_waited_for() -> bool {
    let (quiet, here) = last_orphan(Duration::from_secs(3_600), drop);
    assert!(quiet, "it gave up");
    here
}

fn orphans_shut_down() -> bool {
    let (seen, object) = watched();
    gone().release(object);
    let other = spawn(move || {
        let done = manager().shutdown(Duration::from_secs(3_600)).is_ok();
        assert!(done && seen.get(), "it gave up");
    });
    let_others_go_first();
    manager().run_inbox();
    died_on(&[me(), other.ended()]) == 0
}

fn orphans_two_claims() -> String {
    two_orphans();
    let other = spawn(drain_one);
    let here = drain_one();
    let there = other.join();
    assert_eq!(take_deaths().len(), here + there);
    rest(2 - here - there);
    format!("{here} and {there}")
}

fn orphans_two_at_once() -> usize {
    let gone = gone();
    let before = orphans_ran();
    let run = move || {
        gone.release(Ref::new(Probe::new()));
        drain();
    };
    let other = spawn(run.clone());
    run();
    other.join();
    let deaths = take_deaths();
    assert_eq!((deaths.len(), orphans_ran() - before), (2, 2));
    deaths.iter().filter(|thread| **thread == me()).count()
}

fn orphans_two_batches() -> bool {
    let retire = || retire_and_adopt(Ref::new(Probe::new()));
    let ((), (), at_once) = overlap(retire, retire);
    drain();
    assert_eq!(take_deaths().len(), 2);
    at_once
}

fn orphans_call_enters() -> bool {
    let gone = spawn(|| {
        let enter = || _ = this();
        this().post(enter).unwrap();
        this().post(note).unwrap();
        this().key()
    });
    let gone = gone.join();
    take_ran_on();
    let other = spawn(|| _ = this());
    let quiet = quiesce();
    let here = take_ran_on();
    other.join();
    assert_eq!(quiet, !here.is_empty());
    let same = model::slot(this().key()) == model::slot(gone);
    if same {
        assert_eq!(here, [], "it ran on the thread that took its target's slot");
        // The new thread does not enter the registry, so it cannot have the target's slot.
        let other = spawn_without_exit(|| assert!(quiesce()));
        assert_eq!([other.ended()], take_ran_on()[..]);
    } else {
        assert_eq!(here, [me()]);
    }
    same
}

fn orphans_last_hot(drain: fn(AutoreleasePool)) -> usize {
    let gone = gone();
    let hot = hot();
    let [first, second] = [(); 2].map(|()| Ref::new(hot.get()));
    drop(hot);
    gone.release(first);
    let other = spawn(move || {
        gone.release(second);
        drain(AutoreleasePool::new());
    });
    let_others_go_first();
    drain(AutoreleasePool::new());
    let died_on = died_on(&[me(), other.ended()]);
    assert_eq!(Hot::review(), 0, "it was found by a review of all");
    died_on
}

/// Drains a pool while another thread calls `quiet`.
fn drained_while(quiet: impl FnOnce() -> bool + Send + 'static) -> bool {
    let other = spawn(quiet);
    let_others_go_first();
    drain();
    let quiet = other.join();
    assert!(quiesce());
    quiet
}

fn orphans_from_hot() -> bool {
    let (seen, object) = watched();
    let gone = gone();
    let hot = Hot::try_new(Ref::new(OnDrop::new(move || gone.release(object))));
    // The object has no `HotRef`, so it is dead once the owner is dropped.
    drop(hot.ok().unwrap());
    let quiet = drained_while(move || quiesce_after(&[seen]));
    assert_eq!(take_deaths().len(), 1);
    quiet
}

fn orphans_to_hot() -> bool {
    let gone = gone();
    let hot = hot();
    let held = Ref::new(hot.get());
    drop(hot);
    // This drain reviews the object, as this thread has dropped its owner.
    drain();
    gone.release(held);
    let died = Arc::new(AtomicBool::new(false));
    let there = died.clone();
    let quiet = drained_while(move || {
        let quiet = quiesce();
        let one = take_deaths().len() == 1;
        assert!(!quiet || one, "quiet, but a hot object is dead");
        there.store(one, Ordering::Relaxed);
        quiet
    });
    let died = usize::from(died.load(Ordering::Relaxed));
    assert_eq!(died + take_deaths().len(), 1);
    quiet
}

/// Returns an object whose destructor counts the orphans, and asserts that at most `others` wait
/// while the object is destroyed as an orphan.
fn looks(others: usize) -> OnDrop {
    let probe = Probe::new();
    OnDrop::new(move || {
        // This orphan was counted before it could be taken out, so the count never wraps below 0.
        assert!(manager().snapshot().orphans <= others);
        probe.look();
    })
}

fn orphans_looked_at() -> usize {
    let gone = gone();
    let r = Ref::new(looks(0));
    let sender = spawn(move || {
        gone.release(r);
        drain();
    });
    let_others_go_first();
    drain();
    died_on(&[sender.ended(), me()])
}

fn orphans_retired_looked_at() -> usize {
    let slot = Slot::new(Ref::new(Some(looks(1))));
    let other = spawn(quiesce);
    slot.store(Ref::new(None));
    quiesce();
    let other = other.ended();
    drop(slot);
    model::quiesce();
    died_on(&[me(), other])
}

fn orphans_retired() -> usize {
    let seen = Seen::new();
    let slot = Slot::new(Ref::new((Probe::new(), Some(Watched(seen.clone())))));
    let order = Arc::new(AtomicBool::new(false));
    let given_up = order.clone();
    let other = spawn(move || {
        let before = !given_up.load(Ordering::Relaxed);
        let quiet = quiesce();
        assert!(!quiet || before || seen.get(), "quiet too early");
        (quiet, before)
    });
    slot.store(Ref::new((Probe::new(), None)));
    order.store(true, Ordering::Relaxed);
    quiesce();
    let (quiet, before) = other.join();
    drop(slot);
    model::quiesce();
    assert_eq!(take_deaths().len(), 2);
    if quiet { usize::from(before) } else { 2 }
}
