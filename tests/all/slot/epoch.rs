//! The epoch: which pools hold it, for how long, and what is reported.
//!
//! The process has one epoch, so most tests run in processes of their own.

#![cfg(not(miri))] // Miri starts no processes.

use crate::hot::handles::hot;
use crate::support::allocator::{FOREIGN, bytes};
use crate::support::{
    LONG, Log, Probe, Worker, alone, assert_says, events, events_of, fresh_to_the_end, global,
    listen, logged, me, on_drop, only, only_event, wait_until,
};
use releasepool::event::EventKind;
use releasepool::frame::FrameConfig;
use releasepool::slot::OptionSlot;
use releasepool::{AutoreleasePool, Budget, FrameLoop, PoolManager, Ref, Slot, autoreleasepool};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

fn live() -> u64 {
    global().snapshot().live_objects()
}

/// Number of frames, one second's worth, within which retired objects that no pin delays must be
/// released.
const FRAMES: usize = 60;

#[test]
fn pools_pinned_in_overlapping_turns_do_not_hold_the_epoch() {
    alone!(|| {
        let slot = Slot::new(Ref::new(0));
        let mut pools = [
            AutoreleasePool::named("even"),
            AutoreleasePool::named("odd"),
        ];
        let mut most = 0;
        for round in 0..2_000 {
            let [ours, other] = [round % 2, (round + 1) % 2];
            slot.load(&pools[ours]);
            slot.store(Ref::new(round));
            // One of the two is pinned at any time.
            pools[other].drain();
            most = most.max(live());
        }
        assert!(most < 200, "{most} objects at once");
    });
}

#[test]
fn a_pool_keeps_what_it_has_loaded_while_newer_pools_load_and_end() {
    alone!(|| {
        let slot = Slot::new(Ref::new(0));
        let (oldest, newer) = (AutoreleasePool::new(), AutoreleasePool::new());
        let collect = || thread::spawn(|| global().quiesce(Duration::from_millis(20)));
        let loaded = slot.load(&oldest);
        slot.store(Ref::new(1));
        collect().join().unwrap();
        slot.load(&newer);
        slot.load(&AutoreleasePool::new());
        collect().join().unwrap();
        assert_eq!((*loaded, live()), (0, 2));
    });
}

#[test]
fn stores_under_one_pin_are_released_within_a_second_of_frames() {
    const STORES: usize = 100_000;
    alone!(|| {
        let slot = Slot::new(Ref::new(0));
        let mut pool = AutoreleasePool::new();
        slot.load(&pool);
        for n in 0..STORES {
            slot.store(Ref::new(n));
        }
        assert_eq!(live(), STORES as u64 + 1);
        let drains = (1..).find(|_| {
            pool.drain();
            live() == 1
        });
        assert!(drains < Some(FRAMES), "{drains:?} drains");
        // Now by the frames of a loop, each of which has little time for its drain.
        slot.load(&pool);
        for n in 0..STORES {
            slot.store(Ref::new(n));
        }
        drop(pool);
        let config = FrameConfig::new().min_drain(Duration::from_millis(16));
        let mut frames = FrameLoop::new(config);
        let ticks = (1..).find(|_| {
            frames.tick(|_| ());
            live() == 1
        });
        assert!(ticks < Some(FRAMES), "{ticks:?} frames");
    });
}

#[test]
fn as_many_retired_objects_as_fill_pages_are_released() {
    alone!(|| {
        let slot = Slot::new(Ref::new(0));
        // Around a full page of 254 entries: of all that were stored; and of those that are left after the two
        // collections, of 64 each, for which there is room while the pool is pinned.
        for stores in (1..20).chain(240..270).chain(370..400) {
            let pool = AutoreleasePool::new();
            slot.load(&pool);
            (0..stores).for_each(|n| slot.store(Ref::new(n)));
            drop(pool);
            assert!(global().quiesce(LONG));
            assert_eq!(live(), 1, "after {stores} stores");
        }
    });
}

