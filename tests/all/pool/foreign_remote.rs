//! Foreign references that are given up on threads that may not release them.

use crate::pool::foreign::Uncounted;
use crate::support::allocator::allocations;
use crate::support::{assert_says, listen, only_event, panic_of};
use releasepool::event::EventKind;
use releasepool::foreign::{Foreign, NotOwner, RemoteRelease};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

#[test]
fn references_share_their_memory() {
    static NOTHING: Uncounted = Uncounted(|_| ());
    let queue: Queue<Uncounted> = RemoteRelease::new(|| true);
    // SAFETY: any thread may release it.
    let push = || assert!(unsafe { queue.push(NonNull::from(&NOTHING)) });
    let made = allocations(|| (0..1_000).for_each(|_| push()));
    assert!(made < 1_000 / 8, "{made} allocations");
    assert_eq!(queue.drain(), Ok(1_000));
}

#[test]
fn only_the_owner_drains_and_closes() {
    let freed = Arc::new(AtomicUsize::new(0));
    let queue: Queue<Object> = RemoteRelease::new(is_locked);
    assert_eq!(give_up(&queue, &freed, 3), 3);
    let not_owner = Err(NotOwner);
    assert_eq!((queue.drain(), queue.close()), (not_owner, not_owner));
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
    static UNRELEASED: Uncounted = Uncounted(|_| unreachable!("the thread is not the owner"));
    listen();
    drop(RemoteRelease::<Uncounted>::new(|| false));
    let queue = RemoteRelease::<Uncounted>::new(|| false);
    for _ in 0..65 {
        // SAFETY: counts nothing.
        assert!(unsafe { queue.push(NonNull::from(&UNRELEASED)) });
    }
    assert_says(
        &format!("{queue:?}"),
        &["RemoteRelease { is_empty: false, .. }"],
    );
    drop(queue);
    let event = only_event(EventKind::ForeignLeft);
    assert_eq!(event.count, 65);
    assert!(event.type_name.unwrap().ends_with("Uncounted"));
}

#[test]
fn releases_may_panic_and_give_up_others() {
    thread_local! {
        static QUEUE: Queue<Uncounted> = const { RemoteRelease::new(|| true) };
        static RELEASED: Cell<u32> = const { Cell::new(0) };
    }
    static CHATTY: Uncounted = Uncounted(|this| {
        RELEASED.set(RELEASED.get() + 1);
        if RELEASED.get() == 2 {
            QUEUE.with(|queue| {
                assert_eq!(queue.drain(), Ok(0), "the others are taken");
                // SAFETY: any thread may release it.
                assert!(unsafe { queue.push(this) });
            });
            panic!("release");
        }
    });
    listen();
    QUEUE.with(|queue| {
        for _ in 0..3 {
            // SAFETY: counts nothing.
            assert!(unsafe { queue.push(NonNull::from(&CHATTY)) });
        }
        assert_eq!(panic_of(|| queue.drain()), "release");
        assert_eq!((RELEASED.get(), queue.drain()), (3, Ok(1)));
    });
}
