//! `shutdown` looks at a thread's figures one after the other, while that thread moves something
//! from a figure that has not been read yet to one that has been read.

use super::shutdown::shut_down_during;
use super::steps::*;
use loom::thread::yield_now;
use releasepool::{AutoreleasePool, Budget, Hot, Ref, autorelease};
use std::cell::RefCell;
use std::rc::Rc;

pub fn models() -> Vec<Model> {
    [
        Model::new(
            "shutdown_pool_to_backlog",
            "shutdown while a budgeted drain leaves a pool's entry to the backlog, and the pool is closed",
            &["done", "held"],
            || while_moving(pool_to_backlog),
        ),
        Model::new(
            "shutdown_root_to_backlog",
            "shutdown while the root pool is drained, in which a destructor drains another pool within a budget",
            &["done", "held"],
            || while_moving(root_to_backlog),
        ),
        Model::new(
            "shutdown_root_to_pool",
            "shutdown while the root pool is drained, in which a destructor opens a pool and fills it",
            &["done", "held"],
            || while_moving(root_to_pool),
        ),
        Model::new(
            "shutdown_root_in_root",
            "shutdown while the root pool is drained, in which a destructor drains it, too, and is not done then",
            &["done", "held"],
            || while_moving(root_in_root),
        )
        .bounded(3),
        Model::new(
            "shutdown_sent_to_backlog",
            "shutdown while a budgeted drain releases what was sent, and leaves what that held to the backlog",
            &["done", "held"],
            || while_moving(sent_to_backlog),
        ),
        Model::new(
            "shutdown_orphan_to_root",
            "shutdown while another thread runs an orphan whose destructor autoreleases into its root pool",
            &["done", "held"],
            || while_moving(orphan_to_root),
        ),
        Model::new(
            "shutdown_hot_to_root",
            "shutdown while another thread releases a dead hot object whose destructor autoreleases into its root pool",
            &["done", "held"],
            || while_moving(hot_to_root),
        )
        .bounded(2),
    ]
    // One preemption puts the move between two of the figures that a look reads, a second one only
    // a part of the move. With 3: 60,343 executions of the first model in the plain mode.
    .map(|model| model.else_bounded(2))
    .into()
}

/// Shuts down on another thread, while this one moves an object: `fill` puts the object in its
/// first place, and returns the function that moves it. If the shutdown is done, the object is
/// destroyed.
fn while_moving<F: FnOnce()>(fill: fn(Object) -> F) -> bool {
    drain();
    let (seen, object) = watched();
    let move_it = fill(object);
    let done = shut_down_during(seen, || {
        yield_now();
        move_it();
    });
    manager().drain_root();
    manager().drain_backlog(Budget::All);
    done
}

/// Returns an object that runs `f` when it is destroyed.
fn on_death(f: impl FnOnce() + Send + Sync + 'static) -> Ref<OnDrop> {
    Ref::new(OnDrop::new(f))
}

/// Drains a pool that holds the object with a budget of 0, so that the object goes to the backlog,
/// and closes the pool.
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
        manager().drain_backlog(Budget::All);
    }
}

fn root_to_backlog(object: Object) -> impl FnOnce() {
    autorelease(on_death(|| leave(object)));
    || {
        manager().drain_root();
        manager().drain_backlog(Budget::All);
    }
}

/// When dropped, opens a guard pool and moves an object into it. (A token pool would be popped at
/// the end of the drain.)
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
        manager().drain_root();
        drop(pool.take().unwrap());
    }
}

fn root_in_root(object: Object) -> impl FnOnce() {
    autorelease(on_death(|| {
        manager().drain_root();
        drop(object);
    }));
    || _ = manager().drain_root()
}

/// Sends an object whose destructor releases `object`.
fn sent_to_backlog(object: Object) -> impl FnOnce() {
    this().release(on_death(|| drop(object)));
    || {
        AutoreleasePool::new().drain_within(Budget::Count(1));
        manager().drain_backlog(Budget::All);
    }
}

fn orphan_to_root(object: Object) -> impl FnOnce() {
    gone().release(on_death(|| autorelease(object)));
    || {
        manager().run_inbox();
        manager().drain_root();
    }
}

fn hot_to_root(object: Object) -> impl FnOnce() {
    drop(Hot::new(on_death(|| autorelease(object))));
    || {
        Hot::review();
        manager().drain_root();
    }
}
