//! Budgets, backlogs, loops, and scans within a budget, which later drains go on with. `shutdown` and
//! `quiesce` succeed only if no hot object is dead and not released.

use super::handles::hot;
use crate::frame::{id_of, looper, quick};
use crate::support::{
    LONG, Log, Probe, Worker, alone, counts, fresh_to_the_end, global, me, on_drop, wait_until,
};
use releasepool::{AutoreleasePool, Budget, Hot, HotRef, Ref, autorelease};
use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

#[test]
fn a_budget_limits_how_many_die_and_the_rest_waits() {
    let log = alone!();
    (0..5).for_each(|id| drop(hot(log.probe(id))));
    let alive = hot(log.probe(9));
    drop(alive.get());
    let mut pool = AutoreleasePool::new();
    assert_eq!(counts(pool.drain_within(Budget::Count(0))), (0, 5));
    assert_eq!(log.count(), 0);
    assert_eq!(counts(pool.drain_within(Budget::Count(3))), (3, 2));
    drop(pool);
    assert_eq!(log.count(), 3, "closing it releases only its own entries");
    assert_eq!(counts(global().drain_backlog(Budget::All)), (2, 0));
    assert_eq!(log.count(), 5);
}

#[test]
fn one_that_another_thread_has_released_does_not_end_the_search_for_others() {
    let log = alone!();
    let (one, two) = (hot(log.probe(1)), hot(log.probe(2)));
    let last = two.get();
    drop((one, two));
    AutoreleasePool::new().drain_within(Budget::Count(0));
    assert_eq!(thread::spawn(Hot::review).join().unwrap(), 1);
    drop(last);
    drop(AutoreleasePool::new());
    assert_eq!(log.ids(), [1, 2]);
}

#[test]
fn an_object_in_use_is_not_left_though_another_thread_lets_it_go_during_the_drain() {
    let log = alone!();
    let owner = hot(log.probe(1));
    let (last_here, elsewhere) = (owner.get(), owner.get());
    drop(hot(on_drop(move || drop(last_here))));
    // The search for this one finds that the object has an owner.
    drop(hot(on_drop(move || {
        thread::spawn(move || drop(owner)).join().unwrap();
    })));
    let drained = AutoreleasePool::new().drain_within(Budget::Count(2));
    assert_eq!((counts(drained), log.count()), ((2, 0), 0));
    drop(elsewhere);
    drop(AutoreleasePool::new());
    assert_eq!(log.ids(), [1]);
}

#[test]
fn they_take_turns_with_entries() {
    let log = alone!();
    (100..200).for_each(|id| drop(hot(log.probe(id))));
    let mut pool = AutoreleasePool::new();
    for id in 0..100 {
        pool.create(log.probe(id));
    }
    assert_eq!(counts(pool.drain_within(Budget::Count(100))), (100, 100));
    let died = log.ids().iter().filter(|id| **id >= 100).count();
    assert!((20..80).contains(&died), "{died}");
    drop(pool);
    drop(AutoreleasePool::new());
    global().drain_backlog(Budget::All);
    assert_eq!(log.count(), 200);
}

#[test]
fn a_time_budget_limits_the_search_for_dead_ones() {
    let log = alone!();
    let _alive: Vec<_> = (0..100).map(|id| hot(log.probe(id)).get()).collect();
    let drained = AutoreleasePool::new().drain_within(Budget::Time(Duration::ZERO));
    assert!(drained.remaining > 0, "{drained}");
    drop(global().pool());
    assert_eq!(global().drain_backlog(Budget::Count(0)).remaining, 0);
}

#[test]
fn what_a_thread_leaves_in_its_budget_dies_in_its_exit() {
    let log = alone!();
    let exit = fresh_to_the_end(move || {
        (0..5).for_each(|id| drop(hot(log.probe(id))));
        AutoreleasePool::new().drain_within(Budget::Count(2));
        assert_eq!(log.count(), 2);
        thread::current().id()
    });
    assert_eq!(log.threads(), [exit; 5]);
}

#[test]
fn a_drain_releases_what_dies_with_an_entry_that_a_message_has_added() {
    let log = alone!();
    let last = hot(log.probe(0)).get();
    me().release(Ref::new(on_drop(|| autorelease(Ref::new(last)))));
    drop(AutoreleasePool::new());
    assert_eq!(log.count(), 1);
}

#[test]
fn a_frame_releases_them_at_its_end() {
    let log = alone!();
    let drained = quick().tick(|_| {
        (0..100).for_each(|id| drop(hot(log.probe(id))));
        drop(AutoreleasePool::new());
        // Inside a frame, sixteen at a time.
        assert!((1..=16).contains(&log.count()), "{}", log.count());
    });
    let drained = drained.drained;
    assert_eq!(log.count(), 100);
    assert!((84..100).contains(&drained.released), "{drained}");
}

#[test]
fn a_looper_does_not_sleep_before_it_has_released_them_all_whatever_a_budget_left() {
    let log = alone!();
    let looper = looper();
    let slow = move || {
        for id in 0..50 {
            let probe = log.probe(id);
            drop(hot(on_drop(move || {
                thread::sleep(Duration::from_millis(1));
                drop(probe);
            })));
        }
    };
    looper.post(slow).unwrap();
    wait_until(|| log.count() == 50);
    assert_eq!(log.threads(), [id_of(looper.thread()); 50]);
}

