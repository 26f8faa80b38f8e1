//! Single operations in a loop: references, weak ones, and pools with nothing in them.

use crate::objects::{Payload, Plain};
use crate::workload::{Workload, timed};
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, Weak, autoreleasepool};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

/// Turns of a loop around something that takes a few nanoseconds.
pub const LOOP: u64 = 1_000;

/// One operation, [`LOOP`] times a turn.
pub fn looped<S: 'static>(
    name: &'static str,
    make: impl Fn() -> S + Send + Sync + 'static,
    operation: impl Fn(&S) + Copy + Send + Sync + 'static,
) -> Workload {
    Workload::new(name, LOOP, move || {
        let state = make();
        timed(move || {
            for _ in 0..LOOP {
                operation(&state);
            }
        })
    })
}

/// All inside one outer pool.
pub fn empty_pools() -> [Workload; 3] {
    [
        looped("AutoreleasePool::new, drop", AutoreleasePool::new, |_| {
            drop(black_box(AutoreleasePool::new()));
        }),
        looped("autoreleasepool(|_| {})", AutoreleasePool::new, |_| {
            autoreleasepool(|pool| {
                black_box(pool);
            });
        }),
        looped("push, pop by token", AutoreleasePool::new, |_| {
            let manager = PoolManager::global();
            let released = manager.pop(black_box(manager.push()));
            black_box(released.is_ok());
        }),
    ]
}

fn plain() -> Plain {
    Plain::new(1)
}

/// Clones and drops what `make` gives.
pub fn clone_and_drop<R: Clone + 'static>(
    name: &'static str,
    make: impl Fn() -> R + Send + Sync + 'static,
) -> Workload {
    looped(name, make, |r| drop(black_box(r.clone())))
}

/// Ours first, as in the following.
pub fn clones() -> [Workload; 4] {
    [
        clone_and_drop("Ref", || Ref::new(plain())),
        clone_and_drop("Arc", || Arc::new(plain())),
        clone_and_drop("triomphe::Arc", || triomphe::Arc::new(plain())),
        clone_and_drop("Rc", || Rc::new(plain())),
    ]
}

/// One object at a time.
pub fn new_and_drop<P: Payload>() -> [Workload; 4] {
    [
        looped("Ref", || (), |()| drop(black_box(Ref::new(P::new(1))))),
        looped("Arc", || (), |()| drop(black_box(Arc::new(P::new(1))))),
        looped(
            "triomphe::Arc",
            || (),
            |()| {
                drop(black_box(triomphe::Arc::new(P::new(1))));
            },
        ),
        looped("Rc", || (), |()| drop(black_box(Rc::new(P::new(1))))),
    ]
}

/// A weak reference at a time.
pub fn downgrades() -> [Workload; 2] {
    [
        looped(
            "Ref",
            || Ref::new(plain()),
            |r| {
                drop(black_box(Ref::downgrade(r)));
            },
        ),
        looped(
            "Arc",
            || Arc::new(plain()),
            |r| {
                drop(black_box(Arc::downgrade(r)));
            },
        ),
    ]
}

/// The other way.
pub fn upgrades() -> [Workload; 2] {
    let ours = || {
        let r = Ref::new(plain());
        (Ref::downgrade(&r), r)
    };
    let theirs = || {
        let r = Arc::new(plain());
        (Arc::downgrade(&r), r)
    };
    [
        looped("Ref", ours, |(w, _): &(Weak<Plain>, _)| {
            drop(black_box(w.upgrade()));
        }),
        looped("Arc", theirs, |(w, _)| drop(black_box(w.upgrade()))),
    ]
}

/// A reference out of a pool, kept for a moment.
pub fn retain() -> Workload {
    Workload::new("PoolRef::retain, drop", LOOP, || {
        timed(|| {
            let pool = AutoreleasePool::new();
            let lent = pool.create(plain());
            for _ in 0..LOOP {
                drop(black_box(PoolRef::retain(lent)));
            }
        })
    })
}
