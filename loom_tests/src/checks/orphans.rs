//! Orphans in every state, and releases that a thread had claimed before it ended: each is made
//! once, and before `quiesce` returns that nothing is left.

use super::model::Model;
use super::probe::{Overlap, Probe, Seen, Watched, died_on, me, spawn, take_deaths};
use loom::thread::ThreadId;
use releasepool::model::parts::{orphans_ran, retire_and_adopt};
use releasepool::{AutoreleasePool, Budget, Hot, PoolManager, Ref, Slot, ThreadHandle, model};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "exit_claimed",
        "a thread with a backlog and claimed releases ends while another thread sends to it and drains",
        &["by the leaver", "by a drain of the sender"],
        exit_claimed,
    ),
    Model::new(
        "orphans_given_back",
        "a budgeted drain makes one of two orphaned releases, while another thread quiesces",
        &["quiet", "not yet"],
        orphans_given_back,
    )
    // Threads enter the registry, one after the other.
    .bounded(6),
    Model::new(
        "orphans_before_part",
        "a release is orphaned while a budgeted drain gives one back, and another drain makes one of the two: none is lost",
        &["the third in time", "the third later"],
        orphans_before_part,
    ),
    Model::new(
        "orphans_last_drained",
        "a drain makes the only orphaned release, while another thread quiesces",
        &["quiet", "not yet"],
        || last_orphan(Duration::ZERO, drop).0.to_owned(),
    )
    // Threads enter the registry, one after the other.
    .bounded(6),
    Model::new(
        "orphans_last_part",
        "a budgeted drain makes the only orphaned release, while another thread quiesces",
        &["quiet", "not yet"],
        || {
            let drain = |mut pool: AutoreleasePool| _ = pool.drain_within(Budget::Count(1));
            last_orphan(Duration::ZERO, drain).0.to_owned()
        },
    )
    // Threads enter the registry, one after the other.
    .bounded(6),
    Model::new(
        "orphans_waited_for",
        "a drain makes the only orphaned release, while another thread waits until it is made",
        &["quiet, released here", "quiet, released there"],
        || {
            let (quiet, here) = last_orphan(HOUR, drop);
            format!("{quiet}, released {}", if here { "here" } else { "there" })
        },
    )
    .timed(),
    Model::new(
        "orphans_two_claims",
        "two budgeted drains claim orphans at once, and give the rest back",
        &["1 and 0", "1 and 1", "0 and 1"],
        orphans_two_claims,
    )
    // Threads enter the registry, one after the other.
    .bounded(6),
    Model::new(
        "orphans_two_at_once",
        "two drains claim an orphan each, and run them at once: both are counted",
        &["both here", "one here", "none here"],
        orphans_two_at_once,
    )
    // Threads enter the registry, one after the other.
    .bounded(3),
    Model::new(
        "orphans_two_batches",
        "two threads make batches of retired references ready at once: none counts as in flight",
        Overlap::ANY,
        orphans_two_batches,
    )
    // Threads enter the registry.
    .bounded(3),
    Model::new(
        "orphans_call_enters",
        "an orphaned closure enters the thread that runs it into the slot of the target, while another thread comes and goes: the next closure runs elsewhere",
        &["same slot, elsewhere", "other slot, here"],
        orphans_call_enters,
    ),
    Model::new(
        "orphans_last_hot",
        "the destructors of two orphans drop the last references to a hot object, while two threads drain",
        &["died on 0", "died on 1"],
        || orphans_last_hot(drop),
    )
    // Threads enter the registry, one after the other. With 3: 21,903 executions in the rmw mode.
    .bounded(2)
    .plain_bounded(3),
    Model::new(
        "orphans_last_hot_budgeted",
        "the destructors of two orphans drop the last references to a hot object, while two threads drain within budgets",
        &["died on 0", "died on 1"],
        || orphans_last_hot(|mut pool| _ = pool.drain_within(Budget::All)),
    )
    // As before.
    .bounded(2)
    .plain_bounded(3),
    Model::new(
        "orphans_from_hot",
        "a drain releases a dead hot object, whose destructor sends an orphan, while another thread quiesces",
        &["quiet", "not yet"],
        orphans_from_hot,
    )
    // Threads enter the registry, one after the other.
    .bounded(3),
    Model::new(
        "orphans_to_hot",
        "a drain makes an orphaned release, whose destructor drops the last reference to a hot object, while another thread quiesces",
        &["quiet", "not yet"],
        orphans_to_hot,
    )
    // Threads enter the registry, one after the other.
    .bounded(4),
    Model::new(
        "orphans_looked_at",
        "the destructor of an orphan counts the orphans, right after it was sent",
        &["by the sender", "by the other"],
        orphans_looked_at,
    )
    // Unbounded: 76,852 executions in the plain mode alone.
    .bounded(3),
    Model::new(
        "orphans_retired_looked_at",
        "the destructor of a retired object counts the orphans, right after a slot gave it up",
        &["by the writer", "by the other"],
        orphans_retired_looked_at,
    )
    // The collector's atomics are explored, too.
    .bounded(1),
    Model::new(
        "orphans_retired",
        "a slot retires an object, which becomes an orphan, while another thread quiesces",
        &["quiet, dead", "quiet before", "not yet"],
        orphans_retired,
    )
    // The collector's atomics are explored, too; with 2 more than 25 s in the plain mode.
    .bounded(1),
];

