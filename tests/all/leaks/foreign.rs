//! Foreign code that runs while the ledger works: a global allocator that uses the crate, and event
//! hooks.

use crate::support::allocator::FOREIGN;
use crate::support::{PAGE, child, fresh};
use releasepool::{
    AutoreleasePool, PoolManager, PoolRef, Ref, Weak, autorelease, autoreleasepool, event, leaks,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;

#[test]
fn an_allocator_may_fill_the_page_that_gets_an_entry() {
    // Made here, so that the ledger sees the other thread with the entry for the first time.
    let object = Ref::new(0);
    let own = object.clone();
    fresh(move || {
        assert_eq!(PoolManager::global().drain_root(), 0);
        // The page is allocated first, and the name of the thread next.
        FOREIGN.set(Some(|| {
            FOREIGN.set(Some(|| (0..PAGE).for_each(|_| autorelease(Ref::new(0)))));
        }));
        autorelease(own);
        FOREIGN.set(None);
        (0..PAGE).for_each(|_| autorelease(Ref::new(0)));
        let released = PoolManager::global().drain_root();
        assert!([PAGE + 1, 2 * PAGE + 1].contains(&released), "{released}");
        assert_eq!(PoolManager::global().drain_root(), 0);
    });
    assert_eq!(Ref::strong_count(&object), 1);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn an_allocator_may_fill_or_drain_the_pool_whose_records_are_freed() {
    const OBJECTS: u64 = 100;
    let child = child!(|| {
        // Frames are freed by the global allocator, with the records of the objects.
        leaks::record_backtraces(true);
        let fill = || (0..OBJECTS).for_each(|_| autorelease(Ref::new(0)));
        let drain = || _ = PoolManager::global().drain_root();
        for foreign in [fill as fn(), drain] {
            fresh(move || {
                let scope = leaks::scope();
                let pool = AutoreleasePool::new();
                // In blocks, and without a destructor.
                let made: Vec<_> = (0..OBJECTS)
                    .map(|i| PoolRef::retain(pool.create(i)))
                    .collect();
                drop(pool);
                made.into_iter().for_each(autorelease);
                FOREIGN.set(Some(foreign));
                PoolManager::global().drain_root();
                assert!(FOREIGN.get().is_none(), "it has been called");
                scope.assert_none();
            });
        }
    });
    child.assert_success();
}

#[test]
fn what_the_hook_autoreleases_at_the_end_of_a_drain_is_released() {
    struct Scene;
    struct Shown(Arc<AtomicBool>);
    impl Drop for Shown {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let child = child!(|| {
        let shown = Arc::new(AtomicBool::new(false));
        let flag = shown.clone();
        event::set_hook(Some(Box::new(move |_| {
            autorelease(Ref::new(Shown(flag.clone())))
        })));
        let scene = Ref::new(Scene);
        autoreleasepool(|_| leaks::expect_gone(Ref::downgrade(&scene), "scene"));
        assert!(shown.load(Relaxed));
    });
    child.assert_success();
}

#[test]
fn an_allocator_may_drain_while_an_expectation_is_noted() {
    let child = child!(|| {
        let all: Vec<_> = (0..100).map(Ref::new).collect();
        for object in &all {
            let weak = Ref::downgrade(object);
            FOREIGN.set(Some(|| {
                FOREIGN.set(Some(|| {
                    autorelease(Ref::new(0));
                    PoolManager::global().drain_root();
                }));
            }));
            leaks::expect_gone(weak, "it");
            FOREIGN.set(None);
        }
    });
    child.assert_success();
}

#[test]
fn an_allocator_may_create_while_types_are_chosen() {
    let child = child!(|| {
        leaks::count_references(["A"]);
        // A name and a list are allocated, and the former ones freed.
        FOREIGN.set(Some(|| {
            FOREIGN.set(Some(|| {
                FOREIGN.set(Some(|| _ = Ref::new(0)));
            }));
        }));
        leaks::count_references(["B"]);
        FOREIGN.set(None);
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_weak_reference_may_be_made_again_while_the_value_dies() {
    let child = child!(|| {
        const ROUNDS: usize = 100_000;
        let (to_there, there) = mpsc::sync_channel::<(Ref<u64>, Arc<AtomicBool>)>(0);
        let dropper = std::thread::spawn(move || {
            for (object, go) in there {
                while !go.load(Relaxed) {}
                drop(object);
            }
        });
        for _ in 0..ROUNDS {
            let object = Ref::new(1);
            let mut weak = Ref::downgrade(&object);
            let go = Arc::new(AtomicBool::new(false));
            to_there.send((object, go.clone())).unwrap();
            go.store(true, Relaxed);
            while weak.strong_count() != 0 {
                // SAFETY: just made of such a reference.
                weak = unsafe { Weak::from_raw(weak.into_raw()) };
            }
            for _ in 0..10 {
                // SAFETY: as above.
                weak = unsafe { Weak::from_raw(weak.into_raw()) };
            }
        }
        drop(to_there);
        dropper.join().unwrap();
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_thread_gets_its_name_while_the_allocator_uses_the_crate() {
    let child = child!(|| {
        fresh(|| {
            // Without a key at first; with one from the time that the allocator uses a pool.
            FOREIGN.set(Some(nested));
            let made: Vec<_> = (0..100).map(Ref::new).collect();
            FOREIGN.set(None);
            drop(made);
            PoolManager::global().drain_root();
        });
        fn nested() {
            autorelease(Ref::new(0));
            FOREIGN.set(Some(nested));
        }
    });
    child.assert_success();
}