#[test]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn retired_objects_take_little_memory_while_a_pin_lasts() {
    const STORES: usize = 100_000;
    alone!(|| {
        let slot = Slot::new(Ref::new(0));
        let pool = AutoreleasePool::new();
        slot.load(&pool);
        slot.store(Ref::new(0));
        let before = bytes();
        for n in 0..STORES {
            slot.store(Ref::new(n));
        }
        let each = (bytes() - before) / STORES as isize;
        // The object's header and payload, and the message that releases it.
        assert!(each <= 24 + 48, "{each} bytes");
    });
}

fn drop_pool() {
    drop(AutoreleasePool::new());
}

/// Closes empty pools until what slots have retired is released; returns how many.
fn empty_pools(close: fn()) -> Option<usize> {
    (1..1_000).find(|_| {
        close();
        live() == 1
    })
}

#[test]
fn one_of_32_empty_pools_advances_the_epoch() {
    alone!(|| {
        let slot = Arc::new(Slot::new(Ref::new(0)));
        // A pool that is closed while it is another thread's turn does not count.
        let (worker, theirs) = (Worker::new("stores"), slot.clone());
        worker.run(move || theirs.store(Ref::new(1)));
        me().release(Ref::new(2));
        drop_pool();
        assert_eq!(live(), 1);
        let ways: [fn(); 2] = [drop_pool, || autoreleasepool(|_| ())];
        for close in ways {
            slot.store(Ref::new(1));
            let closed = empty_pools(close);
            assert!(closed.is_some_and(|n| n % 32 == 0), "{closed:?}");
        }
    });
}

#[test]
fn a_thread_advances_the_epoch_once_its_call_does_not_hold_it() {
    alone!(|| {
        let slot = Arc::new(Slot::new(Ref::new(0)));
        let store = |slot: Arc<Slot<i32>>| {
            slot.store(Ref::new(1));
            // These give up, as the call holds the epoch.
            (0..10).for_each(|n| _ = AutoreleasePool::new().create(n));
        };
        let (worker, shared) = (Worker::new("stores"), slot.clone());
        slot.with(|_| {
            store(slot.clone());
            worker.run(move || store(shared));
        });
        let closed = worker.run(|| empty_pools(drop_pool));
        assert_eq!(closed, None, "it had given up");
        assert!(empty_pools(drop_pool).is_some());
    });
}

#[test]
fn quiesce_continues_while_there_is_something_to_release() {
    alone!(|| {
        let slot = Slot::new(Ref::new(0));
        let pool = AutoreleasePool::new();
        slot.load(&pool);
        for n in 0..10_000 {
            slot.store(Ref::new(n));
        }
        drop(pool);
        assert!(global().quiesce(LONG));
        assert_eq!(live(), 1);
        // Each node's destructor retires the next one.
        listen();
        drop(list(5_000));
        assert!(global().quiesce(LONG));
        assert_eq!(live(), 1);
        let endless = events(EventKind::EndlessDrain);
        assert!(endless.iter().all(|event| event.count == 1_000), "not cut");
    });
}

/// A node of a list that is linked by slots, which autoreleases something when it dies.
struct Leaving {
    _next: OptionSlot<Leaving>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        releasepool::autorelease(Ref::new(0));
    }
}

#[test]
fn a_drain_releases_what_the_last_of_its_rounds_autoreleased() {
    alone!(|| {
        // More than the rounds of a drain.
        let list = (0..3_000).fold(None, |rest, _| {
            let _next = OptionSlot::new(rest);
            Some(Ref::new(Leaving { _next }))
        });
        drop(OptionSlot::new(list));
        wait_until(|| {
            let pool = AutoreleasePool::new();
            pool.create(0);
            drop(pool);
            global().snapshot().orphans == 0
        });
        assert_eq!(live(), 0, "closing a pool has leaked them");
    });
}