/// Returns the handle of a thread that has ended; its slot in the registry has been reused.
fn gone() -> ThreadHandle {
    let gone = spawn(|| PoolManager::global().current_thread().unwrap());
    let gone = gone.join().unwrap();
    drop(AutoreleasePool::new());
    gone
}

fn exit_claimed() -> String {
    let manager = PoolManager::global();
    let this = manager.current_thread().unwrap();
    let mut pool = AutoreleasePool::new();
    for _ in 0..2 {
        pool.create(Probe::new());
        this.release(Ref::new(Probe::new()));
    }
    // Two of its own and two that were sent; of each, one is released and one is left.
    let drained = pool.drain_within(Budget::Count(2));
    assert_eq!((drained.released, drained.remaining), (2, 2));
    drop(pool);
    assert_eq!(take_deaths(), [me(); 2]);
    let sent = Ref::new((Probe::new(), Watched(Seen::new())));
    let sender = spawn(move || {
        this.release(sent);
        drop(AutoreleasePool::new());
        me()
    });
    model::thread_exit();
    let sender = sender.join().unwrap();
    let mut deaths = take_deaths();
    assert!(manager.quiesce(Duration::ZERO));
    assert_eq!(
        take_deaths(),
        [],
        "the sender has released what it orphaned"
    );
    assert_eq!(deaths.len(), 3);
    deaths.retain(|thread| *thread != me());
    match &deaths[..] {
        [] => "by the leaver",
        [thread] if *thread == sender => "by a drain of the sender",
        other => panic!("died elsewhere: {other:?}"),
    }
    .to_owned()
}

/// Orphans two releases.
fn two_orphans() -> [Arc<Seen>; 2] {
    let gone = gone();
    [(); 2].map(|()| {
        let seen = Seen::new();
        gone.release(Ref::new((Probe::new(), Watched(seen.clone()))));
        seen
    })
}

fn orphans_given_back() -> String {
    let seen = two_orphans();
    let other = spawn(move || {
        let quiet = PoolManager::global().quiesce(Duration::ZERO);
        if quiet {
            assert!(seen.iter().all(|seen| seen.get()), "quiet too early");
        }
        quiet
    });
    AutoreleasePool::new().drain_within(Budget::Count(1));
    let quiet = other.join().unwrap();
    assert!(PoolManager::global().quiesce(Duration::ZERO));
    assert_eq!(take_deaths().len(), 2);
    if quiet { "quiet" } else { "not yet" }.to_owned()
}

fn orphans_before_part() -> String {
    let gone = gone();
    for _ in 0..2 {
        gone.release(Ref::new(Probe::new()));
    }
    let seen = Seen::new();
    let third = Ref::new((Probe::new(), Watched(seen.clone())));
    let sender = loom::thread::spawn(move || gone.release(third));
    // What the first one gives back may be in front of the third.
    for _ in 0..2 {
        let drained = AutoreleasePool::new().drain_within(Budget::Count(1));
        assert_eq!(drained.released, 1);
    }
    sender.join().unwrap();
    let in_time = seen.get();
    assert_eq!(take_deaths().len(), 2);
    assert!(PoolManager::global().quiesce(Duration::ZERO));
    assert_eq!(take_deaths().len(), 1);
    let when = if in_time { "in time" } else { "later" };
    format!("the third {when}")
}

const HOUR: Duration = Duration::from_secs(3_600);

