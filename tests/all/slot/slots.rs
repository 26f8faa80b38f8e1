//! Slots: loaded objects stay alive until the drain, replaced ones are released in time.

use crate::support::{Log, child, fresh, panic_of, wait_until};
use releasepool::event::{self, Event, EventKind};
use releasepool::{
    AutoreleasePool, HomeRef, OptionSlot, PoolManager, PoolRef, Ref, Slot, autoreleasepool,
};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Calls `quiesce` until `done`; other tests may hold the epoch meanwhile.
pub fn settle_until(done: impl Fn() -> bool) {
    wait_until(|| {
        PoolManager::global().quiesce(Duration::ZERO);
        done()
    });
}

#[test]
fn a_loaded_object_stays_until_the_pool_is_drained() {
    let log = Log::new();
    let slot = Slot::new(Ref::new(log.probe(1)));
    let mut pool = AutoreleasePool::new();
    let one = slot.load(&pool);
    slot.store(Ref::new(log.probe(2)));
    slot.store(Ref::new(log.probe(3)));
    for _ in 0..10 {
        PoolManager::global().quiesce(Duration::ZERO);
    }
    assert_eq!((one.id, slot.load(&pool).id), (1, 3));
    assert_eq!(
        log.count(),
        0,
        "2 was also in the slot while the pool was pinned"
    );
    assert_eq!(pool.drain(), 0, "nothing was autoreleased");
    settle_until(|| log.count() == 2);
    drop(slot);
    settle_until(|| log.count() == 3);
}

#[test]
fn each_pool_is_pinned_separately() {
    let log = Log::new();
    let slot = Slot::new(Ref::new(log.probe(1)));
    let outer = AutoreleasePool::new();
    let kept = slot.load(&outer);
    autoreleasepool(|inner| assert_eq!(slot.load(inner).id, 1));
    slot.store(Ref::new(log.probe(2)));
    PoolManager::global().quiesce(Duration::ZERO);
    assert_eq!((kept.id, log.count()), (1, 0));
    drop(outer);
    settle_until(|| log.ids() == [1]);
}

#[test]
fn loading_does_not_touch_the_count() {
    let slot = Slot::new(Ref::new(7));
    let pool = AutoreleasePool::new();
    let loaded = slot.load(&pool);
    let full = slot.load_full();
    assert_eq!(
        Ref::strong_count(&full),
        2,
        "the slot's reference and this one"
    );
    let kept = PoolRef::retain(loaded);
    assert_eq!(Ref::strong_count(&kept), 3);
    assert!(pool.is_empty());
}

#[test]
fn a_swapped_out_object_is_shared_until_the_slots_release() {
    let slot = Slot::new(Ref::new(1));
    // Pinned, so that no other test's thread releases it at once.
    let pool = AutoreleasePool::new();
    let _ = slot.load(&pool);
    let mut before = slot.swap(Ref::new(2));
    assert_eq!(*before, 1);
    assert_eq!(
        Ref::strong_count(&before),
        2,
        "the slot's own reference is retired"
    );
    drop(pool);
    settle_until(|| Ref::strong_count(&before) == 1);
    assert_eq!(Ref::get_mut(&mut before), Some(&mut 1));
}

#[test]
fn compare_exchange_goes_by_the_address() {
    let slot = Slot::new(Ref::new(5));
    let now = slot.load_full();
    let equal = Ref::new(5);
    let refused = slot.compare_exchange(&equal, Ref::new(6)).unwrap_err();
    assert_eq!((*refused, *slot.load_full()), (6, 5));
    let before = slot.compare_exchange(&now, refused).unwrap();
    assert!(Ref::ptr_eq(&before, &now));
    assert_eq!(*slot.load_full(), 6);
}

#[test]
fn rcu_by_many_threads_loses_nothing() {
    let rounds = if cfg!(miri) { 10 } else { 1_000 };
    let slot = Slot::new(Ref::new(0u64));
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                for _ in 0..rounds {
                    let before = *slot.rcu(|n| Ref::new(n + 1));
                    assert!(before < 3 * rounds);
                }
            });
        }
    });
    assert_eq!(*slot.load_full(), 3 * rounds);
}

