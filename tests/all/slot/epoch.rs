//! The epoch: which pools hold it, for how long, and what is reported.
//!
//! The process has one epoch, so most tests run in processes of their own.

use super::lists::list;
use crate::support::allocator::FOREIGN;
use crate::support::worker::Worker;
use crate::support::{LONG, child, events, fresh_to_the_end, global, listen, wait_until};
use releasepool::event::EventKind;
use releasepool::{
    AutoreleasePool, Budget, FrameConfig, FrameLoop, OptionSlot, PoolManager, Ref, Slot,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

pub fn live() -> u64 {
    global().snapshot().live_objects()
}

/// Number of frames, one second's worth, within which retired objects that no pin delays must be
/// released.
pub const FRAMES: usize = 60;

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn pools_pinned_in_overlapping_turns_do_not_hold_the_epoch() {
    child!(|| {
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
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn stores_under_one_pin_are_released_within_a_second_of_frames() {
    const STORES: usize = 100_000;
    child!(|| {
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
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn retired_objects_take_little_memory_while_a_pin_lasts() {
    const STORES: usize = 100_000;
    child!(|| {
        let slot = Slot::new(Ref::new(0));
        let pool = AutoreleasePool::new();
        slot.load(&pool);
        slot.store(Ref::new(0));
        let before = crate::support::allocator::bytes();
        for n in 0..STORES {
            slot.store(Ref::new(n));
        }
        let each = (crate::support::allocator::bytes() - before) / STORES as isize;
        // The object's header and payload, and the message that releases it.
        assert!(each <= 24 + 48, "{each} bytes");
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_continues_while_there_is_something_to_release() {
    child!(|| {
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
        drop(list(5_000));
        assert!(global().quiesce(LONG));
        assert_eq!(live(), 1);
    })
    .assert_success();
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
#[cfg_attr(miri, ignore = "starts a process")]
fn a_drain_releases_what_the_last_of_its_rounds_autoreleased() {
    child!(|| {
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
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn budgeted_drains_of_any_manager_release_retired_objects() {
    child!(|| {
        let manager = PoolManager::new();
        let mut pool = manager.pool();
        let slot = Slot::new(Ref::new(0));
        for round in 0..1_000 {
            slot.load(&pool);
            slot.store(Ref::new(round));
            pool.drain_within(Budget::Count(100));
        }
        assert!(live() < 100, "{} objects", live());
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_thread_that_stores_where_no_thread_drains_is_reported() {
    child!(|| {
        listen();
        let slot = Slot::new(Ref::new(0));
        wait_until(|| {
            for n in 0..100 {
                slot.store(Ref::new(n));
            }
            thread::sleep(Duration::from_millis(5));
            !events(EventKind::OrphansWaiting).is_empty()
        });
        let all = events(EventKind::OrphansWaiting);
        let event = &all[0];
        assert!(event.count > 1, "{event}");
        assert!(event.age.unwrap() >= Duration::from_secs(1), "{event}");
        let me = global().current_thread().unwrap().key().to_string();
        assert!(event.thread.contains(&me), "{event}");
        assert!(event.to_string().contains("quiesce"), "{event}");
        assert!(global().quiesce(LONG));
        assert_eq!(live(), 1);
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_thread_that_drains_is_not_reported() {
    child!(|| {
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
    })
    .assert_success();
}

/// Waits for an [`EventKind::EpochHeld`] and returns the pool and the thread that it names.
fn held_by() -> (String, String) {
    let slot = Slot::new(Ref::new(0));
    wait_until(|| {
        slot.store(Ref::new(1));
        global().quiesce(Duration::from_millis(5));
        !events(EventKind::EpochHeld).is_empty()
    });
    let all = events(EventKind::EpochHeld);
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].age.unwrap() >= Duration::from_secs(1));
    (all[0].pool.clone().unwrap(), all[0].thread.clone())
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn the_pool_that_holds_the_epoch_is_named_and_not_one_before_it() {
    child!(|| {
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
        });
        let (pool, thread) = held_by();
        assert_eq!(pool, "forgotten");
        assert!(thread.starts_with("reader ("), "{thread}");
        assert!(!thread.contains("ended"), "{thread}");
        worker.join();
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_thread_that_ended_with_a_forgotten_pool_is_named() {
    child!(|| {
        listen();
        fresh_to_the_end(|| {
            let pool = AutoreleasePool::named("forgotten");
            Slot::new(Ref::new(0)).load(&pool);
            std::mem::forget(pool);
        });
        let (pool, thread) = held_by();
        assert_eq!(pool, "forgotten");
        assert!(
            thread.starts_with("fresh (") && thread.contains("ended"),
            "{thread}"
        );
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_closure_of_rcu_that_takes_long_is_named() {
    child!(|| {
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
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn closing_pools_with_an_entry_or_two_releases_what_slots_have_retired() {
    child!(|| {
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
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_pool_being_closed_no_longer_holds_what_its_thread_loaded() {
    struct Quiesces;
    impl Drop for Quiesces {
        fn drop(&mut self) {
            // On another thread, as a drain is in progress on this one.
            let done = thread::spawn(|| global().quiesce(LONG)).join();
            assert!(done.unwrap(), "the pool still holds the epoch");
        }
    }
    child!(|| {
        let slot = Slot::new(Ref::new(0));
        // Pools with few entries are closed in another way than others.
        for others in [0, 100] {
            let pool = AutoreleasePool::new();
            slot.load(&pool);
            slot.store(Ref::new(1));
            pool.create(Quiesces);
            for n in 0..others {
                pool.create(n);
            }
            drop(pool);
        }
        for others in [0, 100] {
            let mut pool = AutoreleasePool::new();
            slot.load(&pool);
            slot.store(Ref::new(1));
            pool.create(Quiesces);
            for n in 0..others {
                pool.create(n);
            }
            pool.drain();
        }
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn objects_held_by_the_callers_own_pool_are_not_waited_for() {
    child!(|| {
        let slot = Arc::new(Slot::new(Ref::new(0)));
        let pool = AutoreleasePool::new();
        slot.load(&pool);
        slot.store(Ref::new(1));
        // If it waited, this process would be killed by the limit on child processes.
        assert!(!global().quiesce(Duration::MAX));
        let report = global().shutdown(Duration::MAX).unwrap_err();
        assert_eq!((report.orphans, report.holders.len()), (1, 1), "{report}");
        drop(pool);
        global().shutdown(LONG).unwrap();
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn no_object_retired_by_several_threads_is_lost() {
    const ROUNDS: usize = 2_000;
    child!(|| {
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
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn pools_that_are_pinned_again_or_opened_again_have_their_own_names() {
    child!(|| {
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
        worker.join();
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_names_the_pool_that_holds_the_epoch() {
    child!(|| {
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
        let [holder] = &report.epoch_holders[..] else {
            panic!("one holder: {report}")
        };
        assert_eq!(holder.pool, "scene");
        assert!(holder.thread.starts_with("reader (#"), "{report}");
        let shown = report.to_string();
        assert!(shown.starts_with("not shut down after "), "{shown}");
        assert!(
            shown.contains("pool \"scene\" has loaded from a slot"),
            "{shown}"
        );
        worker.join();
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn an_allocator_may_load_with_the_pool_that_is_being_pinned() {
    static SLOT: LazyLock<Slot<u32>> = LazyLock::new(|| Slot::new(Ref::new(1)));
    thread_local! {
        static POOL: RefCell<Option<Rc<AutoreleasePool>>> = const { RefCell::new(None) };
    }
    child!(|| {
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
    })
    .assert_success();
}
