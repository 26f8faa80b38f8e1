//! Wakers that are references.

use crate::support::Log;
use releasepool::task::Wake;
use releasepool::{AutoreleasePool, Ref};
use std::task::{Context, RawWaker, Waker};
use std::thread;

/// Logs 1 when it is woken, 2 when it is woken by reference, and 3 when it is destroyed.
struct Woken(Log);

impl Wake for Woken {
    fn wake(this: Ref<Self>) {
        this.0.note(1);
    }

    fn wake_by_ref(this: &Ref<Self>) {
        this.0.note(2);
    }
}

impl Drop for Woken {
    fn drop(&mut self) {
        self.0.note(3);
    }
}

#[test]
fn a_waker_owns_its_reference() {
    let log = Log::new();
    let object = Ref::new(Woken(log));
    let waker = Waker::from(object.clone());
    assert_eq!(Ref::strong_count(&object), 2);
    let other = waker.clone();
    assert!(waker.will_wake(&other) && other.will_wake(&waker));
    assert_eq!(Ref::strong_count(&object), 3);
    other.wake_by_ref();
    other.wake();
    assert_eq!((log.ids(), Ref::strong_count(&object)), (vec![2, 1], 2));
    drop(object);
    Context::from_waker(&waker).waker().wake_by_ref();
    thread::spawn(|| drop(waker)).join().unwrap();
    assert_eq!(log.ids(), [2, 1, 2, 3]);
}

#[test]
fn waking_by_reference_retains_by_default() {
    struct Counted(Log);
    impl Wake for Counted {
        fn wake(this: Ref<Self>) {
            this.0.note(Ref::strong_count(&this) as u32);
        }
    }
    let log = Log::new();
    let pool = AutoreleasePool::new();
    // SAFETY: a raw waker that was made from a reference keeps the contract.
    let waker = unsafe { Waker::from_raw(RawWaker::from(Ref::new(Counted(log)))) };
    waker.wake_by_ref();
    waker.wake();
    assert_eq!((log.ids(), pool.len()), (vec![2, 1], 0));
}
