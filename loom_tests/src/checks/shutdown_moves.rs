//! `shutdown` looks at a thread's figures one after the other, while that thread moves something
//! from one to the other: from what has not been read yet to what has been read.

use super::model::Model;
use super::probe::{Probe, Seen, Watched, spawn, take_deaths};
use loom::thread::yield_now;
use releasepool::{AutoreleasePool, Budget, PoolManager, Ref, autorelease};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "shutdown_pool_to_backlog",
        "shutdown while a budgeted drain leaves a pool's entry to the backlog, and the pool is closed",
        &["done", "held"],
        || while_moving(pool_to_backlog),
    )
    // Unbounded: as for `shutdown_backlog`.
    .bounded(3),
    Model::new(
        "shutdown_root_to_backlog",
        "shutdown while the root pool is drained, in which a destructor drains another pool within a budget",
        &["done", "held"],
        || while_moving(root_to_backlog),
    )
    // Unbounded: as for `shutdown_backlog`.
    .bounded(3)
    .plain_bounded(2),
    Model::new(
        "shutdown_root_to_pool",
        "shutdown while the root pool is drained, in which a destructor opens a pool and fills it",
        &["done", "held"],
        || while_moving(root_to_pool),
    )
    // Unbounded: as for `shutdown_backlog`.
    .bounded(3),
    Model::new(
        "shutdown_root_in_root",
        "shutdown while the root pool is drained, in which a destructor drains it, too, and is not done then",
        &["done", "held"],
        || while_moving(root_in_root),
    )
    // Unbounded: as for `shutdown_backlog`.
    .bounded(3),
    Model::new(
        "shutdown_sent_to_backlog",
        "shutdown while a budgeted drain releases what was sent, and leaves what that held to the backlog",
        &["done", "held"],
        || while_moving(sent_to_backlog),
    )
    // Unbounded: as for `shutdown_backlog`.
    .bounded(3),
    Model::new(
        "shutdown_orphan_to_root",
        "shutdown while another thread runs an orphan whose destructor autoreleases into its root pool",
        &["done", "held"],
        || while_moving(orphan_to_root),
    )
    // Unbounded: as for `shutdown_backlog`.
    .bounded(3),
];

type Object = Ref<(Probe, Watched)>;

/// Shuts down, while this thread moves an object, given to it by `fill`, by the function that
/// returned: if shutdown is done, the object is destroyed.
fn while_moving<F: FnOnce()>(fill: fn(Object) -> F) -> String {
    let manager = PoolManager::global();
    let seen = Seen::new();
    drop(AutoreleasePool::new());
    let move_it = fill(Ref::new((Probe::new(), Watched(seen.clone()))));
    let waiter = spawn(move || {
        let done = PoolManager::global().shutdown(Duration::ZERO).is_ok();
        if done {
            assert!(seen.get(), "done too early");
        }
        done
    });
    yield_now();
    move_it();
    let done = waiter.join().unwrap();
    manager.drain_root();
    manager.drain_backlog(Budget::All);
    take_deaths();
    if done { "done" } else { "held" }.to_owned()
}

/// Runs what it holds when it is dropped.
struct Runs(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Runs {
    fn new(f: impl FnOnce() + Send + Sync + 'static) -> Ref<Self> {
        Ref::new(Self(Some(Box::new(f))))
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.take().unwrap()();
    }
}

/// Drains a pool with the object within no budget, and closes it.
fn leave(object: Object) {
    let mut pool = AutoreleasePool::new();
    pool.autorelease(object);
    pool.drain_within(Budget::Count(0));
}

fn pool_to_backlog(object: Object) -> impl FnOnce() {
    let mut pool = AutoreleasePool::new();
    pool.autorelease(object);
    move || {
        pool.drain_within(Budget::Count(0));
        drop(pool);
        PoolManager::global().drain_backlog(Budget::All);
    }
}

fn root_to_backlog(object: Object) -> impl FnOnce() {
    autorelease(Runs::new(move || leave(object)));
    || {
        PoolManager::global().drain_root();
        PoolManager::global().drain_backlog(Budget::All);
    }
}

/// Opens a guard's pool when it is dropped, and moves an object into it. (The end of the drain would pop a
/// token's.)
struct Opens(Rc<RefCell<Option<AutoreleasePool>>>, Option<Object>);

impl Drop for Opens {
    fn drop(&mut self) {
        *self.0.borrow_mut() = Some(AutoreleasePool::new());
        autorelease(self.1.take().unwrap());
    }
}

fn root_to_pool(object: Object) -> impl FnOnce() {
    let pool = Rc::default();
    autorelease(Ref::new(Opens(Rc::clone(&pool), Some(object))));
    move || {
        PoolManager::global().drain_root();
        drop(pool.take().unwrap());
    }
}

fn root_in_root(object: Object) -> impl FnOnce() {
    autorelease(Runs::new(move || {
        PoolManager::global().drain_root();
        drop(object);
    }));
    || _ = PoolManager::global().drain_root()
}

/// Holds the object, which its destructor releases.
fn sent_to_backlog(object: Object) -> impl FnOnce() {
    let this = PoolManager::global().current_thread().unwrap();
    this.release(Runs::new(move || drop(object)));
    || {
        AutoreleasePool::new().drain_within(Budget::Count(1));
        PoolManager::global().drain_backlog(Budget::All);
    }
}

fn orphan_to_root(object: Object) -> impl FnOnce() {
    let gone = spawn(|| PoolManager::global().current_thread().unwrap());
    let gone = gone.join().unwrap();
    gone.release(Runs::new(move || autorelease(object)));
    || {
        PoolManager::global().run_inbox();
        PoolManager::global().drain_root();
    }
}