/// Returns the last handle to a hot object.
fn last_handle(log: &Log) -> HotRef<Probe> {
    hot(log.probe(0)).get()
}

/// Runs `f` in the destructor of an object.
fn in_a_destructor<R: 'static>(f: impl FnOnce() -> R + 'static) -> R {
    let (tell, told) = channel();
    drop(Ref::new(on_drop(move || tell.send(f()).unwrap())));
    told.recv().unwrap()
}

#[test]
fn shutdown_releases_what_dies_as_it_empties_the_backlog_or_the_root_pool() {
    let holders: [fn(HotRef<Probe>); 3] = [
        |last| {
            let mut pool = AutoreleasePool::new();
            pool.create(last);
            pool.drain_within(Budget::Count(0));
        },
        |last| autorelease(Ref::new(last)),
        // It dies with another one.
        |last| autorelease(Ref::new(hot(last).get())),
    ];
    alone!();
    for (case, hold) in holders.into_iter().enumerate() {
        let log = Log::new();
        hold(last_handle(&log));
        assert_eq!(log.count(), 0);
        global().shutdown(LONG).unwrap();
        let snapshot = global().snapshot();
        assert_eq!((log.count(), snapshot.live_objects()), (1, 0), "{case}");
    }
}

#[test]
fn inside_a_destructor_neither_succeeds_while_a_dead_object_waits() {
    const SHORT: Duration = Duration::from_millis(1);
    let log = alone!();
    // It has the first place in the table.
    let alive = hot(0);
    let last = last_handle(&log);
    let (quiet, left) = in_a_destructor(move || {
        drop(last);
        let left = global().shutdown(SHORT).unwrap_err().hot;
        assert_eq!(log.count(), 0);
        (global().quiesce(SHORT), left)
    });
    assert_eq!((quiet, left), (false, 1));
    drop(alive);
    global().shutdown(LONG).unwrap();
    assert_eq!(log.count(), 1);
}

#[test]
fn a_hot_object_does_not_wait_for_itself_in_its_own_destructor() {
    alone!();
    let (tell, told) = channel();
    let in_its_own = on_drop(move || tell.send(global().quiesce(LONG)).unwrap());
    drop(Hot::new(Ref::new(in_its_own)));
    global().shutdown(LONG).unwrap();
    assert!(told.recv().unwrap());
}

#[test]
fn shutdown_releases_what_died_on_a_thread_that_is_idle() {
    let log = alone!();
    let worker = Worker::new("idle");
    let last = last_handle(&log);
    worker.run(move || drop(last));
    assert_eq!(log.count(), 0);
    global().shutdown(LONG).unwrap();
    assert_eq!(log.threads(), [thread::current().id()]);
}

/// How many threads have used an object and ended, so many that their accounts are in several buckets; and
/// how many accounts a drain reads at least.
const THREADS: usize = 250;
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
    thread::scope(|scope| {
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
    let log = alone!();
    let owner = hot(log.probe(1));
    use_by_many(&owner);
    drop(owner.get());
    drop(owner);
    assert_eq!(drains_until_death(&log), DRAINS);
}

#[test]
fn a_scan_reads_no_accounts_of_threads_that_have_not_used_the_object() {
    alone!();
    let (log, other) = (Log::new(), Log::new());
    let (owner, owner_of_other) = (hot(log.probe(1)), hot(other.probe(2)));
    use_by_many(&owner_of_other);
    drop(owner.get());
    drop(owner);
    assert_eq!(drains_until_death(&log), 1, "one account, in one step");
}

#[test]
fn what_is_dropped_during_a_scan_leads_to_another_one() {
    let log = alone!();
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
}

#[test]
fn an_object_that_is_in_use_does_not_hold_up_another_one() {
    alone!();
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
}

#[test]
fn other_drains_and_the_exit_finish_what_a_budget_has_stopped() {
    let begin = |log: &Log| {
        let owner = hot(log.probe(1));
        use_by_many(&owner);
        drop(owner);
        assert_eq!((drain_a_step(), log.count()), ((0, 1), 0));
    };
    let log = alone!();
    begin(&log);
    drop(AutoreleasePool::new());
    assert_eq!(log.count(), 1, "an ordinary drain");
    let log = Log::new();
    begin(&log);
    let drained = AutoreleasePool::new().drain_within(Budget::Count(1));
    assert_eq!((counts(drained), log.count()), ((1, 0), 1));
    let log = Log::new();
    let exit = fresh_to_the_end(move || {
        begin(&log);
        thread::current().id()
    });
    assert_eq!(log.threads(), [exit]);
    let log = Log::new();
    begin(&log);
    let reviewed = thread::spawn(Hot::review).join().unwrap();
    assert_eq!((reviewed, log.count()), (1, 1), "another scan");
    assert_eq!(drain_a_step().1, 1);
    assert_eq!(drains_left(), 0, "the first scan finds nothing");
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
    alone!();
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
}
