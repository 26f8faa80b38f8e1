//! Two threads that send at once: to a thread for which one message may wait, to a thread that is
//! running what it got before, and to one that has ended.

use super::steps::*;
use loom::thread::yield_now;
use releasepool::model::parts::enter_bounded;
use releasepool::{AutoreleasePool, Budget, Ref, ThreadHandle};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

pub fn models() -> Vec<Model> {
    [
        Model::new(
            "bound_three_senders",
            "three releases to a thread for which one may wait",
            &["most sent", "most refused"],
            || refused_of::<3>() < 2,
        )
        .bounded(2),
        Model::new(
            "bound_two_senders",
            "two releases to a thread for which one may wait: the other is made by its sender, unless the first is made before",
            &["both sent", "one sent"],
            refused_of::<2>,
        )
        // Each sender reads and changes three counts. Four preemptions put each sender, or the
        // target's run, twice between steps of another. With 6: 305,711 executions in the rmw mode.
        .bounded(4)
        // With this bound, the plain mode explores all executions.
        .plain_bounded(20),
        model!(
            claimed_in_order,
            "three releases are sent to a thread that claims its messages in budgeted drains: they are made in the order in which they were sent",
            &["0 first", "1 first", "2 first", "3 first"],
        )
        .bounded(2),
        model!(
            inbox_then_pool,
            "a release is sent to a thread that runs its inbox meanwhile: then, or at the end of its next pool, it is made",
            &["by the inbox", "by the pool"],
        ),
        model!(
            inbox_released_before_post,
            "a release and then a closure are sent to a thread that runs its inbox: the closure finds the object destroyed",
            &["in the first", "in the second"],
        ),
        model!(
            posts_during_post,
            "two threads post to a thread that is running its first closure, which runs the inbox, too",
            &["0 inside", "1 inside", "2 inside"],
        )
        // Unbounded: more than 300 s.
        .bounded(2),
        model!(
            orphans_two_senders,
            "two releases are sent to a thread that has ended, while a budgeted drain claims and gives back",
            &["0 here", "1 here"],
        )
        // Unbounded: 30,056 executions in the plain mode alone.
        .bounded(3),
    ]
    .into()
}

/// Releases an object on a thread, from each of several others.
fn release_from<const N: usize>(target: &ThreadHandle) -> [Thread<()>; N] {
    [(); N].map(|()| {
        let (target, r) = (target.clone(), Ref::new(Probe::new()));
        spawn_without_exit(move || target.release(r))
    })
}

/// Makes several threads send to this one, for which one message may wait; returns how many were
/// refused.
fn refused_of<const N: usize>() -> usize {
    enter_bounded(1);
    let senders = release_from::<N>(&this());
    manager().run_inbox();
    join_all(senders);
    let deaths = take_deaths();
    let refused = deaths.iter().filter(|thread| **thread != me()).count();
    manager().run_inbox();
    let waited = take_deaths().len();
    assert_eq!(deaths.len() + waited, N);
    assert!(waited <= 1, "two wait");
    assert!(refused < N, "there was room for one");
    refused
}

/// Drains a pool within a budget; returns how many objects that released.
fn drain_within(count: usize) -> usize {
    AutoreleasePool::new()
        .drain_within(Budget::Count(count))
        .released
}

fn claimed_in_order() -> usize {
    static DIED: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    struct Numbered(u32);
    impl Drop for Numbered {
        fn drop(&mut self) {
            DIED.lock().unwrap().push(self.0);
            // Lets loom also explore the executions in which the next release arrives now.
            yield_now();
        }
    }
    DIED.lock().unwrap().clear();
    let target = this();
    let sender = spawn(move || (0..3).for_each(|n| target.release(Ref::new(Numbered(n)))));
    let first = drain_within(4);
    sender.join();
    assert_eq!(first + drain_within(4), 3);
    assert_eq!(*DIED.lock().unwrap(), [0, 1, 2]);
    first
}

fn inbox_then_pool() -> bool {
    let target = this();
    let sender = spawn(move || target.release(Ref::new(Probe::new())));
    manager().run_inbox();
    let ran = take_deaths().len();
    sender.join();
    drain();
    assert_eq!(ran + take_deaths().len(), 1, "a release that arrived waits");
    ran == 1
}

fn inbox_released_before_post() -> bool {
    static RAN: AtomicU32 = AtomicU32::new(0);
    RAN.store(0, Ordering::Relaxed);
    let target = this();
    let sender = spawn(move || {
        target.release(Ref::new(Probe::new()));
        let closure = || {
            assert_eq!(take_deaths(), [me()], "it was released before");
            RAN.fetch_add(1, Ordering::Relaxed);
        };
        target.post(closure).unwrap();
    });
    // Lets loom also explore the executions in which the sender goes first.
    yield_now();
    let first = manager().run_inbox();
    assert_eq!(RAN.load(Ordering::Relaxed) as usize, first);
    sender.join();
    assert_eq!(manager().run_inbox(), 1 - first);
    assert_eq!(RAN.load(Ordering::Relaxed), 1);
    first == 1
}

fn posts_during_post() -> usize {
    static RAN: AtomicU32 = AtomicU32::new(0);
    RAN.store(0, Ordering::Relaxed);
    let ran = || RAN.load(Ordering::Relaxed) as usize;
    let note = || _ = RAN.fetch_add(1, Ordering::Relaxed);
    let this = this();
    this.post(move || {
        // Lets loom explore the executions in which both threads post during this closure, without
        // a preemption.
        yield_now();
        let before = ran();
        assert_eq!(manager().run_inbox(), ran() - before);
    })
    .unwrap();
    let posters = [(); 2].map(|()| {
        let this = this.clone();
        spawn_without_exit(move || this.post(note).unwrap())
    });
    // This call runs only the first closure; the call inside that one runs what has arrived.
    assert_eq!(manager().run_inbox(), 1);
    let inside = ran();
    join_all(posters);
    assert_eq!(manager().run_inbox(), 2 - inside);
    // If the count had lost a message, this one would not count as waiting.
    this.post(note).unwrap();
    let waiting = || manager().snapshot().thread(this.key()).unwrap().inbox;
    assert_eq!(waiting(), 1);
    assert_eq!(manager().run_inbox(), 1);
    assert_eq!((waiting(), ran()), (0, 3));
    inside
}

fn orphans_two_senders() -> usize {
    let senders = release_from::<2>(&gone());
    yield_now();
    let here = drain_within(1);
    join_all(senders);
    assert_eq!(take_deaths().len(), here);
    assert!(quiesce());
    assert_eq!(take_deaths().len(), 2 - here);
    here
}