#[test]
fn rcu_that_panics_changes_nothing() {
    let slot = Slot::new(Ref::new(1));
    assert_eq!(panic_of(|| slot.rcu(|_| panic!("no"))), "no");
    assert_eq!(*slot.load_full(), 1);
    slot.rcu(|n| Ref::new(n + 1));
    assert_eq!(*slot.load_full(), 2);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn drains_of_empty_pools_release_retired_objects() {
    child!(|| {
        let log = Log::new();
        let slot = Slot::new(Ref::new(log.probe(1)));
        slot.store(Ref::new(log.probe(2)));
        let mut pool = AutoreleasePool::new();
        wait_until(|| {
            pool.drain();
            log.count() == 1
        });
    })
    .assert_success();
}

#[test]
fn slots_convert_from_references_and_format_their_content() {
    assert_eq!(format!("{:?}", Slot::new(Ref::new(7))), "Slot(7)");
    let slot = OptionSlot::new(Some(Ref::new(8)));
    assert_eq!(format!("{slot:?}"), "OptionSlot(Some(8))");
    let slot = OptionSlot::from(Some(Ref::new(9)));
    assert_eq!(slot.load_full().as_deref(), Some(&9));
    assert_eq!(*Slot::from(Ref::new(9)).load_full(), 9);
    assert_eq!(*Slot::<u32>::default().load_full(), 0);
}

#[test]
fn option_slots_may_be_empty() {
    let log = Log::new();
    let slot = OptionSlot::default();
    let pool = AutoreleasePool::new();
    assert!(slot.is_empty() && slot.load(&pool).is_none() && slot.load_full().is_none());
    assert!(slot.swap(Some(Ref::new(log.probe(1)))).is_none());
    assert_eq!(slot.load(&pool).unwrap().id, 1);
    assert!(!slot.is_empty());
    let one = slot.load_full().unwrap();
    assert!(slot.compare_exchange(None, None).is_err());
    assert!(slot.compare_exchange(Some(&one), None).is_ok());
    assert!(slot.take().is_none());
    assert!(matches!(slot.compare_exchange(None, Some(one)), Ok(None)));
    let before = slot.rcu(|now| now.is_none().then(|| unreachable!()));
    assert_eq!(before.unwrap().id, 1);
    assert!(slot.is_empty());
    slot.store(Some(Ref::new(log.probe(2))));
    assert_eq!(slot.take().unwrap().id, 2);
    slot.store(Some(Ref::new(log.probe(3))));
    slot.store(None);
    assert!(slot.is_empty());
    drop((pool, slot));
    settle_until(|| log.count() == 3);
}

#[test]
fn readers_on_many_threads_see_whole_values_and_everything_dies_once() {
    let rounds = if cfg!(miri) { 20 } else { 20_000 };
    struct Pair(u64, u64);
    static LIVE: AtomicUsize = AtomicUsize::new(0);
    impl Pair {
        fn new(n: u64) -> Self {
            LIVE.fetch_add(1, Ordering::Relaxed);
            Self(n, !n)
        }
    }
    impl Drop for Pair {
        fn drop(&mut self) {
            assert_eq!(self.0, !self.1, "died twice");
            self.1 = self.0;
            LIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let slot = Slot::new(Ref::new(Pair::new(0)));
    let done = AtomicBool::new(false);
    let loads = AtomicU64::new(0);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                let mut pool = AutoreleasePool::new();
                while !done.load(Ordering::Relaxed) {
                    let mut last = 0;
                    for _ in 0..10 {
                        let pair = slot.load(&pool);
                        assert_eq!(pair.0, !pair.1);
                        assert!(pair.0 >= last, "an older value after a newer one");
                        last = pair.0;
                        loads.fetch_add(1, Ordering::Relaxed);
                    }
                    pool.drain();
                }
            });
        }
        while loads.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        for n in 1..=rounds {
            slot.store(Ref::new(Pair::new(n)));
        }
        done.store(true, Ordering::Relaxed);
    });
    drop(slot);
    settle_until(|| LIVE.load(Ordering::Relaxed) == 0);
}