/// Returns whether all was quiet for the other thread, and whether this thread made the release.
fn last_orphan(wait: Duration, drain: fn(AutoreleasePool)) -> (&'static str, bool) {
    let gone = gone();
    let seen = Seen::new();
    gone.release(Ref::new((Probe::new(), Watched(seen.clone()))));
    let other = spawn(move || {
        let quiet = PoolManager::global().quiesce(wait);
        if quiet {
            assert!(seen.get(), "quiet too early");
        }
        quiet
    });
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    drain(AutoreleasePool::new());
    let quiet = other.join().unwrap();
    assert!(PoolManager::global().quiesce(Duration::ZERO));
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 1);
    (if quiet { "quiet" } else { "not yet" }, deaths == [me()])
}

fn orphans_two_claims() -> String {
    two_orphans();
    let one = |pool: &mut AutoreleasePool| pool.drain_within(Budget::Count(1)).released;
    let other = spawn(move || one(&mut AutoreleasePool::new()));
    let here = one(&mut AutoreleasePool::new());
    let there = other.join().unwrap();
    assert_eq!(take_deaths().len(), here + there);
    assert!(PoolManager::global().quiesce(Duration::ZERO));
    assert_eq!(take_deaths().len(), 2 - here - there);
    format!("{here} and {there}")
}

fn orphans_two_at_once() -> String {
    let gone = gone();
    let before = orphans_ran();
    let run = move || {
        gone.release(Ref::new(Probe::new()));
        drop(AutoreleasePool::new());
    };
    let other = spawn(run.clone());
    run();
    other.join().unwrap();
    let deaths = take_deaths();
    assert_eq!((deaths.len(), orphans_ran() - before), (2, 2));
    let here = deaths.iter().filter(|thread| **thread == me()).count();
    ["none here", "one here", "both here"][here].to_owned()
}

fn orphans_two_batches() -> String {
    let retire = || retire_and_adopt(Ref::new(Probe::new()));
    let overlap = Overlap::default();
    let other = {
        let overlap = overlap.clone();
        spawn(move || overlap.during(retire))
    };
    overlap.during(retire);
    other.join().unwrap();
    drop(AutoreleasePool::new());
    assert_eq!(take_deaths().len(), 2);
    overlap.outcome()
}

fn orphans_call_enters() -> String {
    static RAN_ON: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());
    let take_ran_on =
        || std::mem::take(&mut *RAN_ON.lock().unwrap_or_else(PoisonError::into_inner));
    let this = || PoolManager::global().current_thread().unwrap();
    let gone = spawn(move || {
        let enter = move || _ = this();
        this().post(enter).unwrap();
        let note = || {
            RAN_ON
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(me())
        };
        this().post(note).unwrap();
        this().key()
    });
    let gone = gone.join().unwrap();
    take_ran_on();
    let other = spawn(move || _ = this());
    let quiet = PoolManager::global().quiesce(Duration::ZERO);
    let here = take_ran_on();
    other.join().unwrap();
    assert_eq!(quiet, !here.is_empty());
    let same = model::slot(this().key()) == model::slot(gone);
    let outcome = if same {
        assert_eq!(here, [], "it ran on the thread that took its target's slot");
        // A thread that is not in the registry.
        let quiesce = || (PoolManager::global().quiesce(Duration::ZERO), me());
        let (quiet, elsewhere) = loom::thread::spawn(quiesce).join().unwrap();
        assert!(quiet);
        assert_eq!(take_ran_on(), [elsewhere]);
        "same slot, elsewhere"
    } else {
        assert_eq!(here, [me()]);
        "other slot, here"
    };
    outcome.to_owned()
}

fn orphans_last_hot(drain: fn(AutoreleasePool)) -> String {
    let gone = gone();
    let hot = Hot::try_new(Ref::new(Probe::new())).ok().unwrap();
    let [first, second] = [(); 2].map(|()| Ref::new(hot.get()));
    drop(hot);
    gone.release(first);
    let other = spawn(move || {
        gone.release(second);
        drain(AutoreleasePool::new());
        me()
    });
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    drain(AutoreleasePool::new());
    let other = other.join().unwrap();
    let outcome = died_on(&[me(), other]);
    assert_eq!(Hot::review(), 0, "it was found by a review of all");
    outcome
}

/// Sends a release when it is destroyed.
struct Sends(ThreadHandle, Option<Ref<Payload>>);

type Payload = (Probe, Watched);

impl Drop for Sends {
    fn drop(&mut self) {
        self.0.release(self.1.take().unwrap());
    }
}