#[test]
fn drains_of_any_manager_release_retired_objects_within_a_budget_or_not() {
    let drains: [fn(&mut AutoreleasePool); 2] = [
        |pool| _ = pool.drain_within(Budget::Count(100)),
        |pool| _ = pool.drain(),
    ];
    alone!(|| {
        for (manager, drain) in [PoolManager::new(), global().clone()].iter().zip(drains) {
            let mut pool = manager.pool();
            let slot = Slot::new(Ref::new(0));
            for round in 0..1_000 {
                slot.load(&pool);
                slot.store(Ref::new(round));
                drain(&mut pool);
            }
            assert!(live() < 100, "{} objects", live());
        }
    });
}

#[test]
fn a_thread_that_stores_where_no_thread_drains_is_reported() {
    alone!(|| {
        listen();
        let slot = Slot::new(Ref::new(0));
        wait_until(|| {
            for n in 0..100 {
                slot.store(Ref::new(n));
            }
            thread::sleep(Duration::from_millis(5));
            !events(EventKind::OrphansWaiting).is_empty()
        });
        let event = &events(EventKind::OrphansWaiting)[0];
        assert!(event.count > 1, "{event}");
        assert!(event.age.unwrap() >= Duration::from_secs(1), "{event}");
        assert_says(&event.thread, &[&me().key().to_string()]);
        assert_says(event, &["quiesce"]);
        assert!(global().quiesce(LONG));
        assert_eq!(live(), 1);
    });
}

#[test]
fn a_thread_that_drains_is_not_reported() {
    alone!(|| {
        listen();
        let slot = Slot::new(Ref::new(0));
        for _ in 0..6 {
            let stores = || (0..200).for_each(|n| slot.store(Ref::new(n)));
            stores();
            // Releases wait at each check, but none of them for long.
            thread::sleep(Duration::from_millis(260));
            stores();
            drop(AutoreleasePool::new());
            slot.load(&AutoreleasePool::named("brief"));
        }
        for kind in [EventKind::OrphansWaiting, EventKind::EpochHeld] {
            assert_eq!(events(kind).len(), 0);
        }
    });
}

/// Waits for an [`EventKind::EpochHeld`] and returns the pool and the thread that it names.
fn held_by() -> (String, String) {
    let slot = Slot::new(Ref::new(0));
    wait_until(|| {
        slot.store(Ref::new(1));
        global().quiesce(Duration::from_millis(5));
        !events(EventKind::EpochHeld).is_empty()
    });
    let event = only_event(EventKind::EpochHeld);
    assert!(event.age.unwrap() >= Duration::from_secs(1));
    (event.pool.unwrap(), event.thread)
}

#[test]
fn the_pool_that_holds_the_epoch_is_named_once_and_none_before_or_after_it() {
    alone!(|| {
        listen();
        let worker = Worker::new("reader");
        worker.run(|| {
            let slot = Slot::new(Ref::new(0));
            let drained = AutoreleasePool::named("drained");
            slot.load(&drained);
            let forgotten = AutoreleasePool::named("forgotten");
            slot.load(&forgotten);
            drop(drained);
            std::mem::forget(forgotten);
            slot.load(&AutoreleasePool::named("brief"));
        });
        let (pool, thread) = held_by();
        assert_eq!(pool, "forgotten");
        assert!(thread.starts_with("reader ("), "{thread}");
        assert!(!thread.contains("ended"), "{thread}");
        global().quiesce(Duration::from_millis(300));
        // Once.
        let event = only_event(EventKind::EpochHeld);
        assert_says(&event, &["has not been drained for "]);
    });
}

#[test]
fn a_thread_that_ended_with_a_forgotten_pool_is_named() {
    alone!(|| {
        listen();
        fresh_to_the_end(|| {
            let pool = AutoreleasePool::named("forgotten");
            Slot::new(Ref::new(0)).load(&pool);
            std::mem::forget(pool);
        });
        let (pool, thread) = held_by();
        assert_eq!(pool, "forgotten");
        assert_says(&thread, &["fresh (", "ended"]);
    });
}

