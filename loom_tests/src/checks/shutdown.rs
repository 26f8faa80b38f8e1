//! `shutdown`: a thread that has waited for others sees what they did.

use super::steps::*;
use releasepool::{AutoreleasePool, Budget, autorelease};
use std::sync::Arc;

pub fn models() -> Vec<Model> {
    [
        model!(
            shutdown_waits,
            "shutdown while another thread has a pool open: it sees what closing it did",
            &["closed in time", "still open"],
        )
        // The other thread goes through its whole exit. Unbounded: more than 95,000 executions.
        .bounded(4),
        model!(
            shutdown_root,
            "shutdown while another thread drains its root pool: it sees what that did",
            &["drained in time", "still full"],
        )
        // The other thread goes through its whole exit. Unbounded: more than 130,000 executions.
        .bounded(4),
        model!(
            shutdown_asks,
            "shutdown asks another thread to drain its root pool, and sees that it did",
            &["drained in time", "drained later", "asked too late"],
        )
        // One preemption lets the other thread drain after `shutdown` has asked it and before
        // `shutdown` looks at it; a second one interrupts that drain halfway. Unbounded: 758,672
        // executions. With 3: 17,953 in the plain mode.
        .bounded(3)
        .plain_bounded(2),
        model!(
            shutdown_backlog,
            "shutdown asks a thread without pools to drain its backlog: it sees what that did",
            &["done in time", "done later", "asked too late"],
        )
        // Unbounded: 2,113,769 executions.
        .bounded(3),
        model!(
            shutdown_inbox,
            "shutdown while another thread runs what was sent to it: it sees what that did",
            &["run in time", "still waiting"],
        ),
    ]
    .into()
}

/// Shuts down on another thread while this one calls `release`; returns whether all is released.
pub fn shut_down_during(seen: Arc<Seen>, release: impl FnOnce()) -> bool {
    let waiter = spawn(move || shut_down(&[seen]));
    release();
    let done = waiter.join();
    take_deaths();
    done
}

fn shutdown_waits() -> bool {
    let (seen, object) = watched();
    let pool = AutoreleasePool::new();
    pool.autorelease(object);
    shut_down_during(seen, || drop(pool))
}

fn shutdown_inbox() -> bool {
    let (seen, object) = watched();
    // Enters this thread in the manager's DashMap before the race: loom sees no lock of that map.
    drain();
    this().release(object);
    // Uses no pool, as the end of a pool would order the two threads as well.
    shut_down_during(seen, || _ = manager().run_inbox())
}

fn shutdown_root() -> bool {
    let (seen, object) = watched();
    autorelease(object);
    shut_down_during(seen, || assert_eq!(manager().drain_root(), 1))
}

/// Shuts down on another thread, twice if need be, while this one calls `answer`; then `rest`
/// releases what is left, and returns how much.
fn asked(seen: Arc<Seen>, answer: fn(), rest: fn() -> usize) -> usize {
    // The first shutdown, at least, asks the thread that calls `answer`.
    let seen = [seen];
    let waiter = spawn(move || shut_down(&seen) || shut_down(&seen));
    answer();
    let done = waiter.join();
    let left = rest();
    assert_eq!(take_deaths().len(), 1);
    assert!(left == 0 || left == 1 && !done, "{left} left, done: {done}");
    usize::from(!done) + left
}

fn shutdown_backlog() -> usize {
    let (seen, object) = watched();
    let mut pool = AutoreleasePool::new();
    pool.autorelease(object);
    pool.drain_within(Budget::Count(0));
    drop(pool);
    let answer = || _ = manager().drain_root();
    asked(seen, answer, || {
        manager().drain_backlog(Budget::All).released
    })
}

fn shutdown_asks() -> usize {
    let (seen, object) = watched();
    autorelease(object);
    asked(seen, drain, || manager().drain_root())
}
