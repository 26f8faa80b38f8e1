//! The public tests of arc-swap, by slots in the place of its `ArcSwapAny`.
//!
//! Adapted from arc-swap 1.9.3 by Michal 'vorner' Vaner, licensed under Apache-2.0 or MIT:
//! `tests/stress.rs`, `tests/bug-198.rs`, and the tests of counts in `src/lib.rs`. What its
//! `tests/random.rs` does is part of the programs in `random::threads`.
//! Facts that differ are those that its users must know, too:
//!
//! * What a slot gives up is released in a drain. So tests of counts wait for that.
//! * Values are `'static`: counters are shared by `Arc`, not borrowed.
//! * `rcu` passes a `&T`. Where a closure of arc-swap's clones the `Arc` that it gets, [`rcu`] here
//!   makes the exchange by `load_full` and `compare_exchange`.
//! * `load` lends from a pool, without a limit on what is lent at a time.

use super::slots::settle_until;
use crate::support::on_threads;
use releasepool::slot::OptionSlot;
use releasepool::{AutoreleasePool, PoolRef, Ref, Slot};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

const THREADS: usize = if cfg!(miri) { 2 } else { 4 };
const NODES: usize = if cfg!(miri) { 2 } else { 100 };
const ROUNDS: usize = if cfg!(miri) { 2 } else { 5 };

/// Replaces the content of a slot by `f`, which gets a reference of its own.
fn rcu<T: Send + Sync + 'static>(
    slot: &OptionSlot<T>,
    mut f: impl FnMut(Option<Ref<T>>) -> Ref<T>,
) {
    loop {
        // The reference keeps the address from being used again.
        let now = slot.load_full();
        let new = f(now.clone());
        if slot.compare_exchange(now.as_deref(), Some(new)).is_ok() {
            return;
        }
    }
}

/// A node of a list that all threads build at once.
struct Node {
    next: OptionSlot<Node>,
    num: usize,
    owner: usize,
}

#[test]
fn storm_link_list() {
    let (head, barrier) = (OptionSlot::<Node>::empty(), Barrier::new(THREADS));
    let build = |owner| {
        let nodes: Vec<_> = (0..NODES)
            .map(|num| {
                Ref::new(Node {
                    next: OptionSlot::empty(),
                    num,
                    owner,
                })
            })
            .collect();
        for _ in 0..ROUNDS {
            barrier.wait();
            for node in nodes.iter().rev() {
                rcu(&head, |head| {
                    node.next.store(head);
                    node.clone()
                });
            }
            barrier.wait();
            // Each thread's numbers are there, and increase by one.
            let pool = AutoreleasePool::new();
            let (mut at, mut expected) = (head.load(&pool), 0);
            while let Some(node) = at {
                if node.owner == owner {
                    assert_eq!(node.num, expected);
                    expected += 1;
                }
                at = PoolRef::get(node).next.load(&pool);
            }
            assert_eq!(expected, NODES);
            drop(pool);
            barrier.wait();
            // One reference is in the vector, and one in the list.
            settle_until(|| nodes.iter().all(|node| Ref::strong_count(node) == 2));
            barrier.wait();
            head.store(None);
            nodes[NODES - 1].next.store(None);
        }
        barrier.wait();
        head.store(None);
        nodes.iter().for_each(|node| node.next.store(None));
        barrier.wait();
        settle_until(|| nodes.iter().all(|node| Ref::strong_count(node) == 1));
    };
    on_threads(THREADS, build);
}

/// A node of a list that all threads build and take apart at once.
struct CountedNode {
    next: Option<Ref<CountedNode>>,
    num: usize,
    owner: usize,
    live: Arc<AtomicUsize>,
}