#[test]
fn a_closure_of_rcu_that_takes_long_is_named() {
    alone!(|| {
        listen();
        let (tell, told) = channel::<()>();
        let (begun, wait) = channel();
        let reader = thread::spawn(move || {
            Slot::new(Ref::new(0)).rcu(|n| {
                begun.send(()).unwrap();
                told.recv().unwrap_err();
                Ref::new(*n)
            });
        });
        wait.recv().unwrap();
        assert_eq!(held_by().0, "rcu");
        drop(tell);
        reader.join().unwrap();
        assert!(global().quiesce(LONG));
    });
}

#[test]
fn closing_pools_with_an_entry_or_two_releases_what_slots_have_retired() {
    alone!(|| {
        let fill: [fn(&AutoreleasePool); 2] = [
            |pool| assert_eq!(*pool.create(0), 0),
            |pool| assert_eq!(*pool.create(vec![0]), [0]),
        ];
        for (n, fill) in fill.iter().enumerate() {
            let slot = Slot::new(Ref::new(0));
            slot.store(Ref::new(1));
            assert_eq!(live(), 2, "one is retired");
            for _ in 0..FRAMES {
                fill(&AutoreleasePool::new());
            }
            assert_eq!(live(), 1, "pools of kind {n}");
            drop(slot);
            assert!(global().quiesce(LONG));
        }
    });
}

#[test]
fn a_pool_being_closed_no_longer_holds_what_its_thread_loaded() {
    struct Quiesces;
    impl Drop for Quiesces {
        fn drop(&mut self) {
            // On another thread, as a drain is in progress on this one.
            let done = thread::spawn(|| global().quiesce(LONG)).join();
            assert!(done.unwrap(), "the pool still holds the epoch");
        }
    }
    alone!(|| {
        let slot = Slot::new(Ref::new(0));
        // Pools with few entries are closed in another way than others.
        for (others, is_closed) in [(0, true), (100, true), (0, false), (100, false)] {
            let mut pool = AutoreleasePool::new();
            slot.load(&pool);
            slot.store(Ref::new(1));
            pool.create(Quiesces);
            (0..others).for_each(|n| _ = pool.create(n));
            match is_closed {
                true => drop(pool),
                false => _ = pool.drain(),
            }
        }
    });
}

#[test]
fn objects_held_by_the_callers_own_pool_are_not_waited_for() {
    alone!(|| {
        listen();
        let slot = Arc::new(Slot::new(Ref::new(0)));
        let (worker, me) = (Worker::new("reader"), thread::current().id());
        let (read, (tell, told)) = (slot.clone(), channel());
        let held = move || events_of(me).iter().any(|e| e.kind == EventKind::EpochHeld);
        worker.begin(move || {
            let pool = AutoreleasePool::new();
            tell.send(*read.load(&pool)).unwrap();
            wait_until(held);
        });
        assert_eq!(told.recv(), Ok(0));
        let pool = AutoreleasePool::new();
        slot.load(&pool);
        slot.store(Ref::new(1));
        assert!(!global().quiesce(Duration::MAX));
        assert!(held(), "it has not waited for the worker's pool");
        worker.finish();
        // If it waited, this process would be killed by the limit on child processes.
        assert!(!global().quiesce(Duration::MAX));
        let report = global().shutdown(Duration::MAX).unwrap_err();
        assert_eq!((report.orphans, report.holders.len()), (1, 1), "{report}");
        drop(pool);
        global().shutdown(LONG).unwrap();
        drop(slot);
        assert!(global().quiesce(LONG));
        assert_eq!(live(), 0);
    });
}

#[test]
fn no_object_retired_by_several_threads_is_lost() {
    const ROUNDS: usize = 2_000;
    alone!(|| {
        let slots: [_; 3] = std::array::from_fn(|n| Slot::new(Ref::new(n)));
        for round in 0..ROUNDS {
            thread::scope(|s| {
                for slot in &slots {
                    s.spawn(|| (0..5).for_each(|n| slot.store(Ref::new(n))));
                }
            });
            assert!(global().quiesce(LONG), "round {round}");
            // The figures of a thread that is just ending may be missing for a moment.
            wait_until(|| live() == slots.len() as u64);
        }
    });
}