/// Drains a pool while another thread quiesces, which must not find all quiet before `seen`.
fn drained_while_quiet(seen: Arc<Seen>) -> String {
    let other = spawn(move || {
        let quiet = PoolManager::global().quiesce(Duration::ZERO);
        if quiet {
            assert!(seen.get(), "quiet too early");
        }
        quiet
    });
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    drop(AutoreleasePool::new());
    let quiet = other.join().unwrap();
    assert!(PoolManager::global().quiesce(Duration::ZERO));
    assert_eq!(take_deaths().len(), 1);
    if quiet { "quiet" } else { "not yet" }.to_owned()
}

fn orphans_from_hot() -> String {
    let seen = Seen::new();
    let object = Ref::new((Probe::new(), Watched(seen.clone())));
    let hot = Hot::try_new(Ref::new(Mutex::new(Sends(gone(), Some(object)))));
    // It has no references, so it is dead.
    drop(hot.ok().unwrap());
    drained_while_quiet(seen)
}

fn orphans_to_hot() -> String {
    let gone = gone();
    let hot = Hot::try_new(Ref::new(Probe::new())).ok().unwrap();
    let held = Ref::new(hot.get());
    drop(hot);
    // The review of this thread, which has let it go.
    drop(AutoreleasePool::new());
    gone.release(held);
    let other = spawn(|| {
        let quiet = PoolManager::global().quiesce(Duration::ZERO);
        let died = take_deaths().len();
        assert!(!quiet || died == 1, "quiet, but a hot object is dead");
        (quiet, died)
    });
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    drop(AutoreleasePool::new());
    let (quiet, died) = other.join().unwrap();
    assert!(PoolManager::global().quiesce(Duration::ZERO));
    assert_eq!(died + take_deaths().len(), 1);
    if quiet { "quiet" } else { "not yet" }.to_owned()
}

/// Counts the orphans while it is itself destroyed as one.
struct Looks {
    probe: Probe,
    /// The number of others that may wait.
    others: usize,
}

impl Drop for Looks {
    fn drop(&mut self) {
        // This orphan was counted before it could be taken out, so the count is not negative.
        assert!(PoolManager::global().snapshot().orphans <= self.others);
        self.probe.look();
    }
}

fn orphans_looked_at() -> String {
    let gone = gone();
    let r = Ref::new(Looks {
        probe: Probe::new(),
        others: 0,
    });
    let sender = spawn(move || {
        gone.release(r);
        drop(AutoreleasePool::new());
        me()
    });
    // So that loom also explores the executions in which the sender goes first.
    loom::thread::yield_now();
    drop(AutoreleasePool::new());
    let sender = sender.join().unwrap();
    match take_deaths()[..] {
        [thread] if thread == sender => "by the sender",
        [thread] if thread == me() => "by the other",
        ref other => panic!("died on {other:?}"),
    }
    .to_owned()
}

fn orphans_retired_looked_at() -> String {
    let slot = Slot::new(Ref::new(Some(Looks {
        probe: Probe::new(),
        others: 1,
    })));
    let other = spawn(|| {
        PoolManager::global().quiesce(Duration::ZERO);
        me()
    });
    slot.store(Ref::new(None));
    PoolManager::global().quiesce(Duration::ZERO);
    let other = other.join().unwrap();
    drop(slot);
    let done = (0..10).any(|_| PoolManager::global().quiesce(Duration::ZERO));
    assert!(done, "something holds the epoch");
    match take_deaths()[..] {
        [thread] if thread == me() => "by the writer",
        [thread] if thread == other => "by the other",
        ref deaths => panic!("died on {deaths:?}"),
    }
    .to_owned()
}

fn orphans_retired() -> String {
    let seen = Seen::new();
    let slot = Slot::new(Ref::new((Probe::new(), Some(Watched(seen.clone())))));
    let order = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let given_up = order.clone();
    let other = spawn(move || {
        let before = !given_up.load(std::sync::atomic::Ordering::Relaxed);
        let quiet = PoolManager::global().quiesce(Duration::ZERO);
        if quiet && !before {
            assert!(seen.get(), "quiet too early");
        }
        (quiet, before)
    });
    slot.store(Ref::new((Probe::new(), None)));
    order.store(true, std::sync::atomic::Ordering::Relaxed);
    PoolManager::global().quiesce(Duration::ZERO);
    let (quiet, before) = other.join().unwrap();
    drop(slot);
    let done = (0..10).any(|_| PoolManager::global().quiesce(Duration::ZERO));
    assert!(done, "something holds the epoch");
    assert_eq!(take_deaths().len(), 2);
    match (quiet, before) {
        (true, false) => "quiet, dead",
        (true, true) => "quiet before",
        (false, _) => "not yet",
    }
    .to_owned()
}
