//! The process's manager on two threads: neither touches the other's entries.

use super::model::Model;
use super::probe::{Overlap, Probe, me, spawn, take_deaths};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use releasepool::{AutoreleasePool, PoolManager, PopError, Ref, autorelease, model};

pub const MODELS: &[Model] = &[
    Model::new(
        "classic_timeline",
        "thread 1 pushes, 2 pushes and autoreleases, 1 pops, 2 still uses the object, 2 pops",
        &["1 popped before 2 used", "2 used before 1 popped"],
        classic_timeline,
    ),
    Model::new(
        "push_pop_autorelease",
        "push, autorelease and pop on two threads, by tokens, guards and the root",
        Overlap::ANY,
        push_pop_autorelease,
    )
    // Both threads go through the whole registry, twice. With 5: 48,791 executions.
    .bounded(4),
    Model::new(
        "foreign_token",
        "a token that another thread tries to pop is refused",
        &["refused before the pop", "refused after the pop"],
        foreign_token,
    ),
    Model::new(
        "first_use",
        "two threads first use the crate at once: there is one manager",
        &["0 came first", "1 came first"],
        first_use,
    )
    // Unbounded (once, by hand): 891,178 executions in 105 s.
    .bounded(4),
    Model::new(
        "exit_drains_root",
        "a thread ends with entries in its root and token pools, while another looks",
        &["seen", "not seen"],
        exit_drains_root,
    ),
];

/// The two threads share no memory, which is what the model shows. They race for this, so that loom
/// explores both orders nevertheless.
#[derive(Clone)]
struct Order(Arc<AtomicUsize>);

impl Order {
    fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(0)))
    }

    /// Returns how many threads came before.
    fn next(&self) -> usize {
        // Relaxed, so that it orders nothing.
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

fn classic_timeline() -> String {
    let manager = PoolManager::global();
    let one = manager.push();
    let order = Order::new();
    let used = order.clone();
    let two = spawn(move || {
        let manager = PoolManager::global();
        let token = manager.push();
        let r = Ref::new(Probe::new());
        let weak = Ref::downgrade(&r);
        manager.autorelease(r);
        let late = used.next() == 1;
        // The object is alive, whatever thread 1 pops meanwhile.
        weak.upgrade().expect("drained by another thread").look();
        assert!(take_deaths().iter().all(|t| *t != me()));
        assert_eq!(manager.pop(token), Ok(1));
        assert!(weak.upgrade().is_none());
        (me(), late)
    });
    assert_eq!(manager.pop(one), Ok(0));
    order.next();
    let (two, late) = two.join().unwrap();
    assert_eq!(take_deaths(), [two]);
    if late {
        "1 popped before 2 used"
    } else {
        "2 used before 1 popped"
    }
    .to_owned()
}

/// Uses a token pool, a guard pool and the root pool, with an entry each; all are destroyed on this
/// thread in the end.
fn use_all(exit: bool) {
    let manager = PoolManager::global();
    autorelease(Ref::new(Probe::new()));
    let token = manager.push();
    autorelease(Ref::new(Probe::new()));
    let pool = AutoreleasePool::new();
    pool.create(Probe::new()).look();
    drop(pool);
    assert_eq!(manager.pop(token), Ok(1));
    assert_eq!(manager.pop(token), Err(PopError::Stale));
    if exit {
        model::thread_exit();
    } else {
        assert_eq!(manager.drain_root(), 1);
    }
}

fn push_pop_autorelease() -> String {
    let overlap = Overlap::default();
    let there = overlap.clone();
    let other = loom::thread::spawn(move || {
        there.during(|| use_all(true));
        me()
    });
    overlap.during(|| use_all(false));
    let other = other.join().unwrap();
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 6);
    assert_eq!(deaths.iter().filter(|t| **t == other).count(), 3);
    overlap.outcome()
}

fn foreign_token() -> String {
    let manager = PoolManager::global();
    let token = manager.push();
    autorelease(Ref::new(Probe::new()));
    let owner = manager.current_thread().unwrap().key();
    let order = Order::new();
    let tried = order.clone();
    let thief = spawn(move || (PoolManager::global().pop(token), tried.next()));
    assert_eq!(manager.pop(token), Ok(1));
    order.next();
    let (stolen, before) = thief.join().unwrap();
    assert_eq!(stolen, Err(PopError::WrongThread { owner }));
    assert_eq!(take_deaths(), [me()]);
    if before == 0 {
        "refused before the pop"
    } else {
        "refused after the pop"
    }
    .to_owned()
}

fn first_use() -> String {
    let order = Order::new();
    let other = order.clone();
    let first_use = |order: Order| {
        let before = order.next();
        let manager = PoolManager::global();
        autorelease(Ref::new(Probe::new()));
        assert_eq!(manager.drain_root(), 1);
        let token = manager.push();
        (std::ptr::from_ref(manager).addr(), token, before)
    };
    let other = spawn(move || first_use(other));
    let (manager, token, before) = first_use(order);
    let (others, others_token, _) = other.join().unwrap();
    assert_eq!(manager, others);
    assert_eq!(PoolManager::global().pop(token), Ok(0));
    let foreign = PoolManager::global().pop(others_token);
    assert!(
        matches!(foreign, Err(PopError::WrongThread { .. })),
        "another manager's"
    );
    assert_eq!(take_deaths().len(), 2);
    format!("{before} came first")
}

/// Its destructor pushes another token pool, with an object.
struct Pushes(Probe);

impl Drop for Pushes {
    fn drop(&mut self) {
        let _never_popped = PoolManager::global().push();
        autorelease(Ref::new(Probe::new()));
    }
}

fn exit_drains_root() -> String {
    let r = Ref::new(Pushes(Probe::new()));
    let weak = Ref::downgrade(&r);
    let leaver = spawn(move || {
        let _never_popped = PoolManager::global().push();
        autorelease(r);
        me()
    });
    let seen = weak.upgrade().map(|r| r.0.look()).is_some();
    let leaver = leaver.join().unwrap();
    assert!(weak.upgrade().is_none(), "the exit has drained it");
    let deaths = take_deaths();
    // This thread, which has not ended, still has the second object.
    let is_here = seen && deaths == [me()];
    assert!(is_here || deaths == [leaver; 2], "{deaths:?}");
    if seen { "seen" } else { "not seen" }.to_owned()
}
