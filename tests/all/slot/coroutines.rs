//! Calls on slots, scopes and pops that are inside coroutines, so that they end in any order.

#![cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]

use crate::support::{Log, Probe, alone, events, fresh_to_the_end, global, listen, on_drop};
use corosensei::{Coroutine, Yielder};
use releasepool::event::EventKind;
use releasepool::{Ref, Slot, autorelease, autoreleasepool};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

type Reader = Coroutine<(), (), ()>;

/// Returns a reader that is suspended inside `with`, and asserts when it goes on that its object is alive.
fn reader(slot: &Arc<Slot<Probe>>, log: Log) -> Reader {
    let slot = slot.clone();
    let mut reader = Coroutine::new(move |yielder: &Yielder<(), ()>, ()| {
        slot.with(|probe| {
            yielder.suspend(());
            assert!(!log.ids().contains(&probe.id), "it was lent");
        });
    });
    reader.resume(());
    reader
}

/// Replaces the slot's object, and releases all that can be released.
fn replace(slot: &Slot<Probe>, log: Log) {
    slot.store(Ref::new(log.probe(2)));
    global().quiesce(Duration::ZERO);
}

#[test]
fn calls_may_end_in_the_order_in_which_they_began() {
    let log = alone!();
    let slot = Arc::new(Slot::new(Ref::new(log.probe(1))));
    let [mut first, mut second] = [(); 2].map(|()| reader(&slot, log));
    first.resume(());
    replace(&slot, log);
    second.resume(());
    global().quiesce(Duration::ZERO);
    assert_eq!(log.ids(), [1]);
}

#[test]
fn a_call_may_end_after_the_exit_of_its_thread() {
    thread_local! {
        static READER: RefCell<Option<Reader>> = const { RefCell::new(None) };
    }
    let log = alone!();
    let slot = Arc::new(Slot::new(Ref::new(log.probe(1))));
    fresh_to_the_end({
        let slot = slot.clone();
        move || {
            // Registered first, so it is dropped after the crate's own.
            READER.with(|reader| reader.borrow_mut().take());
            let suspended = self::reader(&slot, log);
            READER.with(|reader| *reader.borrow_mut() = Some(suspended));
        }
    });
    replace(&slot, log);
    assert_eq!(log.ids(), [1]);
}

#[test]
fn a_scope_may_end_after_the_exit_of_its_thread() {
    thread_local! {
        static SCOPE: RefCell<Option<Reader>> = const { RefCell::new(None) };
    }
    let log = alone!();
    fresh_to_the_end(move || {
        // Registered first, so it is dropped after the crate's own.
        SCOPE.with(|scope| scope.borrow_mut().take());
        let mut suspended = Coroutine::new(move |yielder: &Yielder<(), ()>, ()| {
            autoreleasepool(|pool| {
                pool.create(log.probe(1));
                yielder.suspend(());
            });
        });
        suspended.resume(());
        SCOPE.with(|scope| *scope.borrow_mut() = Some(suspended));
    });
    assert_eq!(log.ids(), [1]);
}

#[test]
fn a_scope_may_end_while_a_destructor_in_the_pop_of_a_token_is_suspended() {
    let log = alone!();
    listen();
    let mut popping = Coroutine::new(move |yielder: &Yielder<(), ()>, ()| {
        let yielder = std::ptr::from_ref(yielder);
        let token = global().push();
        autorelease(Ref::new(on_drop(move || {
            // SAFETY: the coroutine, which lends it, has not ended.
            unsafe { &*yielder }.suspend(());
            log.note(1);
        })));
        assert_eq!(global().pop(token), Ok(1));
    });
    autoreleasepool(|_| _ = popping.resume(()));
    // The pop, which goes on later, closes the pool.
    assert!(events(EventKind::TokenLeft).is_empty());
    assert_eq!(log.count(), 0);
    popping.resume(());
    assert!(popping.done());
    assert_eq!(log.ids(), [1]);
}
