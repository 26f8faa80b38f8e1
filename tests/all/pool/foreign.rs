//! Objects of foreign runtimes in pools.

use crate::support::{fresh, fresh_to_the_end, global, on_drop, panic_of};
use releasepool::foreign::{Foreign, foreign_scope};
use releasepool::{AutoreleasePool, Budget, Ref};
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A runtime like those of C: it counts its objects itself, and frees them.
struct Object {
    count: Cell<u32>,
    id: u32,
}

thread_local! {
    static FREED: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    /// True while the thread holds the runtime's lock, if the test uses it.
    static MAY_RELEASE: Cell<bool> = const { Cell::new(true) };
}

fn object(id: u32) -> NonNull<Object> {
    let count = Cell::new(1);
    NonNull::from(Box::leak(Box::new(Object { count, id })))
}

fn freed() -> Vec<u32> {
    FREED.with(RefCell::take)
}

// SAFETY: counts, and frees the object with its last reference.
unsafe impl Foreign for Object {
    unsafe fn retain(this: NonNull<Self>) {
        // SAFETY: alive, by the contract.
        let count = unsafe { &(*this.as_ptr()).count };
        count.set(count.get() + 1);
    }

    unsafe fn release(this: NonNull<Self>) {
        assert!(MAY_RELEASE.get(), "released without the lock");
        // SAFETY: alive, by the contract.
        let (count, id) = unsafe { (&(*this.as_ptr()).count, (*this.as_ptr()).id) };
        count.set(count.get() - 1);
        if count.get() == 0 {
            FREED.with(|freed| freed.borrow_mut().push(id));
            // SAFETY: `object` leaked the box; that was the last reference.
            drop(unsafe { Box::from_raw(this.as_ptr()) });
        }
    }
}

/// An object that is not counted: each release calls this.
pub struct Uncounted(pub fn(NonNull<Self>));

// SAFETY: no release frees anything.
unsafe impl Foreign for Uncounted {
    unsafe fn retain(_: NonNull<Self>) {}
    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: alive, by the contract.
        unsafe { this.as_ref() }.0(this);
    }
}

#[test]
fn foreign_objects_are_released_newest_first_with_all_others() {
    let mut pool = AutoreleasePool::new();
    let note = |id| FREED.with(|freed| freed.borrow_mut().push(id));
    for id in 0..3 {
        // SAFETY: a new object has one reference, which any thread may give up at any time.
        let lent = unsafe { pool.adopt(object(2 * id)) };
        // SAFETY: alive until the pool is drained.
        assert_eq!(unsafe { (*lent.as_ptr()).id }, 2 * id);
        pool.create(on_drop(move || note(2 * id + 1)));
    }
    assert_eq!(pool.drain(), 6);
    assert_eq!(freed(), [5, 4, 3, 2, 1, 0]);
    let kept = object(7);
    // SAFETY: alive; then two references are passed on.
    unsafe {
        Object::retain(kept);
        pool.adopt(kept);
        pool.drain();
        assert_eq!(((*kept.as_ptr()).count.get(), freed().len()), (1, 0));
        pool.adopt(kept);
    }
    drop(pool);
    assert_eq!(freed(), [7]);
}

#[test]
fn foreign_objects_are_released_from_the_backlog_and_at_the_threads_exit() {
    static FREED_LATE: AtomicU32 = AtomicU32::new(0);
    static LATE: Uncounted = Uncounted(|_| _ = FREED_LATE.fetch_add(1, Ordering::Relaxed));
    fresh_to_the_end(|| {
        let mut pool = AutoreleasePool::new();
        for _ in 0..3 {
            // SAFETY: any thread may release it at any time.
            unsafe { pool.adopt(NonNull::from(&LATE)) };
        }
        assert_eq!(pool.drain_within(Budget::Count(1)).remaining, 2);
        assert_eq!(global().drain_backlog(Budget::Count(1)).released, 1);
        assert_eq!(FREED_LATE.load(Ordering::Relaxed), 2);
    });
    assert_eq!(FREED_LATE.load(Ordering::Relaxed), 3);
}

