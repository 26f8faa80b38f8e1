//! Scans within a budget: they stop, and later drains go on with them.

#![cfg(not(miri))] // Miri starts no processes.

use super::handles::hot;
use crate::support::{Log, Probe, alone, counts, fresh_to_the_end, with_log};
use releasepool::{AutoreleasePool, Budget, Hot, HotRef};
use std::sync::Barrier;
use std::time::Duration;

/// How many threads have used an object and ended, and how many accounts a drain reads at least.
const THREADS: usize = 100;
const STEP: usize = 16;

/// How many drains a scan takes: it reads the accounts of these threads, and one more, twice.
const DRAINS: usize = (2 * (THREADS + 1)).div_ceil(STEP);

/// Clones and drops references to `hot` on many threads, each of which has accounts of its own.
fn use_by_many(hot: &Hot<Probe>) {
    let all_have_one = Barrier::new(THREADS);
    let use_it = || {
        drop(hot.get());
        all_have_one.wait();
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(use_it)).collect();
        // Waits for their exits, too, which look at the object.
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Drains a pool within a budget that is spent at the end of the first step.
fn drain_a_step() -> (usize, usize) {
    counts(AutoreleasePool::new().drain_within(Budget::Time(Duration::ZERO)))
}

/// Drains step by step until an object has died; returns the number of drains.
fn drains_until_death(log: &Log) -> usize {
    (1..=4 * DRAINS)
        .find(|_| {
            let drained = drain_a_step();
            assert_eq!(drained, (log.count(), usize::from(log.count() == 0)));
            log.count() == 1
        })
        .expect("it is dead")
}

#[test]
fn a_scan_stops_within_the_budget_and_later_drains_go_on() {
    alone!(with_log(|log| {
        let owner = hot(log.probe(1));
        use_by_many(&owner);
        drop(owner.get());
        drop(owner);
        assert_eq!(drains_until_death(&log), DRAINS);
    }));
}

#[test]
fn a_scan_reads_no_accounts_of_threads_that_have_not_used_the_object() {
    alone!(|| {
        let (log, other) = (Log::new(), Log::new());
        let (owner, owner_of_other) = (hot(log.probe(1)), hot(other.probe(2)));
        use_by_many(&owner_of_other);
        drop(owner.get());
        drop(owner);
        assert_eq!(drains_until_death(&log), 1, "one account, in one step");
    });
}

#[test]
fn what_is_dropped_during_a_scan_leads_to_another_one() {
    alone!(with_log(|log| {
        let owner = hot(log.probe(1));
        use_by_many(&owner);
        let last = owner.get();
        drop(owner);
        for _ in 0..3 * DRAINS {
            drop(last.clone());
            let (released, _) = drain_a_step();
            assert_eq!((released, log.count()), (0, 0), "there is a reference");
        }
        // In the middle of a scan, which does not know of it.
        drop(last);
        let drains = drains_until_death(&log);
        assert!((DRAINS..=2 * DRAINS).contains(&drains), "{drains}");
    }));
}

#[test]
fn an_object_that_is_in_use_does_not_hold_up_another_one() {
    alone!(|| {
        let (in_use, log) = (Log::new(), Log::new());
        let first = hot(in_use.probe(1));
        use_by_many(&first);
        let reference = first.get();
        drop(first);
        let second = hot(log.probe(2));
        use_by_many(&second);
        drop(second);
        drop(reference.clone());
        let dead = (0..4 * DRAINS).any(|_| {
            drain_a_step();
            // Noted again, at once.
            drop(reference.clone());
            log.count() == 1
        });
        assert!(dead && in_use.count() == 0);
        drop(reference);
    });
}

#[test]
fn other_drains_and_the_exit_finish_what_a_budget_has_stopped() {
    let begin = |log: &Log| {
        let owner = hot(log.probe(1));
        use_by_many(&owner);
        drop(owner);
        assert_eq!((drain_a_step(), log.count()), ((0, 1), 0));
    };
    alone!(with_log(|log| {
        begin(&log);
        drop(AutoreleasePool::new());
        assert_eq!(log.count(), 1, "an ordinary drain");
        let log = Log::new();
        begin(&log);
        let drained = AutoreleasePool::new().drain_within(Budget::Count(1));
        assert_eq!((counts(drained), log.count()), ((1, 0), 1));
        let log = Log::new();
        let inner = log.clone();
        let exit = fresh_to_the_end(move || {
            begin(&inner);
            std::thread::current().id()
        });
        assert_eq!(log.threads(), [exit]);
        let log = Log::new();
        begin(&log);
        let reviewed = std::thread::spawn(Hot::review).join().unwrap();
        assert_eq!((reviewed, log.count()), (1, 1), "another scan");
        assert_eq!(drain_a_step().1, 1);
        assert_eq!(drains_left(), 0, "the first scan finds nothing");
    }));
}

/// Drains step by step until nothing remains; returns how many objects were released.
fn drains_left() -> usize {
    let drains = std::iter::repeat_with(drain_a_step);
    let drains: Vec<_> = drains.take(2 * DRAINS).collect();
    assert_eq!(drains.last().unwrap().1, 0);
    drains.iter().map(|(released, _)| released).sum()
}

#[test]
fn a_row_that_is_used_again_is_scanned_anew() {
    alone!(|| {
        let (log, again) = (Log::new(), Log::new());
        let owner = hot(log.probe(1));
        use_by_many(&owner);
        drop(owner);
        drain_a_step();
        assert_eq!(Hot::review(), 1);
        let owner = hot(again.probe(2));
        let reference: HotRef<Probe> = owner.get();
        drop(owner);
        // There is a reference.
        assert_eq!((drains_left(), again.count()), (0, 0));
        drop(reference);
        drop(AutoreleasePool::new());
        assert_eq!((log.count(), again.count()), (1, 1));
    });
}
