//! Pools of a thread, by releasepool and by each implementation that has something similar.
//!
//! Their functions are inlined by force, so that none of them pays for a call that others do not
//! need.

pub mod cocos;
pub mod deferred;
pub mod locked;
pub mod vectors;

use releasepool::{AutoreleasePool, Ref};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::Role;
use std::hint::black_box;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;

/// A thread's stack of pools.
pub trait Pools<P: Payload>: Sized + 'static {
    const NAME: &str;
    const ROLE: Role = Role::Peer;
    const NOTE: Option<&str> = None;

    /// The state that all threads share.
    type Shared: Default + Send + Sync + 'static;

    /// Creates the calling thread's pools.
    fn here(shared: &Arc<Self::Shared>) -> Self;

    /// Creates an object and adds it to the current pool.
    fn add(&mut self, seed: u64);

    /// Returns where the objects begin that are added from now on, if an inner pool is a mark.
    fn mark(&self) -> usize {
        unreachable!("these pools cannot be nested")
    }

    /// Releases the objects that were added since the mark.
    fn release_from(&mut self, _: usize) {
        unreachable!("these pools have no marks")
    }

    /// Releases the objects of the current pool.
    #[inline(always)]
    fn drain(&mut self) {
        self.release_from(0);
    }

    /// Opens an inner pool for `work`, and releases its objects afterwards.
    #[inline(always)]
    fn nested(&mut self, work: impl FnOnce(&mut Self)) {
        let mark = self.mark();
        work(self);
        self.release_from(mark);
    }
}

/// A stack of vectors, each of which is a pool.
pub struct Stack<R> {
    current: Vec<R>,
    outer: Vec<Vec<R>>,
}

impl<R> Default for Stack<R> {
    fn default() -> Self {
        Self {
            current: Vec::new(),
            outer: Vec::new(),
        }
    }
}

impl<R> Stack<R> {
    #[inline(always)]
    fn add(&mut self, r: R) {
        self.current.push(r);
    }

    #[inline(always)]
    fn take(&mut self, instead: Vec<R>) -> Vec<R> {
        mem::replace(&mut self.current, instead)
    }

    #[inline(always)]
    fn enter(&mut self, inner: Vec<R>) {
        let outer = mem::replace(&mut self.current, inner);
        self.outer.push(outer);
    }

    #[inline(always)]
    fn leave(&mut self) -> Vec<R> {
        let outer = self.outer.pop().expect("`enter` was called before");
        mem::replace(&mut self.current, outer)
    }
}

// --- releasepool ---------------------------------------------------------------

pub const BLOCKS: &str = "releasepool (blocks)";
pub const GLOBAL: &str = "releasepool (global allocator)";

/// A pool of objects in blocks, or from the global allocator.
pub struct Ours<P, const IN_BLOCKS: bool> {
    pool: AutoreleasePool,
    of: PhantomData<P>,
}

pub type Created<P> = Ours<P, true>;
pub type Autoreleased<P> = Ours<P, false>;

impl<P, const IN_BLOCKS: bool> Ours<P, IN_BLOCKS> {
    fn open() -> Self {
        Self {
            pool: AutoreleasePool::new(),
            of: PhantomData,
        }
    }
}

impl<P, const IN_BLOCKS: bool> AsRef<AutoreleasePool> for Ours<P, IN_BLOCKS> {
    #[inline(always)]
    fn as_ref(&self) -> &AutoreleasePool {
        &self.pool
    }
}

impl<P: Payload, const IN_BLOCKS: bool> Pools<P> for Ours<P, IN_BLOCKS> {
    const NAME: &str = if IN_BLOCKS { BLOCKS } else { GLOBAL };
    const ROLE: Role = Role::Ours;
    type Shared = ();

    fn here(_: &Arc<()>) -> Self {
        Self::open()
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        if IN_BLOCKS {
            black_box(self.pool.create(P::new(seed)));
        } else {
            black_box(self.pool.autorelease(black_box(Ref::new(P::new(seed)))));
        }
    }

    #[inline(always)]
    fn drain(&mut self) {
        self.pool.drain();
    }

    #[inline(always)]
    fn nested(&mut self, work: impl FnOnce(&mut Self)) {
        work(black_box(&mut Self::open()));
    }
}
