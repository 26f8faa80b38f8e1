//! Guards that are forgotten, moved out of their scope, or swapped.

use crate::pool::nesting::open_pools;
use crate::support::{fresh, global, on_drop, panic_of, with_log};
use releasepool::{AutoreleasePool, Ref, autorelease, autoreleasepool};

#[test]
fn inner_guard_forgotten_leaks_its_own_entries_only() {
    with_log(|log| {
        let outermost = AutoreleasePool::new();
        autoreleasepool(|_| {
            let outer = AutoreleasePool::new();
            outer.create(log.probe(1));
            let inner = AutoreleasePool::new();
            inner.create(log.probe(2));
            std::mem::forget(inner);
            drop(outer);
            assert_eq!(log.ids(), [1]);
            // The forgotten pool is current until the scope ends, and leaks its entries.
            autorelease(Ref::new(log.probe(3)));
        });
        autorelease(Ref::new(log.probe(4)));
        assert_eq!(
            outermost.len(),
            1,
            "the pool that was current before the scope is current again"
        );
        drop(outermost);
        assert_eq!(log.ids(), [1, 4]);
    });
}

#[test]
fn inner_guard_forgotten_in_autoreleasepool_does_not_swallow_later_releases() {
    with_log(|log| {
        let outer = AutoreleasePool::new();
        autoreleasepool(|_| std::mem::forget(AutoreleasePool::new()));
        autorelease(Ref::new(log.probe(0)));
        // Even the guard of `autoreleasepool` itself can be swapped out and forgotten.
        autoreleasepool(|pool| {
            std::mem::forget(std::mem::replace(pool, AutoreleasePool::new()));
        });
        autorelease(Ref::new(log.probe(1)));
        panic_of(|| {
            autoreleasepool(|_| {
                std::mem::forget(AutoreleasePool::new());
                panic!("out of the scope");
            })
        });
        autorelease(Ref::new(log.probe(2)));
        assert_eq!(outer.len(), 3);
        drop(outer);
        assert_eq!(log.ids(), [2, 1, 0]);
    });
}

#[test]
fn forgotten_pools_lend_for_ever() {
    let pool: &'static AutoreleasePool = Box::leak(Box::default());
    let lent: &'static String = releasepool::PoolRef::get(pool.create(String::from("kept")));
    let inner = AutoreleasePool::new();
    drop(inner);
    fresh(|| assert_eq!(lent, "kept"));
    assert_eq!(lent, "kept");
}

#[test]
fn guard_moved_out_of_autoreleasepool_keeps_its_entries() {
    with_log(|log| {
        let outer = AutoreleasePool::new();
        let escaped = autoreleasepool(|pool| {
            pool.create(log.probe(0));
            std::mem::take(pool)
        });
        assert_eq!((escaped.len(), log.count()), (1, 0));
        autorelease(Ref::new(0));
        assert_eq!((outer.len(), escaped.len()), (1, 1));
        drop(escaped);
        assert_eq!(log.ids(), [0]);
    });
}

#[test]
fn guard_of_autoreleasepool_dropped_inside_leaves_the_scope() {
    with_log(|log| {
        let mut outer = Some(AutoreleasePool::new());
        let below = AutoreleasePool::new();
        let mut kept = Vec::new();
        autoreleasepool(|pool| {
            pool.create(log.probe(0));
            drop(std::mem::replace(pool, AutoreleasePool::new()));
            assert_eq!(log.ids(), [0]);
            assert_eq!(open_pools(), 3, "counted as closed");
            autorelease(Ref::new(0));
            assert_eq!(pool.len(), 1, "the pool that took its place is current");
            // Pools opened now are inside the scope, and outlive it.
            kept.push(AutoreleasePool::new());
            outer = None;
            autorelease(Ref::new(0));
            assert_eq!(kept[0].len(), 1);
        });
        autorelease(Ref::new(0));
        assert_eq!((below.len(), global().drain_root()), (1, 0));
    });
}

#[test]
fn scopes_whose_guards_change_places_end_in_order() {
    with_log(|log| {
        let outer = AutoreleasePool::new();
        autoreleasepool(|a| {
            a.create(log.probe(1));
            autoreleasepool(|b| {
                b.create(log.probe(2));
                std::mem::swap(a, b);
            });
            assert_eq!(log.ids(), [1]);
            autorelease(Ref::new(log.probe(3)));
            assert_eq!(
                (outer.len(), a.len()),
                (1, 1),
                "neither scope's pool is current"
            );
        });
        assert_eq!(log.ids(), [1, 2]);
        autorelease(Ref::new(log.probe(4)));
        assert_eq!(outer.len(), 2);
        drop(outer);
        assert_eq!((log.ids(), open_pools()), (vec![1, 2, 4, 3], 0));
    });
}

#[test]
fn scope_ends_even_if_the_guard_that_replaces_its_own_panics() {
    with_log(|log| {
        let outer = AutoreleasePool::new();
        for escapes in [true, false] {
            let mut escaped = None;
            let panic = panic_of(|| {
                autoreleasepool(|pool| {
                    pool.create(log.probe(0));
                    let own = std::mem::replace(pool, AutoreleasePool::named("other"));
                    pool.create(on_drop(|| panic!("of the other")));
                    escaped = escapes.then_some(own);
                })
            });
            assert_eq!(panic, "of the other");
            autorelease(Ref::new(0));
            assert_eq!(open_pools(), 1 + usize::from(escapes));
        }
        assert_eq!((outer.len(), log.ids()), (2, vec![0, 0]));
    });
}
