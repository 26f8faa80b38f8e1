//! `shutdown` during the end of a thread, the start of one, and another `shutdown`; and while threads
//! send work back to the thread that shuts down.
//!
//! The thread that ends is the main thread.

use super::steps::*;
use releasepool::report::ShutdownReport;
use releasepool::{
    AutoreleasePool, Budget, PoolManager, Ref, ThreadHandle, autorelease, finish, model,
};
use std::sync::{Arc, mpsc};
use std::time::Duration;

pub fn models() -> Vec<Model> {
    [
        // `else_bounded` below bounds it. Otherwise: 305,268 executions in the plain mode alone.
        Model::new(
            "shutdown_exit_pools",
            "a thread with a token pool and root entries ends: shutdown waits until both are released",
            &["1 pool", "1 pool, 1 root", "1 root", "done"],
            || against_exit(fill_pools),
        ),
        // Without a bound: 311,237 executions in the plain mode alone.
        Model::new(
            "shutdown_exit_backlog",
            "a thread with a backlog and claimed releases ends: shutdown waits for both",
            &["1 backlog", "1 backlog, 1 inbox", "1 inbox", "done"],
            || against_exit(fill_backlog),
        ),
        // Without a bound: 124,106 executions in the plain mode alone.
        Model::new(
            "shutdown_exit_inbox",
            "a thread with a release and a closure in its inboxes ends; the closure becomes an orphan",
            &[
                "1 inbox",
                "1 inbox, 1 orphans",
                "1 orphans",
                "2 inbox",
                "2 inbox, 1 orphans",
                "done",
            ],
            || against_exit(fill_inbox),
        ),
        // Without a bound: too many executions, as for the model before.
        Model::new(
            "shutdown_exit_unpooled",
            "a thread without pools, with a release and a closure in its inboxes, ends: both become orphans",
            &[
                "1 inbox",
                "1 inbox, 1 orphans",
                "1 inbox, 2 orphans",
                "1 orphans",
                "2 inbox",
                "2 inbox, 1 orphans",
                "2 inbox, 2 orphans",
                "2 orphans",
                "done",
            ],
            || against_exit(fill_unpooled),
        ),
        Model::new(
            "shutdown_exit_feeds",
            "a thread ends with releases that feed its root pool: one left by a budgeted drain, one sent",
            &[
                "1 backlog, 1 inbox",
                "1 inbox",
                "1 root",
                "1 root, 1 backlog, 1 inbox",
                "1 root, 1 inbox",
                "done",
            ],
            || against_exit(fill_feeding),
        )
        // Without a bound: too many executions, as for the model before. With 2: 12,539 in the plain mode, where one
        // preemption reaches the same outcomes.
        .bounded(2)
        .plain_bounded(1),
        model!(
            shutdown_exit_sent,
            "a thread ends, and gets a release that feeds its root pool just before its inbox is closed",
            &["1 inbox", "1 root", "1 root, 1 inbox", "done"],
        )
        .bounded(3),
        Model::new(
            "shutdown_sent_back",
            "a destructor on another thread sends a release to the thread that shuts down",
            &["1 inbox", "1 inbox, 1 inbox", "done"],
            || sent_back(|to, object| {
                this().release(Ref::new(OnDrop::new(move || to.release(object))));
                || _ = manager().run_inbox()
            }),
        )
        // One preemption runs the destructor between the looks at two inboxes, one stops it before
        // its send, and one goes on with it. With 4: 20,740 executions in the rmw mode.
        .bounded(3),
        Model::new(
            "shutdown_posted_back",
            "a closure on another thread posts one to the thread that shuts down",
            &["1 inbox", "1 inbox, 1 inbox"],
            || sent_back(|to, object| {
                this().post(move || to.post(|| drop(object)).unwrap()).unwrap();
                || _ = manager().run_inbox()
            }),
        )
        .bounded(2),
        Model::new(
            "shutdown_closed_back",
            "another thread closes a pool, in which a destructor sends a release to the thread that shuts down",
            &["1 pool", "1 inbox, 1 pool", "1 inbox", "done"],
            || sent_back(|to, object| {
                let pool = AutoreleasePool::new();
                pool.autorelease(Ref::new(OnDrop::new(move || to.release(object))));
                || drop(pool)
            }),
        )
        .bounded(2),
        model!(
            shutdown_exit_open,
            "a thread whose pool stays open ends, while shutdown waits for that pool: it is woken once the thread is off the list",
            &["before the exit", "after the exit"],
        )
        // One preemption lets the exit begin before shutdown asks, one runs shutdown between two steps of the exit.
        .plain(&["before the exit"])
        .bounded(2),
        model!(
            shutdown_entered,
            "shutdown inside a destructor, while a new thread runs an orphan that fills its root pool",
            &["an orphan is left", "it has run"],
        )
        .bounded(2),
        model!(
            finish_feeds,
            "finish releases an object whose destructor autoreleases one of a manager that was released before",
            OVERLAP,
        )
        .bounded(1),
        model!(
            finish_last_handle,
            "the last handle to a manager is dropped while another thread is in `finish`: its pools are abandoned",
            OVERLAP,
        )
        .bounded(1),
        Model::new(
            "shutdown_twice",
            "two threads shut down at once, each with an entry in its root pool",
            // Each thread drains before it looks, so the later one finds nothing left.
            &["both", "one"],
            shutdown_twice,
        )
        // One preemption runs one shutdown between the other's drain and look, a second runs only a
        // part. With 3: 87,947 executions in the rmw mode; with 2: 28,135 in the plain mode.
        .bounded(2)
        .plain_bounded(1),
        model!(
            shutdown_asked_twice,
            "two threads shut down at once and ask a third one, which drains",
            &["one", "none"],
        )
        .bounded(1)
        .plain(&["none"])
        .plain_bounded(0),
    ]
    .map(|model| model.else_bounded(3))
    .into()
}