impl Drop for CountedNode {
    fn drop(&mut self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn storm_unroll() {
    let (head, barrier) = (OptionSlot::<CountedNode>::empty(), Barrier::new(THREADS));
    let live = Arc::new(AtomicUsize::new(THREADS * NODES * ROUNDS));
    let taken = AtomicUsize::new(0);
    let storm = |owner: usize| {
        for round in 1..=ROUNDS {
            barrier.wait();
            for num in 0..NODES {
                let (next, live) = (None, live.clone());
                let mut node = Some(Ref::new(CountedNode {
                    next,
                    num,
                    owner,
                    live,
                }));
                rcu(&head, |head| {
                    // If the exchange has failed, the node has come back with its last reference.
                    let mut new = node.take().expect("it comes back");
                    Ref::get_mut(&mut new).unwrap().next = head;
                    node = Some(new.clone());
                    new
                });
            }
            if barrier.wait().is_leader() {
                let mut at = head.load_full();
                let mut n = 0;
                while let Some(node) = at {
                    n += 1;
                    at = node.next.clone();
                }
                assert_eq!(n, NODES * THREADS);
            }
            barrier.wait();
            // Each thread's numbers come out in the order that is the reverse of the one they went in.
            let mut last = [NODES; THREADS];
            while let Some(node) = head.rcu(|head| head?.next.clone()) {
                assert!(last[node.owner] > node.num);
                last[node.owner] = node.num;
                taken.fetch_add(1, Ordering::Relaxed);
            }
            if barrier.wait().is_leader() {
                assert_eq!(taken.swap(0, Ordering::Relaxed), NODES * THREADS);
            }
            settle_until(|| live.load(Ordering::Relaxed) == (ROUNDS - round) * NODES * THREADS);
        }
    };
    on_threads(THREADS, storm);
    assert_eq!(live.load(Ordering::Relaxed), 0);
}

/// arc-swap#198: a reader saw values go back.
#[test]
fn bug_198() {
    const TIMES: usize = if cfg!(miri) { 3 } else { 300 };
    for _ in 0..TIMES {
        let slot = Slot::new(Ref::new(0));
        let pool = AutoreleasePool::new();
        let _lent = [(); 8].map(|()| slot.load(&pool));
        let start = Barrier::new(3);
        thread::scope(|scope| {
            for value in [1, 2] {
                let (slot, start) = (&slot, &start);
                scope.spawn(move || {
                    start.wait();
                    slot.store(Ref::new(value));
                });
            }
            start.wait();
            let [first, second] = [(); 2].map(|()| slot.load(&pool));
            if *first != *second && *first != 0 {
                assert_eq!(*second, *slot.load(&pool));
            }
        });
    }
}

#[test]
fn load_cnt() {
    let a = Ref::new(0);
    let shared = Slot::new(a.clone());
    assert_eq!(Ref::strong_count(&a), 2);
    let mut pool = AutoreleasePool::new();
    let lent = [shared.load(&pool), shared.load(&pool)];
    // What is lent has no count of its own, also after a store.
    assert_eq!(Ref::strong_count(&a), 2);
    shared.store(Ref::new(1));
    assert_eq!((*lent[0], *lent[1], Ref::strong_count(&a)), (0, 0, 2));
    let kept = PoolRef::retain(lent[0]);
    assert_eq!(Ref::strong_count(&a), 3);
    drop(kept);
    assert!(pool.is_empty());
    pool.drain();
    settle_until(|| Ref::strong_count(&a) == 1);
    let lent = shared.load(&pool);
    let mut before = shared.swap(Ref::new(2));
    // No other test's thread releases the slot's own reference, as the pool is pinned.
    assert_eq!((*lent, Ref::strong_count(&before)), (1, 2));
    pool.drain();
    settle_until(|| Ref::strong_count(&before) == 1);
    assert_eq!(Ref::get_mut(&mut before), Some(&mut 1));
    let lent = shared.load(&pool);
    drop(shared);
    // It may be used after the slot is gone.
    assert_eq!(*lent, 2);
    let kept = PoolRef::retain(lent);
    drop(pool);
    settle_until(|| Ref::strong_count(&kept) == 1);
}
