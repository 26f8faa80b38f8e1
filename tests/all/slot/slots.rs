//! Slots: loaded objects stay alive until the drain, replaced ones are released in time.

use crate::support::{Log, Worker, fresh, logged, on_threads, panic_of, wait_until};
use releasepool::slot::{OptionSlot, SlotCache};
use releasepool::{AutoreleasePool, HomeRef, PoolManager, Ref, Slot, autoreleasepool};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

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
    // 2 was also in the slot while the pool was pinned.
    assert_eq!(log.count(), 0);
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
    on_threads(3, |_| {
        for _ in 0..rounds {
            let before = *slot.rcu(|n| Ref::new(n + 1));
            assert!(before < 3 * rounds);
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
fn slots_format_their_content_and_have_defaults() {
    assert_eq!(format!("{:?}", Slot::new(Ref::new(7))), "Slot(7)");
    let slot = OptionSlot::new(Some(Ref::new(8)));
    assert_eq!(format!("{slot:?}"), "OptionSlot(Some(8))");
    assert_eq!(*Slot::<u32>::default().load_full(), 0);
    let texts = Slot::<str>::new("text".into());
    let mut cache = SlotCache::new(&texts);
    assert_eq!(&**cache.load(), "text");
    assert!(format!("{cache:?}").contains("text"));
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
fn objects_retired_by_a_thread_that_sleeps_or_has_ended_are_released_by_others() {
    for ends in [false, true] {
        let log = Log::new();
        let slot = Arc::new(Slot::new(Ref::new(log.probe(1))));
        let worker = Worker::new("stores");
        let (theirs, next) = (slot.clone(), log.probe(2));
        worker.run(move || {
            let pool = AutoreleasePool::new();
            assert_eq!(theirs.load(&pool).id, 1);
            theirs.store(Ref::new(next));
        });
        let mut worker = Some(worker);
        if ends {
            worker.take().unwrap().join();
        }
        settle_until(|| log.ids() == [1]);
        drop(worker);
    }
}

#[test]
fn a_home_ref_in_a_slot_returns_home() {
    fresh(logged(|log| {
        let holder = |id| Ref::new(HomeRef::new((log.probe(id), Rc::new(()))));
        let slot = Slot::new(holder(1));
        fresh(|| {
            slot.store(holder(2));
            autoreleasepool(|pool| assert!(slot.load(pool).get().is_some()));
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
        assert_eq!(log.sorted(), [1, 3]);
        assert!(log.threads().iter().all(|&t| t == thread::current().id()));
    }));
}

#[test]
fn a_retired_object_gives_its_block_back() {
    let blocks = releasepool::memory::BlockAllocator::new();
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
