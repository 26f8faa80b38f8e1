//! Lists that are linked by slots: each node's destructor retires the next one.
//!
//! The process has one epoch, so these tests run in processes of their own.

use super::epoch::{FRAMES, live};
use crate::support::{child, events, listen};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, Budget, OptionSlot, Ref};

/// A node of a list that is linked by slots.
pub struct Node {
    _next: OptionSlot<Node>,
}

pub fn list(len: usize) -> OptionSlot<Node> {
    let first = OptionSlot::new(None);
    for _ in 0..len {
        let rest = first.swap(None);
        let _next = OptionSlot::new(rest);
        first.store(Some(Ref::new(Node { _next })));
    }
    first
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_list_that_is_linked_by_slots_dies_within_a_second_of_frames() {
    child!(|| {
        let mut pool = AutoreleasePool::new();
        drop(list(5_000));
        let drains = (1..).find(|_| {
            pool.drain();
            live() == 0
        });
        assert!(drains < Some(FRAMES), "{drains:?} drains");
        drop(list(5_000));
        let drains = (1..).find(|_| {
            pool.drain_within(Budget::Count(1_000));
            live() == 0
        });
        assert!(drains < Some(FRAMES), "{drains:?} drains within a budget");
    })
    .assert_success();
}

/// More than the rounds in which a drain once advanced the epoch.
const LEN: usize = 20_000;

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn one_drain_destroys_a_list_of_any_length() {
    child!(|| {
        listen();
        drop(list(LEN));
        AutoreleasePool::new().drain();
        assert_eq!(live(), 0);
        // No destructor has autoreleased anything.
        let told = events(EventKind::EndlessDrain);
        let text = told[0].to_string();
        assert!(
            text.contains("has released references that slots have retired"),
            "{text}"
        );
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn what_a_budgeted_drain_leaves_of_a_list_remains() {
    child!(|| {
        let mut pool = AutoreleasePool::new();
        for budget in [Budget::All, Budget::Count(10)] {
            drop(list(LEN));
            let done = (0..LEN).find(|_| {
                let left = pool.drain_within(budget).remaining;
                assert_eq!(left == 0, live() == 0, "{left} of {}", live());
                left == 0
            });
            assert!(done.is_some(), "{} nodes are left", live());
        }
    })
    .assert_success();
}