/// Returns an object whose destructor sets `seen`.
fn object(seen: &Arc<Seen>) -> Object {
    Ref::new((Probe::new(), Watched(seen.clone())))
}

fn fill_pools([one, two]: [Object; 2]) {
    autorelease(one);
    let _never_popped = manager().push();
    autorelease(two);
}

fn fill_backlog([one, two]: [Object; 2]) {
    this().release(one);
    let mut pool = AutoreleasePool::new();
    pool.autorelease(two);
    let drained = pool.drain_within(Budget::Count(0));
    assert_eq!(drained.remaining, 2);
}

fn fill_inbox(objects: [Object; 2]) {
    drain();
    fill_unpooled(objects);
}

/// Returns an object that autoreleases another one when it is destroyed.
fn feeds(object: Object) -> Ref<OnDrop> {
    Ref::new(OnDrop::new(|| autorelease(object)))
}

fn fill_feeding([one, two]: [Object; 2]) {
    let mut pool = AutoreleasePool::new();
    pool.autorelease(feeds(one));
    pool.drain_within(Budget::Count(0));
    drop(pool);
    this().release(feeds(two));
}

/// Sends both objects to the calling thread, and makes no pools for that: the thread is in the
/// registry, as it has created the objects.
fn fill_unpooled([one, two]: [Object; 2]) {
    let this = only_thread();
    this.release(one);
    this.post(move || drop(two)).unwrap();
}

/// Returns the handle of the calling thread, the only one in the registry; makes no pools.
fn only_thread() -> ThreadHandle {
    let [this] = manager().threads().try_into().unwrap();
    this
}

/// Runs `shutdown` during the exit of a thread that `fill` gave two objects: each is destroyed
/// once, and before `shutdown` returns that everything is released.
fn against_exit(fill: fn([Object; 2])) -> String {
    let seen = [Seen::new(), Seen::new()];
    fill(seen.each_ref().map(object));
    let leaver = only_thread().key();
    let waiter = spawn(move || {
        let report = shut_down_or_report(&seen);
        let holders = report.iter().flat_map(|report| &report.holders);
        assert!(holders.into_iter().all(|thread| thread.key == leaver));
        what_is_held(report)
    });
    model::thread_exit();
    let outcome = waiter.join();
    assert!(shut_down(&[]));
    assert_eq!(take_deaths().len(), 2);
    outcome
}

fn shutdown_exit_sent() -> String {
    let seen = Seen::new();
    let (leaver, sent) = (this(), feeds(object(&seen)));
    let waiter = spawn(move || {
        leaver.release(sent);
        what_is_held(shut_down_or_report(&[seen]))
    });
    model::thread_exit();
    let outcome = waiter.join();
    assert!(shut_down(&[]));
    assert_eq!(take_deaths().len(), 1);
    outcome
}

/// Shuts down while another thread runs what `fill` has returned, which sends the object to the
/// calling thread. The calling thread looks at its own inbox first, and then at the other thread,
/// which may hold nothing any more.
fn sent_back<F: FnOnce() + 'static>(fill: fn(ThreadHandle, Object) -> F) -> String {
    let to = this();
    let seen = [Seen::new()];
    let sent = object(&seen[0]);
    let (go, wait) = loom::sync::mpsc::channel();
    let other = spawn(move || {
        let send = fill(to, sent);
        go.send(()).unwrap();
        send();
    });
    wait.recv().unwrap();
    let outcome = what_is_held(shut_down_or_report(&seen));
    other.join();
    manager().run_inbox();
    assert!(shut_down(&[]));
    assert_eq!(take_deaths().len(), 1);
    outcome
}

fn shutdown_exit_open() -> bool {
    let leaver = this();
    let open = AutoreleasePool::new();
    let waiter = spawn(move || {
        let is_alive = leaver.is_alive();
        let done = manager().shutdown(Duration::from_secs(3_600)).is_ok();
        assert!(done, "it gave up");
        is_alive
    });
    let_others_go_first();
    model::thread_exit();
    let was_alive = waiter.join();
    drop(open);
    was_alive
}