#[test]
fn pools_that_are_pinned_again_or_opened_again_have_their_own_names() {
    alone!(|| {
        let slot = Arc::new(Slot::new(Ref::new(0)));
        let worker = Worker::new("reader");
        let read = slot.clone();
        worker.run(move || {
            let old = AutoreleasePool::named("old");
            read.load(&old);
            drop(old);
            let plain = AutoreleasePool::new();
            read.load(&plain);
            let mut scene = AutoreleasePool::named("scene");
            read.load(&scene);
            scene.drain();
            read.load(&scene);
            let mut drained = AutoreleasePool::named("drained");
            read.load(&drained);
            drained.drain();
            std::mem::forget((plain, scene, drained));
        });
        slot.store(Ref::new(1));
        let report = global().shutdown(Duration::from_millis(5)).unwrap_err();
        let mut pools: Vec<_> = report.epoch_holders.iter().map(|h| &h.pool[..]).collect();
        pools.sort_unstable();
        assert_eq!(pools, ["scene", "unnamed"], "{report}");
    });
}

#[test]
fn shutdown_names_the_pool_that_holds_the_epoch() {
    alone!(|| {
        // A call that is over. This thread is the first to use slots.
        OptionSlot::<u8>::empty().rcu(|_| None);
        let worker = Worker::new("reader");
        let other = PoolManager::new();
        let slot = Arc::new(Slot::new(Ref::new(0)));
        let (theirs, read) = (other.clone(), slot.clone());
        worker.run(move || {
            let pool = theirs.named_pool("scene");
            read.load(&pool);
            std::mem::forget(pool);
        });
        slot.store(Ref::new(1));
        let report = global().shutdown(Duration::from_millis(5)).unwrap_err();
        assert_eq!(report.orphans, 1, "{report}");
        let holder = only(&report.epoch_holders);
        assert_eq!(holder.pool, "scene");
        assert!(holder.thread.starts_with("reader (#"), "{report}");
        assert!(report.to_string().starts_with("not shut down after "));
        assert_says(&report, &["pool \"scene\" has loaded from a slot"]);
    });
}

#[test]
fn a_pool_that_nothing_waits_for_is_not_named() {
    alone!(|| {
        let slot = OptionSlot::new(Some(Ref::new(on_drop(|| {
            let (slot, pool) = (Slot::new(Ref::new(0)), AutoreleasePool::new());
            slot.load(&pool);
            let shutdown = thread::spawn(|| global().shutdown(Duration::ZERO));
            let report = shutdown.join().unwrap().unwrap_err();
            let left = (report.orphans, report.epoch_holders.len());
            assert_eq!(left, (1, 0), "{report}");
        }))));
        slot.store(None);
        // This thread has used a slot, and has retired nothing.
        Worker::new("idle").run(|| OptionSlot::<u8>::empty().with(|_| ()));
        AutoreleasePool::new().drain();
        assert_eq!(live(), 0);
    });
}

#[test]
fn an_allocator_may_report_and_store_during_a_collection() {
    static SLOT: LazyLock<Slot<u32>> = LazyLock::new(|| Slot::new(Ref::new(0)));
    // Tries again if a store collected too early, as the last collection was long ago.
    let tries = || {
        let (pool, mut other) = (AutoreleasePool::named("scene"), AutoreleasePool::new());
        SLOT.load(&pool);
        SLOT.store(Ref::new(0));
        FOREIGN.set(Some(|| {
            let report = global().shutdown(Duration::ZERO).unwrap_err();
            assert_eq!(only(&report.epoch_holders).pool, "scene");
            (0..63).for_each(|n| SLOT.store(Ref::new(n)));
        }));
        other.drain();
        // The 64th after the collection: a later pin does not hold these.
        SLOT.store(Ref::new(0));
        let late = AutoreleasePool::new();
        SLOT.load(&late);
        drop(pool);
        global().quiesce(Duration::ZERO);
        let is_collected = live() == 1;
        drop(late);
        global().quiesce(LONG) && is_collected
    };
    // Fewer than 64: each stores 65 times, so the last store of the 64th would be due in any case.
    alone!(|| assert!((0..60).any(|_| tries())));
}

