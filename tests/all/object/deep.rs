//! Structures of any depth are destroyed in constant stack space, shallow ones in `Arc`'s order.

mod queue;

use crate::support::allocator::left_over;
use crate::support::{Chain, Log, PAGE, alone, deep_down, global, listen, on_drop, sized, totals};
use releasepool::object::settle;
use releasepool::{AutoreleasePool, Ref, autorelease, autoreleasepool};
use std::cell::Cell;
use std::thread;

/// Runs `f` on a thread with a small stack. The thread's events are kept.
fn on_a_small_stack(f: impl FnOnce() + Send + 'static) {
    listen();
    let thread = thread::Builder::new().stack_size(128 * 1024).spawn(f);
    thread.unwrap().join().unwrap();
}

thread_local! {
    static DEAD: Cell<u32> = const { Cell::new(0) };
}

fn died() {
    DEAD.set(DEAD.get() + 1);
}

struct Node {
    _next: Option<Ref<Node>>,
}

impl Drop for Node {
    fn drop(&mut self) {
        died();
    }
}

const MANY: u32 = sized(1_500, 300_000, 3_000_000) as u32;
const FEWER: u32 = sized(1_000, 60_000, 200_000) as u32;

fn chain(len: u32) -> Option<Ref<Node>> {
    (0..len).fold(None, |next, _| Some(Ref::new(Node { _next: next })))
}

#[test]
fn last_release_inside_a_destructor_millions_deep_in_constant_stack() {
    on_a_small_stack(|| {
        drop(chain(MANY));
        assert_eq!(DEAD.get(), MANY);
    });
}

#[test]
fn chain_in_the_root_pool_at_thread_exit_dies_in_constant_stack() {
    let log = Log::new();
    on_a_small_stack(move || {
        struct Last(Option<Ref<Node>>, Log);
        impl Drop for Last {
            fn drop(&mut self) {
                self.0 = None;
                settle();
                self.1.note(DEAD.get());
            }
        }
        autorelease(Ref::new(Last(chain(FEWER), log)));
    });
    assert_eq!(log.ids(), [FEWER]);
}

#[test]
fn chain_of_slices_and_trait_objects() {
    struct Link(#[expect(dead_code)] Option<Ref<dyn std::any::Any>>);
    impl Drop for Link {
        fn drop(&mut self) {
            died();
        }
    }
    on_a_small_stack(|| {
        let mut head: Option<Ref<dyn std::any::Any>> = None;
        for i in 0..FEWER {
            let link = Link(head.take());
            head = Some(if i % 2 == 0 {
                releasepool::unsize!(Ref::new(link) => dyn std::any::Any)
            } else {
                let slice = Ref::<[Link]>::from([link]);
                let array = Ref::<[Link; 1]>::try_from(slice).ok().unwrap();
                releasepool::unsize!(array => dyn std::any::Any)
            });
        }
        drop(head);
        assert_eq!(DEAD.get(), FEWER);
    });
}

#[test]
fn chain_that_is_freed_through_pools_opened_in_destructors() {
    struct Pooled(Option<Ref<Pooled>>);
    impl Drop for Pooled {
        fn drop(&mut self) {
            died();
            let Some(next) = self.0.take() else { return };
            match DEAD.get() % 4 {
                0 => autoreleasepool(|_| autorelease(next)),
                1 => {
                    let token = global().push();
                    autorelease(next);
                    assert_eq!(global().pop(token), Ok(1));
                }
                2 => drop(AutoreleasePool::new().autorelease(next).0.is_some()),
                _ => {
                    let mut pool = AutoreleasePool::named("in a destructor");
                    pool.autorelease(next);
                    pool.drain();
                }
            }
        }
    }
    on_a_small_stack(|| {
        let head = (0..FEWER).fold(None, |next, _| Some(Ref::new(Pooled(next))));
        drop(head);
        assert_eq!(DEAD.get(), FEWER);
        let head = (0..FEWER).fold(None, |next, _| Some(Ref::new(Pooled(next))));
        AutoreleasePool::new().autorelease(head.unwrap());
        assert_eq!(DEAD.get(), 2 * FEWER);
    });
}

#[test]
fn trees_that_are_wide_and_deep() {
    struct Tree(#[expect(dead_code)] Vec<Ref<Tree>>);
    impl Drop for Tree {
        fn drop(&mut self) {
            died();
        }
    }
    fn leaves(n: u32) -> Vec<Ref<Tree>> {
        (0..n).map(|_| Ref::new(Tree(Vec::new()))).collect()
    }
    on_a_small_stack(|| {
        // Each node has a hundred leaves, with the next node in the middle of them.
        let depth = FEWER / 100;
        let mut spine = Ref::new(Tree(leaves(100)));
        for _ in 1..depth {
            let mut children = leaves(100);
            children.insert(50, spine);
            spine = Ref::new(Tree(children));
        }
        drop(spine);
        assert_eq!(DEAD.replace(0), depth * 101);

        // A full binary tree; only one level of it at a time is on the stack.
        let mut level: Vec<_> = leaves(FEWER / 2);
        let mut all = level.len() as u32;
        while level.len() > 1 {
            let mut nodes = level.into_iter();
            let mut above = Vec::new();
            while let Some(left) = nodes.next() {
                above.push(Ref::new(Tree(
                    [left].into_iter().chain(nodes.next()).collect(),
                )));
            }
            level = above;
            all += level.len() as u32;
        }
        drop(level);
        assert_eq!(DEAD.get(), all);
    });
}

/// A link that notes when its destructor begins and ends; the next one is dropped in between.
struct Noisy(u32, Log, Option<Ref<Noisy>>);

impl Drop for Noisy {
    fn drop(&mut self) {
        self.1.note(self.0);
        self.2 = None;
        self.1.note(self.0);
    }
}

#[test]
fn shallow_structures_die_as_destructors_nest() {
    let log = Log::new();
    let chain = (0..10).fold(None, |next, id| Some(Ref::new(Noisy(id, log, next))));
    drop(chain);
    assert!(log.ids().into_iter().eq((0..10).rev().chain(0..10)));
}

/// Calls `f` in a destructor, with so much of the stack in use.
fn in_a_destructor(kib: u32, f: impl FnOnce() + 'static) {
    drop(Ref::new(on_drop(move || deep_down(kib, f))));
}

#[test]
fn a_drain_in_a_destructor_destroys_at_once_though_the_thread_has_run_a_queue_before() {
    on_a_small_stack(|| {
        drop(chain(2_000));
        let log = Log::new();
        drop(Ref::new(on_drop(move || {
            let mut pool = AutoreleasePool::new();
            pool.create(log.probe(1));
            assert_eq!((pool.drain(), log.count()), (1, 1));
        })));
        assert_eq!(log.count(), 1);
    });
}

#[test]
fn threads_that_have_run_a_queue_leave_no_memory() {
    alone!();
    let run = || on_a_small_stack(|| drop(chain(2_000)));
    assert!(left_over(20, run) <= 0);
}

#[test]
fn settle_counts_what_it_destroys() {
    let log = Log::new();
    for kib in [0, 48] {
        in_a_destructor(kib, move || {
            (0..3).for_each(|_| drop(chain(1)));
            log.note(DEAD.get());
            log.note(settle() as u32);
        });
    }
    // Destroyed at once while shallow; all three queue once more than 32 KiB are used.
    assert_eq!(log.ids(), [3, 0, 3, 3]);
    assert_eq!(DEAD.get(), 6);
}

/// Calls `f` with at least so many bytes of stack in use below `top`, and few more.
fn at_depth(top: usize, bytes: usize, f: impl FnOnce()) {
    let here = std::hint::black_box(0_u8);
    if top.abs_diff((&raw const here).addr()) < bytes {
        at_depth(top, bytes, f);
    } else {
        f();
    }
    std::hint::black_box(&here);
}

#[test]
#[cfg_attr(
    any(miri, releasepool_asan),
    ignore = "addresses of local variables do not tell the depth there"
)]
fn releases_queue_once_destructors_use_32_kib_of_stack() {
    let log = Log::new();
    for kib in [28, 40] {
        let top = std::hint::black_box(0_u8);
        let top = (&raw const top).addr();
        let f = move || {
            drop(chain(1));
            log.note(settle() as u32);
        };
        drop(Ref::new(on_drop(move || at_depth(top, kib * 1_024, f))));
    }
    assert_eq!(log.ids(), [0, 1]);
}

