//! Foreign references that are given up on threads that may not release them.

use crate::support::allocator::allocations;
use crate::support::{fresh, listen, only_event, panic_of};
use releasepool::event::EventKind;
use releasepool::{Foreign, NotOwner, RemoteRelease};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

thread_local! {
    /// True while the thread holds the runtime's lock.
    static LOCKED: Cell<bool> = const { Cell::new(false) };
}

fn is_locked() -> bool {
    LOCKED.get()
}

/// Runs `f` with the runtime's lock, which these tests do not contend for.
fn locked<R>(f: impl FnOnce() -> R) -> R {
    LOCKED.set(true);
    let result = f();
    LOCKED.set(false);
    result
}

/// An object of a runtime whose counts only a thread with the lock may change.
struct Object {
    count: Cell<u32>,
    freed: Arc<AtomicUsize>,
}

fn object(freed: &Arc<AtomicUsize>) -> NonNull<Object> {
    let (count, freed) = (Cell::new(1), freed.clone());
    NonNull::from(Box::leak(Box::new(Object { count, freed })))
}

// SAFETY: counts, and frees the object with its last reference.
unsafe impl Foreign for Object {
    unsafe fn retain(this: NonNull<Self>) {
        assert!(is_locked());
        // SAFETY: alive, by the contract.
        let count = unsafe { &(*this.as_ptr()).count };
        count.set(count.get() + 1);
    }

