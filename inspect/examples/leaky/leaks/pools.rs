//! Pools that nothing drains.

use super::INSTANCES;
use releasepool::{AutoreleasePool, HandoffPool, PoolManager, Ref, autorelease};
use std::mem;
use std::sync::mpsc;
use std::thread;

/// An object in a pool that stays open as long as its thread runs.
pub struct Leak20Event(pub u64);

/// An object that was autoreleased to the root pool of a thread that never drains the pool.
pub struct Leak21Stray(pub u64);

/// An object in a pool whose guard was forgotten.
pub struct Leak22Sprite(pub u64);

/// An object in a handoff pool that was forgotten.
pub struct Leak23Scene(pub u64);

/// More entries than any pool that is drained ever has.
const MANY: u64 = 12_000;

#[inline(never)]
pub fn plant() {
    on_a_thread("events", || {
        let pool = AutoreleasePool::named("events");
        for n in 0..MANY {
            pool.create(Leak20Event(n));
        }
        pool
    });
    on_a_thread("strays", || {
        for n in 0..MANY {
            autorelease(Ref::new(Leak21Stray(n)));
        }
        PoolManager::global().current_thread()
    });
    for n in 0..INSTANCES as u64 {
        let pool = AutoreleasePool::new();
        pool.create(Leak22Sprite(n));
        mem::forget(pool);
        let pool = HandoffPool::new();
        pool.create(Leak23Scene(n));
        mem::forget(pool);
    }
}

/// Runs the closure on a thread that then does nothing more.
fn on_a_thread<R>(name: &str, f: impl FnOnce() -> R + Send + 'static) {
    let (ready, wait) = mpsc::channel();
    let body = move || {
        let kept = f();
        ready.send(()).expect("the main thread waits");
        drop(ready);
        loop {
            thread::park();
            std::hint::black_box(&kept);
        }
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.expect("a thread can be started");
    wait.recv().expect("the thread is ready");
}
