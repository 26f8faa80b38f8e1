//! One pool manager for all threads, behind a mutex, with a stack of pools for each thread id. This
//! is the usual way to make Cocos2d-x safe for threads. Here the lock is released before
//! destructors run, because they may need it, too.

use crate::job::node::{Entry, Node};
use crate::job::world::{Object, Tally, World};
use crate::others::deep;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

type Pool = Vec<Entry<Locked>>;

/// The pools of all threads.
#[derive(Default)]
pub struct Manager(Mutex<HashMap<ThreadId, Vec<Pool>>>);

impl Manager {
    fn pools(&self) -> MutexGuard<'_, HashMap<ThreadId, Vec<Pool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, thread: ThreadId) {
        self.pools().entry(thread).or_default().push(Pool::new());
    }

    fn pop(&self, thread: ThreadId) -> Option<Pool> {
        self.pools().get_mut(&thread)?.pop()
    }

    fn add(&self, thread: ThreadId, entry: Entry<Locked>) {
        if let Some(innermost) = self.pools().get_mut(&thread).and_then(|s| s.last_mut()) {
            innermost.push(entry);
        }
    }
}

pub struct Locked {
    tally: Tally,
    manager: Arc<Manager>,
    thread: ThreadId,
}

impl Locked {
    /// Makes a world for the calling thread.
    pub fn new(manager: &Arc<Manager>) -> Self {
        Self {
            tally: Tally::default(),
            manager: Arc::clone(manager),
            thread: thread::current().id(),
        }
    }
}

pub struct LockedPool<'w>(&'w Locked);

impl World for Locked {
    type Counted<T: ?Sized + 'static> = Arc<T>;
    type Pool<'w> = LockedPool<'w>;

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn pool(&self) -> LockedPool<'_> {
        self.manager.push(self.thread);
        LockedPool(self)
    }

    fn make_text(&self, text: &str) -> Arc<str> {
        self.tally.created();
        Arc::from(text)
    }

    fn create<T: Object<Self>>(&self, pool: &LockedPool<'_>, value: T) -> Arc<T> {
        self.tally.created();
        let object = Arc::new(value);
        self.autorelease(pool, Arc::clone(&object));
        object
    }

    fn create_text(&self, pool: &LockedPool<'_>, text: &str) -> Arc<str> {
        let object = self.make_text(text);
        self.autorelease(pool, Arc::clone(&object));
        object
    }

    fn temporary<T: Object<Self>, R>(
        &self,
        pool: &LockedPool<'_>,
        value: T,
        look: impl FnOnce(&T) -> R,
    ) -> R {
        self.tally.created();
        let object = Arc::new(value);
        let seen = look(&object);
        self.autorelease(pool, object);
        seen
    }

    fn autorelease<T: Object<Self> + ?Sized>(&self, _innermost: &LockedPool<'_>, object: Arc<T>) {
        self.tally.autoreleased();
        self.manager.add(self.thread, T::entry(object));
    }

    fn destroys(node: &mut Node<Self>) {
        deep::drop_contents(node);
    }
}

impl Drop for LockedPool<'_> {
    fn drop(&mut self) {
        // Two statements, so that the lock is released before the entries are dropped.
        let entries = self.0.manager.pop(self.0.thread);
        drop(entries);
    }
}