    unsafe fn release(this: NonNull<Self>) {
        assert!(is_locked(), "released without the lock");
        // SAFETY: alive, by the contract.
        let count = unsafe { &(*this.as_ptr()).count };
        count.set(count.get() - 1);
        if count.get() == 0 {
            // SAFETY: `object` leaked the box; that was the last reference.
            let object = unsafe { Box::from_raw(this.as_ptr()) };
            object.freed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

type Queue<F> = RemoteRelease<F>;

/// Gives up `n` new objects; returns how many were accepted. Frees the others.
fn give_up(queue: &Queue<Object>, freed: &Arc<AtomicUsize>, n: usize) -> usize {
    let give_up = |_: &usize| {
        let object = object(freed);
        // SAFETY: a new object's only reference, which a thread with the lock may release.
        let accepted = unsafe { queue.push(object) };
        if !accepted {
            // SAFETY: not accepted, so it is still ours; nobody else knows it.
            drop(unsafe { Box::from_raw(object.as_ptr()) });
        }
        accepted
    };
    (0..n).filter(give_up).count()
}

/// PyO3#6199: references that threads without the interpreter's lock have given up wait behind a mutex,
/// which every thread takes that gets the lock, even if nothing waits.
#[test]
fn pyo3_6199_threads_without_the_lock_give_up_references_and_one_with_it_releases_them() {
    const EACH: usize = if cfg!(miri) { 100 } else { 30_000 };
    static DROPPED: Queue<Object> = RemoteRelease::new(is_locked);
    let freed = Arc::new(AtomicUsize::new(0));
    assert_eq!((DROPPED.is_empty(), DROPPED.drain()), (true, Ok(0)));
    let mut released = 0;
    thread::scope(|scope| {
        let pushers = [(); 3].map(|()| {
            scope.spawn(|| {
                assert_eq!(give_up(&DROPPED, &freed, EACH), EACH);
                assert!(matches!(DROPPED.drain(), Err(NotOwner) | Ok(0)));
            })
        });
        while !pushers.iter().all(thread::ScopedJoinHandle::is_finished) {
            released += locked(|| DROPPED.drain().unwrap());
        }
    });
    released += locked(|| DROPPED.drain().unwrap());
    assert_eq!(
        (released, freed.load(Ordering::Relaxed)),
        (3 * EACH, 3 * EACH)
    );
    assert!(DROPPED.is_empty());
}

#[test]
fn references_share_their_memory() {
    struct Nothing;
    // SAFETY: never accessed.
    unsafe impl Foreign for Nothing {
        unsafe fn retain(_: NonNull<Self>) {}
        unsafe fn release(_: NonNull<Self>) {}
    }
    let queue: Queue<Nothing> = RemoteRelease::new(|| true);
    // SAFETY: as above.
    let push = || assert!(unsafe { queue.push(NonNull::dangling()) });
    let made = allocations(|| (0..1_000).for_each(|_| push()));
    assert!(made < 1_000 / 8, "{made} allocations");
    assert_eq!(queue.drain(), Ok(1_000));
}

/// A Python without a lock: each attached thread may release, several at a time.
#[test]
fn several_owners_drain_at_once_and_each_reference_is_released_once() {
    const EACH: usize = if cfg!(miri) { 50 } else { 20_000 };
    /// Counts its releases.
    struct Once(AtomicU32);
    // SAFETY: counts only.
    unsafe impl Foreign for Once {
        unsafe fn retain(_: NonNull<Self>) {}
        unsafe fn release(this: NonNull<Self>) {
            // SAFETY: alive until the test ends.
            unsafe { this.as_ref() }.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let objects: Vec<_> = (0..2 * EACH).map(|_| Once(AtomicU32::new(0))).collect();
    let queue: &Queue<Once> = &RemoteRelease::new(|| true);
    thread::scope(|scope| {
        for half in objects.chunks(EACH) {
            scope.spawn(move || {
                for object in half {
                    // SAFETY: any thread may release it.
                    assert!(unsafe { queue.push(NonNull::from(object)) });
                    if !queue.is_empty() {
                        queue.drain().unwrap();
                    }
                }
            });
        }
    });
    queue.drain().unwrap();
    assert!(
        objects
            .iter()
            .all(|object| object.0.load(Ordering::Relaxed) == 1)
    );
}

#[test]
fn only_the_owner_drains_and_closes() {
    let freed = Arc::new(AtomicUsize::new(0));
    let queue: Queue<Object> = RemoteRelease::new(is_locked);
    assert_eq!(give_up(&queue, &freed, 3), 3);
    assert_eq!(
        (queue.drain(), queue.close()),
        (Err(NotOwner), Err(NotOwner))
    );
    assert!(NotOwner.to_string().contains("lock"));
    assert_eq!(freed.load(Ordering::Relaxed), 0);
    assert_eq!(locked(|| queue.drain()), Ok(3));
    assert_eq!(freed.load(Ordering::Relaxed), 3);
}

#[test]
fn a_closed_queue_refuses_and_stays_closed() {
    let freed = Arc::new(AtomicUsize::new(0));
    let queue: Queue<Object> = RemoteRelease::new(is_locked);
    assert_eq!(give_up(&queue, &freed, 200), 200);
    assert_eq!(locked(|| queue.close()), Ok(200));
    for _ in 0..2 {
        assert_eq!(give_up(&queue, &freed, 1), 0);
        assert_eq!(locked(|| (queue.drain(), queue.close())), (Ok(0), Ok(0)));
    }
    assert_eq!(freed.load(Ordering::Relaxed), 200);
}

/// The interpreter ends while threads still give references up.
#[test]
fn a_reference_that_is_given_up_while_the_owner_ends_is_released_or_refused() {
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 300 };
    for _ in 0..ROUNDS {
        let freed = Arc::new(AtomicUsize::new(0));
        let queue: Queue<Object> = RemoteRelease::new(is_locked);
        let start = Barrier::new(3);
        let (accepted, released) = thread::scope(|scope| {
            let pushers = [(); 2].map(|()| {
                scope.spawn(|| {
                    start.wait();
                    give_up(&queue, &freed, 150)
                })
            });
            start.wait();
            let released = locked(|| queue.close().unwrap());
            let accepted = pushers.map(|pusher| pusher.join().unwrap());
            (accepted.iter().sum::<usize>(), released)
        });
        assert_eq!(accepted, released);
        assert_eq!(freed.load(Ordering::Relaxed), released);
    }
}

#[test]
fn dropped_by_its_owner_it_releases_what_is_left() {
    let freed = Arc::new(AtomicUsize::new(0));
    let queue: Queue<Object> = RemoteRelease::new(is_locked);
    give_up(&queue, &freed, 70);
    locked(|| drop(queue));
    assert_eq!(freed.load(Ordering::Relaxed), 70);
}

#[test]
fn dropped_by_another_thread_it_reports_what_is_left() {
    struct Unreleased;
    // SAFETY: counts nothing.
    unsafe impl Foreign for Unreleased {
        unsafe fn retain(_: NonNull<Self>) {}
        unsafe fn release(_: NonNull<Self>) {
            unreachable!("the thread is not the owner");
        }
    }
    fresh(|| {
        drop(RemoteRelease::<Unreleased>::new(|| false));
        let queue = RemoteRelease::<Unreleased>::new(|| false);
        for _ in 0..65 {
            // SAFETY: counts nothing.
            assert!(unsafe { queue.push(NonNull::dangling()) });
        }
        assert_eq!(
            format!("{queue:?}"),
            "RemoteRelease { is_empty: false, .. }"
        );
        drop(queue);
        let event = only_event(EventKind::ForeignLeft);
        assert_eq!(event.count, 65);
        assert!(event.type_name.unwrap().ends_with("Unreleased"));
    });
}

#[test]
fn releases_may_panic_and_give_up_others() {
    thread_local! {
        static QUEUE: Queue<Chatty> = const { RemoteRelease::new(|| true) };
        static RELEASED: Cell<u32> = const { Cell::new(0) };
    }
    struct Chatty;
    // SAFETY: counts nothing.
    unsafe impl Foreign for Chatty {
        unsafe fn retain(_: NonNull<Self>) {}
        unsafe fn release(this: NonNull<Self>) {
            RELEASED.set(RELEASED.get() + 1);
            if RELEASED.get() == 2 {
                QUEUE.with(|queue| {
                    assert_eq!(queue.drain(), Ok(0), "the others are taken");
                    // SAFETY: counts nothing.
                    assert!(unsafe { queue.push(this) });
                });
                panic!("release");
            }
        }
    }
    listen();
    fresh(|| {
        QUEUE.with(|queue| {
            for _ in 0..3 {
                // SAFETY: counts nothing.
                assert!(unsafe { queue.push(NonNull::dangling()) });
            }
            assert_eq!(panic_of(|| queue.drain()), "release");
            assert_eq!((RELEASED.get(), queue.drain()), (3, Ok(1)));
        });
    });
}
