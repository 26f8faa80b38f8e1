//! A thread exits while others send to it, and its registry slot is reused at once.
//!
//! The exiting thread is the main thread.

use super::steps::*;
use releasepool::pool::PopError;
use releasepool::{AutoreleasePool, Ref, autorelease, model};

pub fn models() -> Vec<Model> {
    [
        Model::new(
            "exit_release",
            "a release to an exiting thread: made on that thread, or as an orphan",
            &["by the leaver", "by a drain of the sender"],
            || released_in_exit(Probe::new()),
        ),
        model!(
            exit_release_feeds,
            "a release to an exiting thread, whose destructor autoreleases: what it adds to the root pool is released, too",
            &["by the leaver", "by a drain of the sender"],
        ),
        model!(
            alive_until_exit,
            "is_alive and post while the thread exits",
            &["alive, accepted", "alive, refused", "gone, refused"],
        ),
        model!(
            exit_release_successor,
            "a release to an exiting thread while another thread reuses its slot",
            &[
                "by the leaver",
                "by the successor's drain, as an orphan",
                "by quiesce",
            ],
        )
        // Three threads use the registry: without a bound, the model takes very long.
        .bounded(6),
        model!(
            exit_post_successor,
            "a closure to an exiting thread: given back or run by quiesce, never by a thread that reuses the slot",
            &[
                "given back, same slot",
                "given back, other slot",
                "run by quiesce, same slot",
                "run by quiesce, other slot",
            ],
        )
        // Three threads enter the registry. With 6 (once, by hand): 2,787,400 executions
        // in 221 s.
        .bounded(3),
        model!(
            orphans_quiesce,
            "two threads run orphans: each runs once, and quiesce sees its effects",
            &["0 ran both", "each ran one", "1 ran both"],
        )
        // Three threads enter the registry here, too. With 6 (once, by hand): 584,000 executions.
        .bounded(4),
        model!(
            orphans_counted,
            "a release is orphaned while an orphaned closure waits: quiesce counts both",
            &["released by quiesce", "released later"],
        ),
        model!(
            push_pop_autorelease,
            "push, autorelease and pop on two threads, by tokens, guards and the root",
            OVERLAP,
        )
        // Both threads enter the registry and leave it. A bound of 5 takes 48,791 executions.
        .bounded(4),
    ]
    .into()
}

/// The main thread exits while another one sends it an object with a probe, and then drains.
fn released_in_exit<T: Send + Sync + 'static>(object: T) -> usize {
    let leaver = this();
    drain();
    let r = Ref::new(object);
    let sender = spawn(move || {
        leaver.release(r);
        drain();
    });
    model::thread_exit();
    let sender = sender.ended();
    assert!(quiesce());
    died_on(&[me(), sender])
}

fn exit_release_feeds() -> usize {
    let r = Ref::new(Probe::new());
    released_in_exit(OnDrop::new(|| autorelease(r)))
}

fn alive_until_exit() -> usize {
    let leaver = this();
    let asker = spawn_without_exit(move || (leaver.is_alive(), leaver.post(note).is_ok()));
    model::thread_exit();
    let (alive, accepted) = asker.join();
    quiesce();
    assert_eq!(take_ran_on().len(), usize::from(accepted));
    assert!(alive || !accepted);
    usize::from(!alive) + usize::from(!accepted)
}

fn exit_release_successor() -> usize {
    let leaver = this();
    drain();
    let r = Ref::new(Probe::new());
    let sender = spawn_without_exit(move || leaver.release(r));
    let successor = spawn(drain);
    model::thread_exit();
    let before = take_deaths();
    sender.join();
    let successor = successor.ended();
    let meanwhile = take_deaths();
    assert!(quiesce());
    let after = take_deaths();
    match (&before[..], &meanwhile[..], &after[..]) {
        ([t], [], []) if *t == me() => 0,
        ([], [t], []) | ([t], [], []) if *t == successor => 1,
        ([], [], [t]) if *t == me() => 2,
        other => panic!("died {other:?}"),
    }
}

fn exit_post_successor() -> usize {
    let leaver = this();
    let key = leaver.key();
    drain();
    let sender = spawn_without_exit(move || {
        let posted = leaver.post(note);
        posted.map_err(|closed| (closed.0)()).is_ok()
    });
    let successor = spawn(|| {
        let key = this().key();
        assert_eq!(manager().run_inbox(), 0, "a closure ran on the successor");
        key
    });
    model::thread_exit();
    let accepted = sender.join();
    let (successor, successor_key) = (successor.id, successor.join());
    assert_ne!(key, successor_key);
    assert!(quiesce());
    let ran = take_ran_on();
    assert_eq!(ran.len(), 1, "ran exactly once");
    assert_ne!(ran[0], successor);
    assert!(!accepted || ran[0] == me());
    2 * usize::from(accepted) + usize::from(model::slot(key) != model::slot(successor_key))
}

fn orphans_quiesce() -> usize {
    let gone = gone();
    let seen = Seen::new();
    gone.release(Ref::new((Probe::new(), Watched(seen.clone()))));
    let other = {
        let gone = gone.clone();
        let r = Ref::new(Probe::new());
        spawn(move || {
            gone.release(r);
            let pool = AutoreleasePool::new();
            autorelease(Ref::new(()));
            drop(pool);
        })
    };
    while !quiesce() {
        loom::thread::yield_now();
    }
    // Whichever thread made the release, the effects of the release happen before this.
    assert!(seen.get());
    let one = other.ended();
    assert!(quiesce());
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 2);
    deaths.iter().filter(|thread| **thread == one).count()
}

fn orphans_counted() -> bool {
    let gone = spawn(|| {
        let this = this();
        this.post(note).unwrap();
        this
    });
    let gone = gone.join();
    // This thread has reused the slot of `gone`, so it does not run the closure.
    assert_eq!(model::slot(this().key()), model::slot(gone.key()));
    let r = Ref::new(Probe::new());
    let sender = spawn_without_exit(move || gone.release(r));
    let_others_go_first();
    assert!(!quiesce(), "the closure still waits");
    let released = take_deaths().len();
    sender.join();
    let other = spawn(|| {
        this();
        assert!(quiesce());
    });
    assert_eq!([other.ended()], take_ran_on()[..]);
    assert_eq!(released + take_deaths().len(), 1);
    released == 1
}

/// Uses a token pool, a guard pool and the root pool, with an entry each. In the end this thread
/// has destroyed all three objects.
fn use_all(exit: bool) {
    autorelease(Ref::new(Probe::new()));
    let token = manager().push();
    autorelease(Ref::new(Probe::new()));
    let pool = AutoreleasePool::new();
    pool.create(Probe::new()).look();
    drop(pool);
    assert_eq!(manager().pop(token), Ok(1));
    assert_eq!(manager().pop(token), Err(PopError::Stale));
    if exit {
        model::thread_exit();
    } else {
        assert_eq!(manager().drain_root(), 1);
    }
}

fn push_pop_autorelease() -> bool {
    let overlap = Overlap::default();
    let there = overlap.clone();
    let other = spawn_without_exit(move || there.during(|| use_all(true)));
    overlap.during(|| use_all(false));
    let other = other.ended();
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 6);
    assert_eq!(deaths.iter().filter(|t| **t == other).count(), 3);
    overlap.at_once()
}
