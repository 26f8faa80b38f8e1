//! Structures that are too deep for the stack: the order in which their objects are destroyed while
//! the queue is being run.

use crate::support::{Log, Probe, fresh, on_drop, panic_of, sized};
use releasepool::object::settle;
use releasepool::{AutoreleasePool, Ref, Weak};
use std::any::Any;
use std::cell::Cell;

/// The length of a chain of which nearly all nodes are destroyed in a run of the queue.
const LONG: u32 = if cfg!(miri) { 600 } else { 30_000 };
/// A number of nodes that is greater than that destroyed before the queue is run.
const FIRST: u32 = if cfg!(miri) { 100 } else { 1_500 };

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

/// A node; its fields are dropped in this order.
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

fn leaf(wanted: bool) -> Option<Ref<Leaf>> {
    wanted.then(|| Ref::new(Leaf))
}

/// Returns a chain of `n` nodes, each with a leaf that is dropped before or after the next node.
fn with_leaves(nodes: u32, end: Option<Ref<Node>>, before: bool) -> Option<Ref<Node>> {
    (0..nodes).fold(end, |next, _| {
        Some(Ref::new(Node {
            _before: leaf(before),
            _next: next,
            _after: leaf(!before),
        }))
    })
}

#[test]
fn leaves_of_a_long_chain_do_not_pile_up() {
    // The first nodes use up some stack, each inside the one before.
    const STEP: usize = sized(50, 7, 1);
    for first in (0..60).chain([180, 185, 370]).step_by(STEP) {
        fresh(move || {
            let chain = with_leaves(first, with_leaves(LONG, None, true), false);
            // This is inside a run of the queue.
            let bare = |_next| {
                Some(Ref::new(Node {
                    _before: None,
                    _next,
                    _after: None,
                }))
            };
            drop((0..FIRST).fold(chain, |next, _| bare(next)));
            let all = first + LONG;
            assert_eq!((NODES.get(), LEAVES.get()), (all + FIRST, all));
            let most = MOST.get() - FIRST;
            assert!(most < LONG / 8, "{most} wait after {first}");
        });
    }
}

#[test]
fn what_an_object_releases_dies_after_it() {
    struct Link {
        _next: Option<Ref<Link>>,
        _me: Probe,
    }
    let log = Log::new();
    let chain = (0..LONG).fold(None, |_next, id| {
        let _me = log.probe(id);
        Some(Ref::new(Link { _next, _me }))
    });
    drop(chain);
    let ids = log.ids();
    // The innermost comes first up to where queueing begins, then the outermost.
    let in_order = ids.windows(2).filter(|two| two[0] == two[1] + 1).count();
    assert!(in_order as u32 >= LONG - FIRST, "{in_order} of {LONG}");
    assert!(log.sorted().into_iter().eq(0..LONG));
}

#[test]
fn shallow_structures_die_in_order_after_a_deep_one_in_the_same_drain() {
    struct Tree {
        me: Probe,
        _children: Vec<Ref<Tree>>,
    }
    fn tree(log: Log, me: u32, children: &[u32]) -> Ref<Tree> {
        let leaf = |&child| tree(log, child, &[]);
        Ref::new(Tree {
            me: log.probe(me),
            _children: children.iter().map(leaf).collect(),
        })
    }
    let log = Log::new();
    let pool = AutoreleasePool::new();
    assert_eq!(pool.autorelease(tree(log, 0, &[1, 2, 3])).me.id, 0);
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
}

/// Calls `f` in the destructor of the last node of a long chain, in a run of the queue.
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

/// An object, and a way to tell whether it is dead.
fn probe(log: Log) -> (Ref<Probe>, Weak<Probe>) {
    let object = Ref::new(log.probe(0));
    let weak = Ref::downgrade(&object);
    (object, weak)
}

#[test]
fn settle_in_a_run_of_the_queue_leaves_nothing() {
    let log = Log::new();
    in_a_run(move || {
        assert_eq!(settle(), 0);
        let (first, _) = probe(log);
        let (second, weak) = probe(log);
        drop((first, second));
        // Dead, whether it is destroyed or not.
        assert!(weak.upgrade().is_none());
        assert_eq!(log.count(), 0, "both wait");
        assert_eq!(settle(), 2);
        assert_eq!(log.count(), 2);
        assert_eq!(settle(), 0);
        log.note(1);
    });
    assert_eq!(log.ids(), [0, 0, 1]);
}

#[test]
fn pool_that_is_drained_in_a_run_of_the_queue_leaves_nothing() {
    let log = Log::new();
    in_a_run(move || {
        struct Owner {
            _owned: Ref<Probe>,
        }
        let owner = || Owner {
            _owned: probe(log).0,
        };
        drop(probe(log));
        let mut pool = AutoreleasePool::new();
        pool.create(owner());
        pool.drain();
        // The objects in the pool, and those that they owned.
        assert_eq!(log.count(), 1);
        pool.create(owner());
        drop(pool);
        assert_eq!(log.count(), 2);
        log.note(1);
    });
    // Objects that were released before are destroyed last.
    assert_eq!(log.ids(), [0, 0, 1, 0]);
}

#[test]
fn panic_in_a_run_of_the_queue_loses_nothing_that_was_released() {
    let log = Log::new();
    let panic = panic_of(|| {
        in_a_run(move || {
            drop(probe(log));
            drop(probe(log));
            panic!("of the last one");
        });
    });
    assert_eq!(panic, "of the last one");
    assert_eq!(log.ids(), [0, 0]);
}

#[test]
fn panic_of_what_waits_comes_out_at_the_end() {
    let log = Log::new();
    let panic = panic_of(|| {
        in_a_run(move || {
            drop(Ref::new(on_drop(|| panic!("of what waits"))));
            let own = panic_of(|| {
                let _held = probe(log).0;
                panic!("its own");
            });
            assert_eq!(own, "its own");
            log.note(1);
        });
    });
    assert_eq!(panic, "of what waits");
    assert_eq!(log.ids(), [1, 0]);
}