#[test]
fn the_newest_entry_is_taken_back_if_it_is_this_object() {
    let mut pool = AutoreleasePool::new();
    let (first, second) = (object(1), object(2));
    // SAFETY: each adopted object is new, and each type is right.
    unsafe {
        assert!(!pool.take_back(first), "an empty pool");
        assert!(format!("{:?}", pool.adopt(first)).starts_with("ForeignRef(0x"));
        pool.adopt(second);
        assert!(!pool.take_back(first), "not the newest");
        assert!(pool.take_back(second));
        assert_eq!((pool.len(), freed().len()), (1, 0));
        assert!(!pool.take_back(NonNull::<Uncounted>::dangling()));
        pool.autorelease(Ref::new(1));
        assert!(!pool.take_back(first), "a counted object is the newest");
        pool.create(first.addr().get());
        assert!(!pool.take_back(first), "a value that is its address");
        pool.drain();
        assert_eq!(freed(), [1]);
        Object::release(second);
    }
    assert_eq!(freed(), [2]);
    // Across the pages of a pool.
    let objects: Vec<_> = (0..1_001).map(object).collect();
    for object in &objects {
        // SAFETY: as above.
        unsafe { pool.adopt(*object) };
    }
    for newest in objects[500..].iter().rev() {
        // SAFETY: as above; the reference is ours again.
        unsafe {
            assert!(pool.take_back(*newest));
            Object::release(*newest);
        }
    }
    assert_eq!(pool.drain(), 500);
    assert_eq!(freed().len(), 1_001);
}

/// PyO3#3668 and #319: references that were given up without the interpreter's lock, or lent beyond it.
#[test]
fn a_scope_releases_while_its_token_is_held_even_in_a_destructor_and_by_a_panic() {
    struct Lock;
    impl Drop for Lock {
        fn drop(&mut self) {
            MAY_RELEASE.set(false);
        }
    }
    let scoped = |id, panics: bool| {
        MAY_RELEASE.set(true);
        let lock = Lock;
        foreign_scope(&lock, |scope| {
            assert!(format!("{scope:?}").contains("foreign"), "{scope:?}");
            // SAFETY: new objects, which may be released while the lock is held.
            unsafe { scope.adopt(object(id)) };
            // SAFETY: as above.
            let lent = unsafe { scope.adopt(object(id + 1)) };
            assert!(!panics, "bomb");
            assert!(!lent.as_ptr().is_null());
        });
    };
    fresh(move || {
        scoped(0, false);
        assert_eq!(freed(), [1, 0]);
        panic_of(|| scoped(2, true));
        assert_eq!(freed(), [3, 2]);
        // Inside of a destructor that runs deep in a chain, where releases queue. Miri takes minutes.
        if !cfg!(miri) {
            drop(crate::support::Chain::ending_in(move || scoped(4, false)));
            assert_eq!(freed(), [5, 4]);
        }
        let mut pool = AutoreleasePool::new();
        pool.create(on_drop(move || scoped(6, false)));
        assert_eq!(pool.drain_within(Budget::All).remaining, 0);
        assert_eq!(freed(), [7, 6]);
        MAY_RELEASE.set(true);
    });
}

#[test]
fn a_release_that_panics_comes_out_of_the_drain_and_the_others_are_made() {
    static BOMB: Uncounted = Uncounted(|_| panic!("release"));
    let mut pool = AutoreleasePool::new();
    // SAFETY: new objects, and one that counts nothing.
    unsafe {
        pool.adopt(object(1));
        pool.adopt(NonNull::from(&BOMB));
        pool.adopt(object(2));
    }
    assert_eq!(panic_of(|| pool.drain()), "release");
    assert_eq!(freed(), [2, 1]);
}
