//! Bugs of other projects, by their public threads, and that they cannot happen here.
//!
//! | thread | what went wrong | here |
//! |---|---|---|
//! | Cocos2d-x | all threads share one stack of pools: a worker that autoreleases while the render thread clears crashes | `thread::callback` |
//! | SFML#790 | a pool is released by another thread than its own | `compile_fail_tests`: pools are not `Send` |
//! | objc2#540, objc2#811, rust-objc#103 | an object that was autoreleased with the outer pool's lifetime dies with the inner pool | below |
//! | objc2#861 | a retain is left out for an object that another call has autoreleased | below: the object is compared |
//! | jni#392 | a local frame frees references that were lent for longer | `compile_fail_tests`: what a scope lends cannot leave it |
//! | PyO3#883, PyO3#4590 | an object that was borrowed from a dictionary or a weak reference is freed by any code that runs | below |
//! | PyO3#6199 | threads that get the interpreter's lock queue for the mutex of references that were given up without it | `pool::foreign_remote` |
//! | PyO3#3668, PyO3#319 | references are given up without the interpreter's lock | `pool::foreign` |
//! | libobjc2#218 | objects that destructors autorelease while the pool is emptied leak when they fill a page | below |
//! | axmol#3291 | temporaries without a pool around them live until some later drain | below: an event names the place |
//! | Kaku#325 | the exit of a thread drains a pool whose objects are gone | below |
//! | tray-icon#350, bevy#13208 and others | the last reference to a value of the main thread is dropped by a worker | `thread::inbox_hooks` |
//! | arc-swap#210 | a reader takes an old object for a new one at its address | `slot::readers` |

use crate::support::{Log, events, fresh, fresh_to_the_end, on_drop};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, Foreign, PoolRef, Ref, Weak, autorelease, autoreleasepool};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr::NonNull;

/// objc2#540: `autorelease` puts an object into the innermost pool, whatever pool it was given for its
/// lifetime. Here it goes to the pool that was named.
#[test]
fn objc2_540_an_object_of_the_outer_pool_outlives_the_inner_one() {
    fresh(|| {
        let log = Log::new();
        autoreleasepool(|outer| {
            let lent = autoreleasepool(|_| outer.autorelease(Ref::new(log.probe(1))));
            assert_eq!((lent.id, log.count()), (1, 0));
            let lent = autoreleasepool(|_inner| autoreleasepool(|_| outer.create(log.probe(2))));
            assert_eq!((lent.id, log.count()), (2, 0));
        });
        assert_eq!(log.ids(), [2, 1]);
    });
}

/// objc2#861: the runtime takes the newest entry for the value that was returned, by where the call
/// stands, and leaves its retain out.
#[test]
fn objc2_861_only_the_object_itself_is_taken_back() {
    struct View;
    // SAFETY: counts nothing.
    unsafe impl Foreign for View {
        unsafe fn retain(_: NonNull<Self>) {}
        unsafe fn release(_: NonNull<Self>) {}
    }
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        let objects = [1, 2].map(|address: usize| {
            NonNull::new(std::ptr::without_provenance_mut::<View>(64 * address)).unwrap()
        });
        // SAFETY: these objects count nothing, and are of that type.
        unsafe {
            pool.adopt(objects[0]);
            assert!(!pool.take_back(objects[1]), "the window is not its view");
            assert!(pool.take_back(objects[0]));
        }
        assert!(pool.is_empty());
    });
}

/// PyO3#883: an item that was borrowed from a dictionary dangles once it is deleted there. PyO3#4590: so
/// does what was borrowed from a weak reference.
#[test]
fn pyo3_883_what_was_read_lives_though_it_is_removed_meanwhile() {
    fresh(|| {
        let log = Log::new();
        let dictionary = RefCell::new(HashMap::from([("a", Ref::new(log.probe(1)))]));
        let weak: Weak<_> = Ref::downgrade(&dictionary.borrow()["a"]);
        autoreleasepool(|pool| {
            let item: PoolRef<'_, _> = pool.autorelease(dictionary.borrow()["a"].clone());
            let upgraded = weak.upgrade().unwrap();
            dictionary.borrow_mut().remove("a");
            assert_eq!((item.id, upgraded.id, log.count()), (1, 1, 0));
        });
        assert_eq!(log.ids(), [1]);
        assert!(weak.upgrade().is_none());
    });
}

/// libobjc2#218: the drain stopped at the page at which it had begun, though destructors had added pages.
#[test]
fn libobjc2_218_entries_that_destructors_add_by_the_page_are_released() {
    const PAGES: u32 = if cfg!(miri) { 300 } else { 3_000 };
    fresh(|| {
        let log = Log::new();
        let pool = AutoreleasePool::new();
        pool.create(0);
        let there = log.clone();
        pool.create(on_drop(move || {
            (0..PAGES).for_each(|id| autorelease(Ref::new(there.probe(id))));
        }));
        drop(pool);
        assert_eq!(log.count() as u32, PAGES);
    });
}

/// axmol#3291: code without a pool of its own, called on a thread whose loop drains much later.
#[test]
fn axmol_3291_code_without_a_pool_is_named() {
    struct Font;
    fresh(|| {
        autorelease(Ref::new(Font));
        let [event] = &events(EventKind::NoPool)[..] else {
            panic!("one event")
        };
        assert!(event.type_name.unwrap().ends_with("Font"));
        assert!(event.site.unwrap().file().ends_with("famous_bugs.rs"));
        releasepool::PoolManager::global().drain_root();
    });
}

/// Kaku#325: a thread's exit released objects a second time that their owner had destroyed.
#[test]
fn kaku_325_the_exit_of_a_thread_releases_what_is_left_once() {
    let log = Log::new();
    let there = log.clone();
    let thread = fresh_to_the_end(move || {
        let owned = Ref::new(there.probe(1));
        autorelease(owned.clone());
        drop(owned);
        std::thread::current().id()
    });
    assert_eq!((log.ids(), log.threads()), (vec![1], vec![thread]));
}