#[test]
fn deep_destructors_may_drain_pools_and_what_they_drained_dies_after_them() {
    let log = Log::new();
    in_a_destructor(48, move || {
        let mut pool = AutoreleasePool::new();
        (0..3).for_each(|id| _ = pool.create(log.probe(id)));
        let kept = Ref::new(log.probe(10));
        pool.autorelease(kept.clone());
        assert_eq!(pool.drain(), 4);
        assert_eq!((pool.len(), Ref::strong_count(&kept)), (0, 1));
        settle();
        assert_eq!(log.count(), 3);
    });
    assert_eq!(log.count(), 4);
}

#[test]
#[cfg_attr(
    feature = "leak-detection",
    ignore = "with the ledger, drains destroy objects one by one"
)]
fn a_deep_drain_destroys_objects_without_a_destructor_at_once() {
    in_a_destructor(48, || {
        let mut pool = AutoreleasePool::new();
        // The newest two are in a page of their own.
        (0..PAGE + 2).for_each(|n| _ = pool.create(n));
        let before = totals().destroyed;
        assert_eq!(pool.drain(), PAGE + 2);
        assert_eq!(totals().destroyed - before, PAGE as u64 + 2);
    });
}

#[test]
fn a_drain_counts_the_stack_of_its_entries_from_its_own_frame() {
    // Deep in the stack, but not inside a destructor, so nothing queues.
    deep_down(60, || {
        let mut pool = AutoreleasePool::new();
        pool.autorelease(chain(3).unwrap());
        pool.drain();
        drop(chain(2));
    });
    assert_eq!(DEAD.get(), 5);
}

#[test]
fn weak_reference_to_an_object_that_is_queued_finds_nothing() {
    on_a_small_stack(|| {
        let mut head = None;
        let node = |_| {
            let node = Ref::new(Node { _next: head.take() });
            head = Some(node.clone());
            Ref::downgrade(&node)
        };
        let all: Vec<_> = (0..FEWER).map(node).collect();
        drop(Ref::new(on_drop(move || {
            drop(head);
            let alive = all.iter().filter(|node| node.upgrade().is_some()).count();
            let dead = DEAD.get();
            assert_eq!(alive as u32 + dead, FEWER - 1, "one waits in between");
        })));
        assert_eq!(DEAD.get(), FEWER);
    });
}

#[test]
fn while_the_queue_is_run_few_objects_wait_in_it() {
    let log = Log::new();
    drop(Chain::ending_in(move || {
        (0..40).for_each(|id| drop(Ref::new(log.probe(id))));
        assert_eq!(log.count(), 40 - 32);
    }));
    assert_eq!(log.count(), 40);
}
