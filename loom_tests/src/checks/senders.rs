//! Two threads that send at once: to a bound with room for one, to a thread that is running what it
//! got before, and to one that has ended.

use super::model::Model;
use super::probe::{Probe, me, spawn, take_deaths};
use loom::thread::{JoinHandle, yield_now};
use releasepool::model::parts::enter_bounded;
use releasepool::{AutoreleasePool, Budget, PoolManager, Ref, ThreadHandle};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "bound_three_senders",
        "three releases to a thread for which one may wait",
        &["most refused", "most sent"],
        bound_three_senders,
    )
    .bounded(2),
    Model::new(
        "bound_two_senders",
        "two releases to a thread for which one may wait: the other is made by its sender, unless the first is made before",
        &["both sent", "one sent"],
        bound_two_senders,
    )
    // Each sender reads and changes three counts: in the mode rmw, 562,166 executions without a bound.
    .bounded(6)
    // All of them.
    .plain_bounded(20),
    Model::new(
        "claimed_in_order",
        "three releases are sent to a thread that claims its messages in budgeted drains: they are made in the order in which they were sent",
        &["0 first", "1 first", "2 first", "3 first"],
        claimed_in_order,
    )
    .bounded(2),
    Model::new(
        "inbox_then_pool",
        "a release is sent to a thread that runs its inbox meanwhile: then, or at the end of its next pool, it is made",
        &["by the inbox", "by the pool"],
        inbox_then_pool,
    ),
    Model::new(
        "inbox_released_before_post",
        "a release and then a closure are sent to a thread that runs its inbox: the closure finds the object destroyed",
        &["in the first", "in the second"],
        released_before_post,
    ),
    Model::new(
        "posts_during_post",
        "two threads post to a thread that is running its first closure, which runs the inbox, too",
        &["0 inside", "1 inside", "2 inside"],
        posts_during_post,
    )
    // Unbounded: more than 300 s.
    .bounded(2),
    Model::new(
        "orphans_two_senders",
        "two releases are sent to a thread that has ended, while a budgeted drain claims and gives back",
        &["0 here", "1 here"],
        orphans_two_senders,
    )
    // Unbounded: 30,056 executions in the plain mode alone.
    .bounded(3),
];

/// Releases an object on a thread, from two others at once.
fn release_two(target: &ThreadHandle) -> [JoinHandle<()>; 2] {
    [(); 2].map(|()| {
        let (target, r) = (target.clone(), Ref::new(Probe::new()));
        loom::thread::spawn(move || target.release(r))
    })
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

fn this() -> ThreadHandle {
    PoolManager::global().current_thread().unwrap()
}

fn bound_two_senders() -> String {
    enter_bounded(1);
    let senders = release_two(&this());
    PoolManager::global().run_inbox();
    join(senders);
    let deaths = take_deaths();
    let made = deaths.iter().filter(|thread| **thread == me()).count();
    let refused = deaths.len() - made;
    PoolManager::global().run_inbox();
    let waited = take_deaths().len();
    assert_eq!(made + refused + waited, 2);
    assert!(waited <= 1, "two wait");
    assert!(refused <= 1, "there was room for one");
    ["both sent", "one sent"][refused].to_owned()
}

fn bound_three_senders() -> String {
    enter_bounded(1);
    let target = this();
    let send = |target: ThreadHandle| {
        let r = Ref::new(Probe::new());
        move || target.release(r)
    };
    let senders = [(); 3].map(|()| loom::thread::spawn(send(target.clone())));
    PoolManager::global().run_inbox();
    join(senders);
    let deaths = take_deaths();
    let refused = deaths.iter().filter(|thread| **thread != me()).count();
    PoolManager::global().run_inbox();
    let waited = take_deaths().len();
    assert_eq!(deaths.len() + waited, 3);
    assert!(waited <= 1, "two wait");
    ["most sent", "most refused"][usize::from(refused >= 2)].to_owned()
}

fn claimed_in_order() -> String {
    static DIED: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    struct Numbered(u32);
    impl Drop for Numbered {
        fn drop(&mut self) {
            DIED.lock().unwrap().push(self.0);
            // So that loom also explores the executions in which the next one arrives meanwhile.
            yield_now();
        }
    }
    DIED.lock().unwrap().clear();
    let target = this();
    let sender = spawn(move || (0..3).for_each(|n| target.release(Ref::new(Numbered(n)))));
    let drain = || {
        AutoreleasePool::new()
            .drain_within(Budget::Count(4))
            .released
    };
    let first = drain();
    sender.join().unwrap();
    assert_eq!(first + drain(), 3);
    assert_eq!(*DIED.lock().unwrap(), [0, 1, 2]);
    format!("{first} first")
}

fn inbox_then_pool() -> String {
    let target = this();
    let sender = spawn(move || target.release(Ref::new(Probe::new())));
    PoolManager::global().run_inbox();
    let ran = take_deaths().len();
    sender.join().unwrap();
    drop(AutoreleasePool::new());
    assert_eq!(ran + take_deaths().len(), 1, "a release that arrived waits");
    ["by the pool", "by the inbox"][ran].to_owned()
}

fn released_before_post() -> String {
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
    let manager = PoolManager::global();
    // So that loom also explores the executions in which the sender goes first.
    yield_now();
    let first = manager.run_inbox();
    assert_eq!(RAN.load(Ordering::Relaxed) as usize, first);
    sender.join().unwrap();
    assert_eq!(manager.run_inbox(), 1 - first);
    assert_eq!(RAN.load(Ordering::Relaxed), 1);
    ["in the second", "in the first"][first].to_owned()
}

fn posts_during_post() -> String {
    static RAN: AtomicU32 = AtomicU32::new(0);
    RAN.store(0, Ordering::Relaxed);
    let ran = || RAN.load(Ordering::Relaxed);
    let note = || _ = RAN.fetch_add(1, Ordering::Relaxed);
    let manager = PoolManager::global();
    let this = this();
    this.post(move || {
        // So that loom explores the executions in which both post meanwhile, without a preemption.
        yield_now();
        let before = ran();
        assert_eq!(manager.run_inbox() as u32, ran() - before);
    })
    .unwrap();
    let posters = [(); 2].map(|()| {
        let this = this.clone();
        loom::thread::spawn(move || this.post(note).unwrap())
    });
    // Closures that arrive after the first one has begun wait for the next call.
    assert_eq!(manager.run_inbox(), 1);
    let inside = ran();
    join(posters);
    assert_eq!(manager.run_inbox() as u32, 2 - inside);
    // A count that has lost one of two says that this does not wait.
    this.post(note).unwrap();
    let waiting = || manager.snapshot().thread(this.key()).unwrap().inbox;
    assert_eq!(waiting(), 1);
    assert_eq!(manager.run_inbox(), 1);
    assert_eq!((waiting(), ran()), (0, 3));
    format!("{inside} inside")
}

fn orphans_two_senders() -> String {
    let gone = spawn(this).join().unwrap();
    let senders = release_two(&gone);
    yield_now();
    let here = AutoreleasePool::new()
        .drain_within(Budget::Count(1))
        .released;
    join(senders);
    assert_eq!(take_deaths().len(), here);
    assert!(PoolManager::global().quiesce(Duration::ZERO));
    assert_eq!(take_deaths().len(), 2 - here);
    format!("{here} here")
}
