//! Structures that are too deep for the stack: in which order their objects die while the
//! queue is run, and what is gone when.

use crate::support::{Log, Probe, fresh, on_drop};
use releasepool::{AutoreleasePool, Ref, Weak, settle};
use std::any::Any;
use std::cell::Cell;

/// Deep enough that nearly all of it dies in a run of the queue.
const LONG: u32 = if cfg!(miri) { 2_000 } else { 30_000 };
/// More than die before that.
const FIRST: u32 = 1_500;

thread_local! {
    static NODES: Cell<u32> = const { Cell::new(0) };
    static LEAVES: Cell<u32> = const { Cell::new(0) };
    static MOST: Cell<u32> = const { Cell::new(0) };
}

struct Leaf;

impl Drop for Leaf {
    fn drop(&mut self) {
        LEAVES.set(LEAVES.get() + 1);
    }
}

/// Dropped in the order of the fields.
struct Node {
    _before: Option<Ref<Leaf>>,
    _next: Option<Ref<Node>>,
    _after: Option<Ref<Leaf>>,
}

impl Drop for Node {
    fn drop(&mut self) {
        NODES.set(NODES.get() + 1);
        MOST.set(MOST.get().max(NODES.get().abs_diff(LEAVES.get())));
    }
}

#[test]
#[cfg_attr(miri, ignore = "its addresses say nothing of how deep the stack is")]
fn leaves_of_a_long_chain_do_not_pile_up() {
    for (before, after) in [(true, false), (false, true)] {
        fresh(move || {
            let leaf = |wanted: bool| wanted.then(|| Ref::new(Leaf));
            let chain = (0..LONG).fold(None, |next, _| {
                Some(Ref::new(Node {
                    _before: leaf(before),
                    _next: next,
                    _after: leaf(after),
                }))
            });
            drop(chain);
            assert_eq!((NODES.get(), LEAVES.get()), (LONG, LONG));
            if before {
                // As with `Arc`: a leaf, and then the next node.
                assert!(MOST.get() <= FIRST, "{}", MOST.get());
            }
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "its addresses say nothing of how deep the stack is")]
fn what_is_released_last_dies_after_the_object_that_released_it() {
    struct Link {
        _next: Option<Ref<Link>>,
        _me: Probe,
    }
    fresh(|| {
        let log = Log::new();
        let chain = (0..LONG).fold(None, |_next, id| {
            let _me = log.probe(id);
            Some(Ref::new(Link { _next, _me }))
        });
        drop(chain);
        let ids = log.ids();
        // Up to where the queue begins the innermost comes first, then the outermost.
        let in_order = ids.windows(2).filter(|two| two[0] == two[1] + 1).count();
        assert!(in_order as u32 >= LONG - FIRST, "{in_order} of {LONG}");
        let mut sorted = ids;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..LONG));
    });
}

#[test]
#[cfg_attr(miri, ignore = "its addresses say nothing of how deep the stack is")]
fn shallow_structures_die_in_order_after_a_deep_one_in_the_same_drain() {
    struct Tree {
        me: Probe,
        _children: Vec<Ref<Tree>>,
    }
    fn tree(log: &Log, me: u32, children: &[u32]) -> Ref<Tree> {
        let leaf = |&child| tree(log, child, &[]);
        Ref::new(Tree {
            me: log.probe(me),
            _children: children.iter().map(leaf).collect(),
        })
    }
    fresh(|| {
        let log = Log::new();
        let pool = AutoreleasePool::new();
        assert_eq!(pool.autorelease(tree(&log, 0, &[1, 2, 3])).me.id, 0);
        let chain = (0..LONG).fold(None, |next, _| {
            Some(Ref::new(Node {
                _before: None,
                _next: next,
                _after: None,
            }))
        });
        pool.autorelease(chain.unwrap());
        drop(pool);
        assert_eq!((NODES.get(), log.ids()), (LONG, vec![0, 1, 2, 3]));
    });
}

/// Has `f` called in the destructor of the last of a long chain, in a run of the queue.
fn in_a_run(f: impl FnOnce() + Send + 'static) {
    struct Link(#[expect(dead_code)] Option<Ref<dyn Any>>);
    fresh(|| {
        let end: Ref<dyn Any> = releasepool::unsize!(Ref::new(on_drop(f)) => dyn Any);
        let chain = (0..LONG).fold(
            end,
            |next, _| releasepool::unsize!(Ref::new(Link(Some(next))) => dyn Any),
        );
        drop(chain);
    });
}

/// An object, and how to see whether it is dead.
fn probe(log: &Log) -> (Ref<Probe>, Weak<Probe>) {
    let object = Ref::new(log.probe(0));
    let weak = Ref::downgrade(&object);
    (object, weak)
}

#[test]
#[cfg_attr(miri, ignore = "its addresses say nothing of how deep the stack is")]
fn settle_in_a_run_of_the_queue_leaves_nothing() {
    let log = Log::new();
    let inner = log.clone();
    in_a_run(move || {
        assert_eq!(settle(), 0);
        let (first, _) = probe(&inner);
        let (second, weak) = probe(&inner);
        drop(first);
        drop(second);
        assert!(
            weak.upgrade().is_none(),
            "dead, whether it is destroyed or not"
        );
        assert_eq!(inner.count(), 1, "the first died when the second came");
        assert_eq!(settle(), 1);
        assert_eq!(inner.count(), 2);
        assert_eq!(settle(), 0);
        inner.note(1);
    });
    assert_eq!(log.ids(), [0, 0, 1]);
}

#[test]
#[cfg_attr(miri, ignore = "its addresses say nothing of how deep the stack is")]
fn pool_that_is_drained_in_a_run_of_the_queue_leaves_nothing() {
    let log = Log::new();
    let inner = log.clone();
    in_a_run(move || {
        struct Owner {
            _owned: Ref<Probe>,
        }
        let owner = || Owner {
            _owned: probe(&inner).0,
        };
        drop(probe(&inner));
        let mut pool = AutoreleasePool::new();
        pool.create(owner());
        pool.drain();
        assert_eq!(
            inner.count(),
            1,
            "what was in the pool, with what that owned"
        );
        pool.create(owner());
        drop(pool);
        assert_eq!(inner.count(), 2);
        inner.note(1);
    });
    assert_eq!(
        log.ids(),
        [0, 0, 1, 0],
        "what was released before dies last"
    );
}

#[test]
fn panic_in_a_run_of_the_queue_loses_nothing_that_was_released() {
    let log = Log::new();
    let inner = log.clone();
    let panic = crate::support::panic_of(|| {
        in_a_run(move || {
            drop(probe(&inner));
            drop(probe(&inner));
            panic!("of the last one");
        });
    });
    assert_eq!(panic, "of the last one");
    assert_eq!(log.ids(), [0, 0]);
}
