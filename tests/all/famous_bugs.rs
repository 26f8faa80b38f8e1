//! Bugs of other projects, by their public threads, and that they cannot happen here.
//!
//! | thread | what went wrong | here |
//! |---|---|---|
//! | Cocos2d-x | all threads share one stack of pools: a worker that autoreleases while the render thread clears crashes | `thread::callback` |
//! | SFML#790 | a pool is released by another thread than its own | `compile_fail_tests`: pools are not `Send` |
//! | objc2#540, rust-objc#103 | an object that was autoreleased with the outer pool's lifetime dies with the inner pool | below |
//! | objc2#811 | accessors must not return references to what they autorelease, as their callers may have opened a pool | below, and `compile_fail_tests` |
//! | objc2#861 | a retain is left out for an object that another call has autoreleased | `pool::foreign`: the object is compared |
//! | jni#392 | a local frame frees references that were lent for longer | `compile_fail_tests`: what a scope lends cannot leave it |
//! | PyO3#883, PyO3#4590 | an object that was borrowed from a dictionary or a weak reference is freed by any code that runs | below |
//! | PyO3#6199 | threads that get the interpreter's lock queue for the mutex of references that were given up without it | `races::foreign` |
//! | PyO3#4105 | a count is raised later than an object is released | below: only releases can wait |
//! | PyO3#3668, PyO3#319 | references are given up without the interpreter's lock | `pool::foreign` |
//! | libobjc2#218 | objects that destructors autorelease while the pool is emptied leak when they fill a page | `pool::guards` |
//! | axmol#3291 | temporaries without a pool around them live until some later drain | `event::limits`: an event names the place |
//! | WinObjC#1552 | an app does not react while a pool of its launch is drained | `pool::budgets`, `pool::handoff` |
//! | godot#118678 | a release still uses the object that another thread's release has freed | `races::objects` |
//! | godot#93299 | an assignment releases the old object before it retains the new one | below |
//! | rend3#472 | neither of two threads that drop the last handles at the same time destroys the resource | `races::objects`, `races::sharing` |
//! | capnproto#2702 | weak references are counted without atomics, and used by several threads | `races::objects` |
//! | gdext#1281 | a value that is confined to its thread is dropped on another one | `object::home` |
//! | Kaku#325 | the exit of a thread drains a pool whose objects are gone | `thread::exit` |
//! | tray-icon#350, bevy#13208, gtk-rs-core#1766, leptos#3746, compio#512, uniffi#2436 | the last reference to a value of one thread is dropped by another | `thread::last_drops` |
//! | arc-swap#210 | a reader takes an old object for a new one at its address | `slot::readers` |

use crate::support::{Log, fresh};
use releasepool::foreign::{Foreign, RemoteRelease};
use releasepool::{AutoreleasePool, PoolRef, Ref, Weak, autoreleasepool};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// objc2#540: `autorelease` puts an object into the innermost pool, whatever pool it was given for its
/// lifetime. Here it goes to the pool that was named.
#[test]
fn objc2_540_an_object_of_the_outer_pool_outlives_the_inner_one() {
    let log = Log::new();
    autoreleasepool(|outer| {
        let lent = autoreleasepool(|_| outer.autorelease(Ref::new(log.probe(1))));
        assert_eq!((lent.id, log.count()), (1, 0));
        let lent = autoreleasepool(|_inner| autoreleasepool(|_| outer.create(log.probe(2))));
        assert_eq!((lent.id, log.count()), (2, 0));
    });
    assert_eq!(log.ids(), [2, 1]);
}

/// objc2#811: a caller may have opened a pool, so either opening pools or autoreleasing had to be `unsafe`,
/// and accessors return counted references. Here neither is: an accessor takes the pool that gives its
/// result the lifetime, whatever other pools are opened and closed around the call.
#[test]
fn objc2_811_accessors_return_references_though_callers_open_pools() {
    struct Url(String);
    impl Url {
        fn path<'p>(&self, pool: &'p AutoreleasePool) -> &'p str {
            PoolRef::get(pool.create_str(self.0.trim_start_matches("file:")))
        }
    }
    autoreleasepool(|pool| {
        let path = autoreleasepool(|_| {
            let url = Url("file:/tmp".into());
            autoreleasepool(|_| url.path(pool))
        });
        assert_eq!((path, pool.len()), ("/tmp", 1));
    });
}

/// PyO3#883: an item that was borrowed from a dictionary dangles once it is deleted there. PyO3#4590: so
/// does what was borrowed from a weak reference.
#[test]
fn pyo3_883_what_was_read_lives_though_it_is_removed_meanwhile() {
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
}

/// PyO3#4105: a clone that was made without the interpreter's lock was counted when the lock was next
/// taken, and a release that came before freed the object. Here a clone counts at once, on any thread, and
/// what waits for the owner of a foreign count are releases: it can only be too high.
#[test]
fn pyo3_4105_a_clone_counts_at_once_and_only_releases_wait() {
    /// An object of a runtime that counts under a lock.
    struct Counted(AtomicUsize);
    // SAFETY: counts only.
    unsafe impl Foreign for Counted {
        unsafe fn retain(_: NonNull<Self>) {
            panic!("a count is raised later");
        }
        unsafe fn release(this: NonNull<Self>) {
            // SAFETY: alive, by the contract.
            unsafe { this.as_ref() }.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
    static COUNTED: Counted = Counted(AtomicUsize::new(2));
    let log = Log::new();
    let object = Ref::new(log.probe(1));
    let clone = fresh(|| object.clone());
    autoreleasepool(|pool| _ = pool.autorelease(object));
    assert_eq!((clone.id, log.count()), (1, 0));

    let without_lock = RemoteRelease::<Counted>::new(|| true);
    // SAFETY: one of the two references; a release is an atomic operation.
    let give_up = || unsafe { without_lock.push(NonNull::from(&COUNTED)) };
    assert!(fresh(give_up));
    let count = || COUNTED.0.load(Ordering::Relaxed);
    assert_eq!(count(), 2);
    assert_eq!((without_lock.drain(), count()), (Ok(1), 1));
}

/// godot#93299: an assignment released the old object first, and with it the new one, if only the old one
/// referred to it; and a variable kept the address of an object that could no longer be retained.
#[test]
fn godot_93299_the_new_object_is_retained_before_the_old_one_is_released() {
    struct Node {
        id: u32,
        next: Option<Ref<Node>>,
        this: Weak<Node>,
        log: Log,
    }
    impl Drop for Node {
        fn drop(&mut self) {
            assert!(self.this.upgrade().is_none(), "cannot be retained any more");
            self.log.note(self.id);
        }
    }
    let log = Log::new();
    let node = |id, next| {
        Ref::new_cyclic(|this| Node {
            id,
            next,
            this: this.clone(),
            log,
        })
    };
    let mut first = node(1, Some(node(2, Some(node(3, None)))));
    while let Some(next) = &first.next {
        let id = first.id;
        first = next.clone();
        assert_eq!((first.id, log.ids().last()), (id + 1, Some(&id)));
    }
    drop(first);
    assert_eq!(log.ids(), [1, 2, 3]);
}
