//! Statistics that one thread reads while another changes them are consistent.

use super::steps::*;
use releasepool::report::Snapshot;
use releasepool::{AutoreleasePool, Budget, Ref, autorelease, model};

pub fn models() -> Vec<Model> {
    [
        model!(
            snapshot_pools,
            "a snapshot while a thread opens, drains and closes pools, and leaves a backlog",
            &[
                "1 open, 0 left",
                "1 open, 1 left",
                "2 open, 0 left",
                "2 open, 1 left",
                // The snapshot may count a pool that closed before another one opened.
                "3 open, 0 left",
                "3 open, 1 left",
            ],
        )
        .bounded(5),
        model!(
            snapshot_exit,
            "a snapshot while a thread ends that has created objects and destroyed some: each counts once",
            &["alive", "ended"],
        ),
        model!(
            snapshot_posts,
            "a snapshot of a thread that has run a post whose sender has not returned: another post counts",
            &["1 waits", "2 wait"],
        )
        .bounded(2),
    ]
    .into()
}

/// Takes a snapshot; asserts what holds for every row at any time.
fn checked() -> Snapshot {
    let snapshot = manager().snapshot();
    for thread in &snapshot.threads {
        let totals = &thread.totals;
        // The totals of a thread that has ended meanwhile are among those of ended threads.
        let has_ended = totals.pools_pushed == 0;
        let consistent = (has_ended || thread.open_pools as u64 <= totals.pools_pushed)
            && totals.released <= totals.autoreleased
            && totals.created < 100
            && totals.destroyed < 100
            && thread.backlog <= 2
            && thread.root_entries <= 2
            && thread.inbox == 0;
        assert!(consistent, "{thread:?}");
    }
    snapshot
}

fn snapshot_pools() -> String {
    let key = this().key();
    let outer = AutoreleasePool::new();
    let reader = spawn(move || {
        let snapshot = checked();
        let thread = snapshot.thread(key).unwrap();
        assert!(
            thread.open_pools >= 1,
            "the outer pool is open all the time"
        );
        assert!(snapshot.live_objects() <= 2, "{snapshot}");
        format!("{} open, {} left", thread.open_pools, thread.backlog)
    });
    let mut pool = AutoreleasePool::new();
    pool.create(Probe::new());
    pool.create(Probe::new());
    assert_eq!(pool.drain_within(Budget::Count(1)).remaining, 1);
    drop(pool);
    manager().drain_backlog(Budget::All);
    let outcome = reader.join();
    drop(outer);
    assert_eq!(take_deaths().len(), 2);
    outcome
}

fn snapshot_exit() -> bool {
    let key = this().key();
    let kept = [Ref::new(Probe::new()), Ref::new(Probe::new())];
    autorelease(Ref::new(Probe::new()));
    assert_eq!(manager().drain_root(), 1);
    let reader = spawn(move || {
        // The second snapshot may find that the thread has just left the manager's thread table.
        let [_, alive] = [(); 2].map(|()| {
            let snapshot = checked();
            // Nothing is created or destroyed meanwhile.
            assert_eq!(snapshot.live_objects(), 2, "{snapshot}");
            let totals = snapshot.threads.iter().map(|thread| thread.totals);
            let released: u64 = totals.chain([snapshot.departed]).map(|t| t.released).sum();
            assert_eq!(released, 1, "{snapshot}");
            snapshot.thread(key).is_some()
        });
        alive
    });
    model::thread_exit();
    let alive = reader.join();
    drop(kept);
    assert_eq!(take_deaths().len(), 3);
    alive
}

fn snapshot_posts() -> &'static str {
    let here = this();
    let sender = spawn_without_exit(move || here.post(note).unwrap());
    manager().run_inbox();
    this().post(note).unwrap();
    let waiting = manager().snapshot().thread(this().key()).unwrap().inbox;
    let has_run = take_ran_on().len();
    sender.join();
    manager().run_inbox();
    assert_eq!(has_run + take_ran_on().len(), 2);
    match waiting {
        1 => "1 waits",
        2 if has_run == 0 => "2 wait",
        _ => panic!("{waiting} of {} wait", 2 - has_run),
    }
}