#[test]
fn an_allocator_may_load_with_the_pool_that_is_being_pinned() {
    static SLOT: LazyLock<Slot<u32>> = LazyLock::new(|| Slot::new(Ref::new(1)));
    thread_local! {
        static POOL: RefCell<Option<Rc<AutoreleasePool>>> = const { RefCell::new(None) };
    }
    alone!(|| {
        let old = Ref::downgrade(&SLOT.load_full());
        // With pins of their own, so that the next one is new.
        let others: Vec<_> = (0..10).map(|_| AutoreleasePool::new()).collect();
        others
            .iter()
            .for_each(|pool| assert_eq!(*SLOT.load(pool), 1));
        let pool = Rc::new(AutoreleasePool::new());
        POOL.set(Some(pool.clone()));
        FOREIGN.set(Some(|| {
            POOL.with_borrow(|pool| assert_eq!(*SLOT.load(pool.as_ref().unwrap()), 1));
        }));
        assert_eq!(*SLOT.load(&pool), 1);
        assert!(FOREIGN.get().is_none(), "it has been called");
        SLOT.store(Ref::new(2));
        drop(others);
        assert!(!global().quiesce(Duration::ZERO));
        assert!(old.upgrade().is_some(), "the pool is pinned");
        POOL.take();
        drop(pool);
        assert!(global().quiesce(LONG));
        assert!(old.upgrade().is_none());
    });
}

/// A node of a list that is linked by slots.
struct Node {
    _next: OptionSlot<Node>,
}

fn list(len: usize) -> OptionSlot<Node> {
    let first = OptionSlot::new(None);
    for _ in 0..len {
        let _next = OptionSlot::new(first.swap(None));
        first.store(Some(Ref::new(Node { _next })));
    }
    first
}

#[test]
fn a_list_that_is_linked_by_slots_dies_within_a_second_of_frames() {
    alone!(|| {
        let mut pool = AutoreleasePool::new();
        drop(list(5_000));
        let drains = (1..).find(|_| {
            pool.drain_within(Budget::Count(1_000));
            live() == 0
        });
        assert!(drains < Some(FRAMES), "{drains:?} drains");
    });
}

/// More than the rounds in which a drain once advanced the epoch.
const LEN: usize = 20_000;

#[test]
fn one_drain_destroys_a_list_of_any_length() {
    alone!(|| {
        listen();
        drop(list(LEN));
        AutoreleasePool::new().drain();
        assert_eq!(live(), 0);
        // No destructor has autoreleased anything.
        let told = events(EventKind::EndlessDrain);
        assert_says(
            &told[0],
            &["has released references that slots have retired"],
        );
    });
}

#[test]
fn what_a_budgeted_drain_leaves_of_a_list_remains() {
    alone!(|| {
        let mut pool = AutoreleasePool::new();
        for budget in [Budget::All, Budget::Count(10)] {
            drop(list(LEN));
            let done = (0..LEN).find(|_| {
                let left = pool.drain_within(budget).remaining;
                assert_eq!(left == 0, live() == 0, "{left} of {}", live());
                left == 0
            });
            assert!(done.is_some(), "{} nodes are left", live());
        }
    });
}

/// Has the calling thread close empty pools, and asserts that the values die by that.
#[track_caller]
fn assert_that_closing_releases(log: &Log, values: usize) {
    let closed = (0..100).find(|_| {
        drop(AutoreleasePool::new());
        log.count() == values
    });
    assert!(closed.is_some(), "{} of {values} released", log.count());
}