/// Inside a destructor, `shutdown` leaves the orphan to other threads: here to a new thread, whose
/// registry slot `shutdown` may have read while the thread `before` had it.
fn shutdown_entered() -> bool {
    let (seen, object) = watched();
    gone().release(Ref::new(OnDrop::new(|| autorelease(object))));
    let (entered, done) = (Door::new(), Door::new());
    let before = spawn_with(&entered, |entered| {
        this();
        entered.open();
    });
    let other = spawn_with(&done, |done| {
        before.join();
        manager().run_inbox();
        done.wait();
        manager().drain_root();
    });
    entered.wait();
    let (tell, told) = mpsc::channel();
    drop(Ref::new(OnDrop::new(move || {
        let report = shut_down_or_report(&[seen]).expect("the object is kept for now");
        tell.send(report.orphans == 1).unwrap();
    })));
    done.open();
    other.join();
    assert!(shut_down(&[]));
    assert_eq!(take_deaths().len(), 1);
    told.recv().unwrap()
}

fn finish_feeds() -> bool {
    let (fed, [first, last]) = (PoolManager::new(), [Seen::new(), Seen::new()]);
    let feeds = Ref::new(OnDrop::new({
        let (fed, first, last) = (fed.clone(), Watched(first.clone()), object(&last));
        move || {
            fed.autorelease(last);
            drop(first);
        }
    }));
    let to = this();
    let there = move || to.release(feeds);
    let ((), (), at_once) = overlap(there, || {
        let is_done = finish(Duration::ZERO).is_ok();
        assert!(!is_done || !first.get() || last.get(), "done too early");
    });
    assert!((0..3).any(|_| finish(Duration::ZERO).is_ok()));
    assert_eq!(take_deaths(), [me()]);
    at_once
}

fn finish_last_handle() -> bool {
    let manager = PoolManager::new();
    manager.autorelease(Ref::new(Probe::new()));
    let there = || _ = finish(Duration::ZERO);
    let ((), (), at_once) = overlap(there, || drop(manager));
    // A thread's first use of a manager frees its pools of abandoned managers.
    drop(PoolManager::new().pool());
    assert_eq!(
        take_deaths(),
        [me()],
        "a handle is lost, or counts for ever"
    );
    at_once
}

/// Shuts down; returns the report if something is left; if not, asserts that all `seen` are set.
fn shut_down_or_report(seen: &[Arc<Seen>]) -> Option<ShutdownReport> {
    let report = manager().shutdown(Duration::ZERO).err();
    if report.is_none() {
        assert!(seen.iter().all(|seen| seen.get()), "done too early");
    }
    report
}

/// Returns what the report names; asserts that it names something, and no more than there was.
fn what_is_held(report: Option<ShutdownReport>) -> String {
    let Some(report) = report else {
        return "done".to_owned();
    };
    let mut held = Vec::new();
    for thread in &report.holders {
        let figures = [
            (thread.open_pools, "pool"),
            (thread.root_entries, "root"),
            (thread.backlog, "backlog"),
            (thread.inbox, "inbox"),
        ];
        for (n, what) in figures {
            assert!(n <= 2, "{n} in the {what}");
            if n > 0 {
                held.push(format!("{n} {what}"));
            }
        }
    }
    if report.orphans > 0 {
        held.push(format!("{} orphans", report.orphans));
    }
    assert!(
        !held.is_empty(),
        "shutdown failed, but its report names nothing"
    );
    held.join(", ")
}

fn both_or_none(one: bool, two: bool) -> &'static str {
    ["none", "one", "both"][usize::from(one) + usize::from(two)]
}

fn shutdown_twice() -> &'static str {
    let seen = [Seen::new(), Seen::new()];
    autorelease(object(&seen[0]));
    let (go, wait) = loom::sync::mpsc::channel();
    let other = spawn_with(&seen, move |seen| {
        autorelease(object(&seen[1]));
        go.send(()).unwrap();
        shut_down(&seen)
    });
    wait.recv().unwrap();
    let one = shut_down(&seen);
    let two = other.join();
    assert_eq!(take_deaths().len(), 2);
    both_or_none(one, two)
}

fn shutdown_asked_twice() -> &'static str {
    let seen = [Seen::new()];
    autorelease(object(&seen[0]));
    let waiters = [(); 2].map(|()| spawn_with(&seen, |seen| shut_down(&seen)));
    drain();
    let [one, two] = waiters.map(Thread::join);
    // Both threads have asked by now: this drain answers a request that is still open.
    drain();
    assert_eq!(manager().drain_root(), 0, "a request was not answered");
    assert_eq!(take_deaths(), [me()]);
    both_or_none(one, two)
}
