//! Foreign code that runs while the ledger works: a global allocator that uses the crate, and event
//! hooks.

use crate::support::allocator::{FOREIGN, with_foreign};
use crate::support::{PAGE, alone, fresh, global, sized};
use releasepool::{
    AutoreleasePool, PoolRef, Ref, Weak, autorelease, autoreleasepool, event, leaks,
};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;

#[test]
fn an_allocator_may_fill_the_page_that_gets_an_entry() {
    // Made here, so that the ledger sees the other thread with the entry for the first time.
    let object = Ref::new(0);
    let own = object.clone();
    fresh(move || {
        assert_eq!(global().drain_root(), 0);
        // The page is allocated first, and the name of the thread next.
        FOREIGN.set(Some(|| {
            FOREIGN.set(Some(|| (0..PAGE).for_each(|_| autorelease(Ref::new(0)))));
        }));
        autorelease(own);
        FOREIGN.set(None);
        (0..PAGE).for_each(|_| autorelease(Ref::new(0)));
        let released = global().drain_root();
        assert!([PAGE + 1, 2 * PAGE + 1].contains(&released), "{released}");
        assert_eq!(global().drain_root(), 0);
    });
    assert_eq!(Ref::strong_count(&object), 1);
}

#[test]
fn an_allocator_may_fill_or_drain_the_pool_whose_records_are_freed() {
    const OBJECTS: u64 = 100;
    alone!();
    // Frames are freed by the global allocator, with the records of the objects.
    leaks::record_backtraces(true);
    let fill = || (0..OBJECTS).for_each(|_| autorelease(Ref::new(0)));
    let drain = || _ = global().drain_root();
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
            global().drain_root();
            assert!(FOREIGN.get().is_none(), "it has been called");
            scope.assert_none();
        });
    }
}

#[test]
fn what_an_allocator_makes_while_the_ledger_works_is_not_recorded() {
    alone!();
    let _kept = Ref::new(0);
    FOREIGN.set(Some(|| drop(Ref::new(1))));
    let report = leaks::report();
    assert!(FOREIGN.get().is_none(), "it has been called");
    assert_eq!((report.objects(), report.unrecorded()), (1, 1));
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
    alone!();
    let shown = Arc::new(AtomicBool::new(false));
    let flag = shown.clone();
    event::set_hook(Some(Box::new(move |_| {
        autorelease(Ref::new(Shown(flag.clone())))
    })));
    let scene = Ref::new(Scene);
    autoreleasepool(|_| leaks::expect_gone(Ref::downgrade(&scene), "scene"));
    assert!(shown.load(Relaxed));
}

#[test]
fn a_weak_reference_may_be_made_again_while_the_value_dies() {
    alone!();
    const ROUNDS: usize = sized(1, 500, 4_000);
    let (to_there, there) = mpsc::sync_channel::<(Ref<u64>, Arc<AtomicBool>)>(0);
    let dropper = std::thread::spawn(move || {
        for (object, go) in there {
            while !go.load(Relaxed) {
                std::thread::yield_now();
            }
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
}

#[test]
fn a_record_that_could_not_be_removed_says_nothing_of_the_next_object() {
    struct A(#[expect(dead_code, reason = "to be as large")] u64);
    struct B(u64);
    thread_local! {
        static FIRST: Cell<Option<Ref<A>>> = const { Cell::new(None) };
        static SECOND: Cell<Option<Ref<B>>> = const { Cell::new(None) };
        static WAITS: Cell<usize> = const { Cell::new(0) };
    }
    /// Destroys an object, and creates another one at its place.
    fn replace() {
        match WAITS.get().checked_sub(1) {
            Some(left) => {
                WAITS.set(left);
                FOREIGN.set(Some(replace));
            }
            None => {
                drop(FIRST.take());
                SECOND.set(Some(Ref::new(B(2))));
            }
        }
    }
    alone!();
    // A report allocates for each shard of the index, and at some of these allocations looks at
    // the record of the first object.
    let mut kept = 0;
    for allocations in 0..1_000 {
        FIRST.set(Some(Ref::new(A(1))));
        WAITS.set(allocations);
        FOREIGN.set(Some(replace));
        let alive = leaks::report().objects();
        FOREIGN.set(None);
        let Some(second) = SECOND.take() else {
            break;
        };
        kept += alive;
        autoreleasepool(|pool| assert_eq!(pool.autorelease(second).0, 2));
    }
    assert!(kept > 0);
}

#[test]
fn an_allocator_may_make_raw_calls_while_a_report_is_made() {
    thread_local! {
        static OBJECT: Cell<*const u64> = const { Cell::new(std::ptr::null()) };
    }
    fn retain() {
        // SAFETY: the object is alive; each reference is given up once.
        unsafe {
            Ref::increment_strong_count(OBJECT.get());
            Ref::decrement_strong_count(OBJECT.get());
        }
    }
    alone!();
    let object = Ref::new(1);
    OBJECT.set(Ref::as_ptr(&object));
    with_foreign(retain, || drop(leaks::report()));
    assert_eq!(Ref::strong_count(&object), 1);
}

#[test]
fn the_allocator_may_count_references_while_symbols_are_read() {
    /// How often the allocator does.
    const TIMES: usize = sized(1, 200, 1_000);
    /// More than the frames that are recorded.
    const DEPTH: usize = 50;
    struct Counted;
    thread_local! {
        static OWN: Cell<Option<Ref<Counted>>> = const { Cell::new(None) };
        static LEFT: Cell<usize> = const { Cell::new(TIMES) };
    }
    fn retain() {
        if let Some(left) = LEFT.get().checked_sub(1) {
            LEFT.set(left);
            let object = OWN.take().unwrap();
            drop(object.clone());
            OWN.set(Some(object));
            FOREIGN.set(Some(retain));
        }
    }
    /// Retains at a place that is not known yet, whose symbols are read.
    fn retain_below(depth: usize, object: &Ref<Counted>) -> usize {
        match depth {
            0 => Ref::strong_count(&object.clone()),
            _ => std::hint::black_box(retain_below(depth - 1, object)),
        }
    }
    alone!();
    leaks::count_references(["Counted"]);
    leaks::record_backtraces(true);
    let object = Ref::new(Counted);
    let barrier = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            barrier.wait();
            (0..DEPTH).for_each(|depth| _ = retain_below(depth, &object));
        });
        OWN.set(Some(object.clone()));
        barrier.wait();
        FOREIGN.set(Some(retain));
        drop(leaks::report());
        FOREIGN.set(None);
    });
    assert!(LEFT.get() < TIMES - 10);
    OWN.set(None);
    assert_eq!(Ref::strong_count(&object), 1);
}
