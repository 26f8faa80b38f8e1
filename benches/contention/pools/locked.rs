//! Pools behind locks. Vectors keep their capacity, and no object is destroyed under a lock.

use super::{Pools, Stack};
use dashmap::DashMap;
use parking_lot::Mutex;
use releasepool_benches::objects::Payload;
use std::collections::HashMap;
use std::hint::black_box;
use std::mem;
use std::sync::Arc;
use std::thread::{self, ThreadId};

/// One pool for all threads.
pub struct Global<P> {
    pool: Arc<Mutex<Vec<Arc<P>>>>,
    spare: Vec<Arc<P>>,
}

impl<P: Payload> Pools<P> for Global<P> {
    const NAME: &str = "one pool behind a mutex";
    const NOTE: Option<&str> =
        Some("a drain also releases objects of other threads; pools cannot be nested");
    type Shared = Mutex<Vec<Arc<P>>>;

    fn here(shared: &Arc<Self::Shared>) -> Self {
        Self {
            pool: shared.clone(),
            spare: Vec::new(),
        }
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        let object = black_box(Arc::new(P::new(seed)));
        self.pool.lock().push(object);
    }

    #[inline(always)]
    fn drain(&mut self) {
        mem::swap(&mut self.spare, &mut *self.pool.lock());
        self.spare.clear();
    }
}

/// A map of the threads' pools.
pub trait Map<R>: Default + Send + Sync + 'static {
    const NAME: &str;
    const NOTE: &str;
    fn with<A>(&self, thread: ThreadId, f: impl FnOnce(&mut Stack<R>) -> A) -> A;
    fn remove(&self, thread: ThreadId) -> Option<Stack<R>>;
}

/// The well-known patch for Cocos2d-x, without its deadlock.
pub type Locked<R> = Mutex<HashMap<ThreadId, Stack<R>>>;

impl<R: Send + 'static> Map<R> for Locked<R> {
    const NAME: &str = "stacks by thread, mutex";
    const NOTE: &str = "the well-known patch for Cocos2d-x, without its deadlock";

    #[inline(always)]
    fn with<A>(&self, thread: ThreadId, f: impl FnOnce(&mut Stack<R>) -> A) -> A {
        f(self.lock().entry(thread).or_default())
    }

    fn remove(&self, thread: ThreadId) -> Option<Stack<R>> {
        self.lock().remove(&thread)
    }
}

impl<R: Send + Sync + 'static> Map<R> for DashMap<ThreadId, Stack<R>> {
    const NAME: &str = "stacks by thread, DashMap";
    const NOTE: &str = "an entry looked up for each operation";

    #[inline(always)]
    fn with<A>(&self, thread: ThreadId, f: impl FnOnce(&mut Stack<R>) -> A) -> A {
        f(&mut self.entry(thread).or_default())
    }

    fn remove(&self, thread: ThreadId) -> Option<Stack<R>> {
        Self::remove(self, &thread).map(|(_, stack)| stack)
    }
}

/// A thread's pools in a map.
pub struct Keyed<P, M: Map<Arc<P>>> {
    map: Arc<M>,
    me: ThreadId,
    spare: Vec<Vec<Arc<P>>>,
}

impl<P, M: Map<Arc<P>>> Keyed<P, M> {
    #[inline(always)]
    fn release(&mut self, mut objects: Vec<Arc<P>>) {
        objects.clear();
        self.spare.push(objects);
    }
}

impl<P: Payload, M: Map<Arc<P>>> Pools<P> for Keyed<P, M> {
    const NAME: &str = M::NAME;
    const NOTE: Option<&str> = Some(M::NOTE);
    type Shared = M;

    fn here(shared: &Arc<M>) -> Self {
        Self {
            map: shared.clone(),
            me: thread::current().id(),
            spare: Vec::new(),
        }
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        let object = black_box(Arc::new(P::new(seed)));
        self.map.with(self.me, |stack| stack.add(object));
    }

    #[inline(always)]
    fn drain(&mut self) {
        let instead = self.spare.pop().unwrap_or_default();
        let objects = self.map.with(self.me, |stack| stack.take(instead));
        self.release(objects);
    }

    #[inline(always)]
    fn nested(&mut self, work: impl FnOnce(&mut Self)) {
        let inner = self.spare.pop().unwrap_or_default();
        self.map.with(self.me, |stack| stack.enter(inner));
        work(self);
        let inner = self.map.with(self.me, Stack::leave);
        self.release(inner);
    }
}

/// Removes the thread's pools from the map.
impl<P, M: Map<Arc<P>>> Drop for Keyed<P, M> {
    fn drop(&mut self) {
        drop(self.map.remove(self.me));
    }
}

pub type ByMutex<P> = Keyed<P, Locked<Arc<P>>>;
pub type ByDashMap<P> = Keyed<P, DashMap<ThreadId, Stack<Arc<P>>>>;