#[test]
fn a_destructor_may_use_the_slot_it_was_in() {
    static SLOT: OnceLock<Slot<Node>> = OnceLock::new();
    static RAN: AtomicUsize = AtomicUsize::new(0);
    struct Node(u32);
    impl Drop for Node {
        fn drop(&mut self) {
            let pool = AutoreleasePool::new();
            let slot = SLOT.get().unwrap();
            assert!(slot.load(&pool).0 > self.0);
            if self.0 < 10 {
                slot.store(Ref::new(Node(self.0 + 10)));
            }
            RAN.fetch_add(1, Ordering::Relaxed);
        }
    }
    let slot = SLOT.get_or_init(|| Slot::new(Ref::new(Node(0))));
    slot.store(Ref::new(Node(5)));
    // The destructor of 0 replaces 5 by 10, and that of 5 replaces 10 by 15.
    settle_until(|| RAN.load(Ordering::Relaxed) == 3);
    assert_eq!(slot.load_full().0, 15);
}

#[test]
fn objects_retired_by_a_thread_that_has_ended_are_released() {
    let log = Log::new();
    let slot = Slot::new(Ref::new(log.probe(1)));
    fresh(|| {
        let pool = AutoreleasePool::new();
        assert_eq!(slot.load(&pool).id, 1);
        slot.store(Ref::new(log.probe(2)));
    });
    settle_until(|| log.ids() == [1]);
}

