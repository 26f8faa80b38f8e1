//! Budgeted drains deep inside a destructor, where destructors wait for the outermost release.

use crate::support::{deep_down, fresh, on_drop, with_log};
use releasepool::{AutoreleasePool, Budget, Ref};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

#[test]
fn time_budgets_apply_deep_inside_a_destructor() {
    fresh(|| {
        let remaining = Rc::new(Cell::new(0));
        let inner = remaining.clone();
        drop(Ref::new(on_drop(move || {
            deep_down(64, || {
                let mut pool = AutoreleasePool::new();
                (0..100).for_each(|n| _ = pool.create(Box::new(n)));
                let drained = pool.drain_within(Budget::Time(Duration::from_nanos(1)));
                inner.set(drained.remaining);
            });
        })));
        assert_eq!(remaining.get(), 84);
    });
}

#[test]
fn drain_deep_inside_a_destructor_leaves_all_destructors_to_the_outermost() {
    with_log(|log| {
        let (plain, seen) = (Ref::new(log.probe(1)), Ref::new(log.probe(2)));
        let weak = Ref::downgrade(&seen);
        drop(Ref::new(on_drop(move || {
            deep_down(64, || {
                let mut pool = AutoreleasePool::new();
                pool.autorelease(plain);
                pool.autorelease(seen);
                let drained = pool.drain_within(Budget::All);
                assert_eq!((drained.released, drained.remaining), (2, 0));
                assert_eq!(log.count(), 0);
            });
        })));
        assert!(weak.upgrade().is_none());
        assert_eq!(log.count(), 2);
    });
}
