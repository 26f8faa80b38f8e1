use releasepool::AutoreleasePool;
use releasepool::foreign::{
    Foreign, ForeignRef, ForeignScope, NotOwner, RemoteRelease, foreign_scope,
};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// An object that another runtime counts.
struct Widget(AtomicUsize);

/// A reference that is given to another thread.
struct Given(NonNull<Widget>);

// SAFETY: the count is atomic.
unsafe impl Send for Given {}

// SAFETY: `release` frees the object with its last reference.
unsafe impl Foreign for Widget {
    unsafe fn retain(at: NonNull<Self>) {
        // SAFETY: the caller owns a reference.
        unsafe { at.as_ref() }.0.fetch_add(1, Ordering::Relaxed);
    }

    unsafe fn release(at: NonNull<Self>) {
        // SAFETY: the caller owns a reference, and gives it up.
        if unsafe { at.as_ref() }.0.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: `widget` boxed it, and this was the last reference.
            drop(unsafe { Box::from_raw(at.as_ptr()) });
        }
    }
}

fn widget() -> NonNull<Widget> {
    NonNull::from(Box::leak(Box::new(Widget(AtomicUsize::new(1)))))
}

#[test]
fn foreign_objects_go_into_pools() {
    let mut pool = AutoreleasePool::new();
    // SAFETY: the pool gets the only reference.
    let lent: ForeignRef<Widget> = unsafe { pool.adopt(widget()) };
    let at = lent.as_non_null();
    // SAFETY: the pool keeps the object alive.
    unsafe { Widget::retain(at) };
    // SAFETY: the reference that was made above.
    unsafe { Widget::release(at) };
    assert_eq!(pool.drain(), 1);
    let token = ();
    foreign_scope(&token, |scope: &ForeignScope<'_>| {
        // SAFETY: the scope gets the only reference.
        unsafe { scope.adopt(widget()) };
    });
}

#[test]
fn references_are_given_up_without_the_runtime_s_lock() {
    let here = thread::current().id();
    let pending = RemoteRelease::<Widget, _>::new(move || thread::current().id() == here);
    let given = Given(widget());
    thread::scope(|scope| {
        scope.spawn(|| {
            let given = given;
            // SAFETY: the only reference, which is given up.
            assert!(unsafe { pending.push(given.0) });
            let refused: Result<usize, NotOwner> = pending.drain();
            assert_eq!(refused, Err(NotOwner));
        });
    });
    let pending: RemoteRelease<Widget, _> = pending;
    assert_eq!(pending.drain(), Ok(1));
    assert!(pending.is_empty());
}
