//! A global allocator that uses the crate while it allocates or frees.

use crate::support::allocator::FOREIGN;
use crate::support::{Log, PAGE, fresh};
use releasepool::{PoolManager, Ref, autorelease};
use std::cell::Cell;

#[test]
fn an_allocator_may_drain_the_pool_that_grows() {
    fresh(|| {
        let log = Log::new();
        for id in 0..PAGE as u32 {
            autorelease(Ref::new(log.probe(id)));
        }
        let last = Ref::new(log.probe(PAGE as u32));
        FOREIGN.set(Some(|| _ = PoolManager::global().drain_root()));
        autorelease(last);
        assert!(FOREIGN.get().is_none(), "it has been called");
        assert!(log.ids().into_iter().eq((0..PAGE as u32).rev()));
        assert_eq!(PoolManager::global().drain_root(), 1);
        assert_eq!(log.count(), PAGE + 1);
    });
}

#[test]
fn an_allocator_may_fill_the_pool_that_grows() {
    fresh(|| {
        let object = Ref::new(0);
        let entries = |n| (0..n).for_each(|_| autorelease(Ref::new(0)));
        entries(PAGE);
        FOREIGN.set(Some(|| autorelease(Ref::new(0))));
        autorelease(object.clone());
        assert!(FOREIGN.get().is_none(), "it has been called");
        entries(PAGE);
        assert_eq!(PoolManager::global().drain_root(), 2 * PAGE + 2);
        assert_eq!(Ref::strong_count(&object), 1);
    });
}

#[test]
#[cfg_attr(miri, ignore = "a million entries")]
fn an_allocator_may_fill_or_drain_the_pool_that_gives_a_page_back() {
    // More pages than the thread keeps.
    const MANY: usize = PAGE * 4_100;
    for foreign in [
        || (0..600).for_each(|_| autorelease(Ref::new(0))),
        || _ = PoolManager::global().drain_root(),
    ] {
        fresh(move || {
            let object = Ref::new(0);
            (0..MANY).for_each(|_| autorelease(object.clone()));
            FOREIGN.set(Some(foreign));
            let released = PoolManager::global().drain_root();
            assert!(FOREIGN.get().is_none(), "it has been called");
            assert!(released == MANY + 600 || released < MANY, "{released}");
            assert_eq!(Ref::strong_count(&object), 1);
            assert_eq!(PoolManager::global().drain_root(), 0);
        });
    }
}

#[test]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn an_allocator_may_fill_or_drain_the_pool_whose_objects_it_frees() {
    thread_local! {
        static INNER: Cell<usize> = const { Cell::new(0) };
    }
    let fill = || (0..600).for_each(|i| autorelease(Ref::new([i; 10])));
    let drain = || INNER.set(PoolManager::global().drain_root());
    for (foreign, outer, inner) in [(fill as fn(), 800, 0), (drain, 64, 136)] {
        fresh(move || {
            // Objects without a destructor are freed a few at a time.
            (0..200).for_each(|i| autorelease(Ref::new([i; 10])));
            FOREIGN.set(Some(foreign));
            let released = PoolManager::global().drain_root();
            assert!(FOREIGN.get().is_none(), "it has been called");
            assert_eq!((released, INNER.get()), (outer, inner));
            assert_eq!(PoolManager::global().drain_root(), 0);
        });
    }
}