#[test]
fn a_home_ref_in_a_slot_returns_home() {
    fresh(|| {
        let log = Log::new();
        let holder = |id| Ref::new(HomeRef::new((log.probe(id), Rc::new(()))));
        let slot = Slot::new(holder(1));
        fresh(|| {
            slot.store(holder(2));
            autoreleasepool(|pool| assert!(slot.load(pool).is_home()));
        });
        let other = holder(3);
        fresh(move || {
            slot.store(other);
            autoreleasepool(|pool| assert!(slot.load(pool).get().is_none()));
        });
        // The home of 2 is a thread that has ended.
        settle_until(|| {
            autoreleasepool(|_| ());
            log.count() == 2
        });
        let mut ids = log.ids();
        ids.sort_unstable();
        assert_eq!(ids, [1, 3]);
        assert!(log.threads().iter().all(|&t| t == thread::current().id()));
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_releases_retired_objects() {
    let child = child!(|| {
        let log = Log::new();
        let manager = PoolManager::global();
        let slot = Slot::new(Ref::new(log.probe(1)));
        slot.store(Ref::new(log.probe(2)));
        assert_eq!(manager.snapshot().orphans, 1);
        assert!(manager.quiesce(LONG));
        assert_eq!(log.ids(), [1]);

        let pool = AutoreleasePool::new();
        slot.load(&pool);
        slot.store(Ref::new(log.probe(3)));
        assert!(
            !manager.quiesce(Duration::from_millis(10)),
            "a pool holds it"
        );
        drop(pool);
        assert!(manager.quiesce(LONG));
        assert_eq!(log.ids(), [1, 2]);
        drop(slot);
        assert!(manager.quiesce(LONG));
        assert_eq!(manager.snapshot().live_objects(), 0);
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn ordinary_drains_release_retired_objects() {
    let child = child!(|| {
        let log = Log::new();
        let slot = Slot::new(Ref::new(log.probe(0)));
        let mut pool = AutoreleasePool::new();
        for id in 1..100 {
            slot.store(Ref::new(log.probe(id)));
            pool.create(());
            pool.drain();
        }
        assert!(log.count() >= 90, "{} of 99", log.count());
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_thread_that_holds_the_epoch_for_long_is_reported_once() {
    static TOLD: Mutex<Vec<Event>> = Mutex::new(Vec::new());
    let told = || TOLD.lock().unwrap();
    let child = child!(|| {
        event::set_hook(Some(Box::new(|event| {
            TOLD.lock().unwrap().push(event.clone())
        })));
        let slot = Slot::new(Ref::new(1));
        // This thread drains in time.
        let brief = AutoreleasePool::named("brief");
        slot.load(&brief);
        slot.load(&brief);
        drop(brief);
        let done = AtomicBool::new(false);
        thread::scope(|s| {
            let reader = thread::Builder::new().name("reader".into());
            let read = || {
                let pool = AutoreleasePool::named("sleepy");
                slot.load(&pool);
                // A later pool of the thread that is dropped in time must not be the one that is
                // named.
                slot.load(&AutoreleasePool::named("brief"));
                while !done.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
            };
            reader.spawn_scoped(s, read).unwrap();
            wait_until(|| {
                slot.store(Ref::new(2));
                PoolManager::global().quiesce(Duration::from_millis(20));
                !told().is_empty()
            });
            PoolManager::global().quiesce(Duration::from_millis(300));
            done.store(true, Ordering::Relaxed);
        });
        let all = told().clone();
        assert_eq!(all.len(), 1, "{all:?}");
        let event = &all[0];
        assert_eq!(event.kind, EventKind::EpochHeld);
        assert_eq!(event.pool.as_deref(), Some("sleepy"));
        assert!(event.thread.starts_with("reader ("), "{}", event.thread);
        assert!(event.age.unwrap() >= Duration::from_secs(1));
        assert!(
            event.to_string().contains("has not been drained for "),
            "{event}"
        );
        assert!(PoolManager::global().quiesce(LONG));
    });
    child.assert_success();
}

#[test]
fn objects_retired_by_a_sleeping_thread_are_released_by_others() {
    let log = Log::new();
    let slot = Slot::new(Ref::new(log.probe(1)));
    thread::scope(|s| {
        let (tell, told) = mpsc::channel();
        let (wake, asleep) = mpsc::channel::<()>();
        let (slot, log) = (&slot, &log);
        s.spawn(move || {
            slot.store(Ref::new(log.probe(2)));
            tell.send(()).unwrap();
            assert!(asleep.recv().is_err());
        });
        told.recv().unwrap();
        settle_until(|| log.ids() == [1]);
        drop(wake);
    });
}

#[test]
fn slots_work_while_a_thread_is_torn_down() {
    struct Late(Log);
    impl Drop for Late {
        fn drop(&mut self) {
            let slot = Slot::new(Ref::new(self.0.probe(1)));
            let pool = AutoreleasePool::new();
            assert_eq!(slot.load(&pool).id, 1);
            assert_eq!(slot.load_full().id, 1);
            slot.store(Ref::new(self.0.probe(2)));
            assert_eq!(slot.load(&pool).id, 2);
        }
    }
    thread_local!(static LATE: std::cell::RefCell<Option<Late>> = const { std::cell::RefCell::new(None) });
    let log = Log::new();
    let inner = log.clone();
    // Initialized before the crate's thread-locals, so destroyed after them.
    thread::spawn(move || {
        LATE.with(|late| *late.borrow_mut() = Some(Late(inner)));
        drop(AutoreleasePool::new());
    })
    .join()
    .unwrap();
    settle_until(|| log.count() == 2);
}

#[test]
fn a_retired_object_gives_its_block_back() {
    let blocks = releasepool::BlockAllocator::new();
    let slot = Slot::new(Ref::new_in(1, &blocks));
    slot.store(Ref::new_in(2, &blocks));
    {
        let pool = AutoreleasePool::new();
        assert_eq!(*slot.load(&pool), 2);
    }
    drop(slot);
    crate::support::wait_until(|| {
        AutoreleasePool::new().drain();
        blocks.trim();
        blocks.stats().live_blocks == 0
    });
}