#[test]
fn a_thread_that_has_stored_once_releases_the_value_that_it_replaced() {
    alone!(logged(|log| {
        let slot = Slot::new(Ref::new(log.probe(0)));
        slot.store(Ref::new(log.probe(1)));
        assert_eq!(log.count(), 0);
        assert_that_closing_releases(&log, 1);
        slot.store(Ref::new(log.probe(2)));
        let mut pool = AutoreleasePool::new();
        let is_released = (0..100).any(|_| pool.drain() == 0 && log.count() == 2);
        assert!(is_released, "by drains of an empty pool");
    }));
}

#[test]
fn a_thread_that_holds_nothing_any_more_leaves_what_another_one_has_replaced() {
    alone!(logged(|log| {
        // What this thread has retired is gone, and so is its turn.
        OptionSlot::new(Some(Ref::new(0))).store(None);
        global().drain_root();
        assert_eq!(live(), 0);
        let slot = Arc::new(Slot::new(Ref::new(log.probe(0))));
        let worker = Worker::new("stores");
        let shared = slot.clone();
        worker.run(move || {
            let pool = AutoreleasePool::new();
            shared.load(&pool);
            shared.store(Ref::new(log.probe(1)));
            // In a destructor, the end of the pin releases nothing.
            drop(Ref::new(on_drop(move || drop(pool))));
        });
        let alive = hot(());
        for _ in 0..100 {
            // Lets the close of the pool look at the duties.
            drop(alive.get());
            drop(AutoreleasePool::new());
        }
        assert_eq!(log.count(), 0);
        worker.run(move || assert_that_closing_releases(&log, 1));
        worker.join();
    }));
}

#[test]
fn orphans_that_come_during_a_drain_wait_for_the_next() {
    alone!(logged(|log| {
        let gone = fresh_to_the_end(me);
        let sender = |id| {
            let gone = gone.clone();
            Ref::new(on_drop(move || gone.release(Ref::new(log.probe(id)))))
        };
        let mut pool = AutoreleasePool::new();
        OptionSlot::new(Some(sender(0))).store(None);
        pool.drain();
        assert_eq!(log.count(), 0);
        pool.drain();
        assert_eq!(log.count(), 1);
        // An orphan that gives this thread the turn to advance the epoch, and a message that sends
        // another one after that.
        let slot = Arc::new(Slot::new(Ref::new(0)));
        let loaded = slot.clone();
        gone.release(Ref::new(on_drop(move || loaded.with(|_| ()))));
        (0..16).for_each(|n| me().release(Ref::new(n)));
        me().release(sender(1));
        pool.drain_within(Budget::Count(100));
        assert_eq!(log.count(), 1);
        pool.drain();
        assert_eq!(log.count(), 2);
    }));
}

#[test]
fn a_thread_that_held_what_another_one_has_replaced_releases_it() {
    type Case = fn(&Slot<Probe>, &dyn Fn()) -> Option<AutoreleasePool>;
    let cases: [(&str, Case); 4] = [
        ("a pool that is drained", |slot, store| {
            let mut pool = AutoreleasePool::new();
            slot.load(&pool);
            store();
            pool.drain();
            Some(pool)
        }),
        ("a pool that is closed", |slot, store| {
            let pool = AutoreleasePool::new();
            slot.load(&pool);
            store();
            None
        }),
        ("a pool of a closure", |slot, store| {
            autoreleasepool(|pool| {
                slot.load(pool);
                store();
                None
            })
        }),
        ("the pin of `rcu`", |slot, store| {
            let value = slot.load_full();
            let mut first = true;
            slot.rcu(|_| {
                if std::mem::take(&mut first) {
                    store();
                }
                value.clone()
            });
            drop(value);
            None
        }),
    ];
    alone!(|| {
        for (what, hold) in cases {
            eprintln!("{what}");
            let log = Log::new();
            let slot = Arc::new(Slot::new(Ref::new(log.probe(0))));
            let worker = Worker::new("stores");
            let shared = slot.clone();
            let _open = hold(&slot, &|| {
                let slot = shared.clone();
                worker.run(move || slot.store(Ref::new(log.probe(1))));
                assert_eq!(log.count(), 0);
            });
            assert_that_closing_releases(&log, 1);
            worker.join();
        }
    });
}
