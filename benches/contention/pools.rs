//! Pools of a thread, by releasepool and by each implementation that has something similar.
//!
//! All functions of pools are inlined by force, so that no implementation pays for a call that
//! others do not need.

pub mod cocos;
pub mod vectors;

use releasepool::{AutoreleasePool, Ref};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::Role;
use std::hint::black_box;
use std::marker::PhantomData;
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

    /// Releases the objects of the current pool.
    fn drain(&mut self);

    /// Opens an inner pool for `work`, and releases its objects afterwards.
    fn nested(&mut self, _: impl FnOnce(&mut Self)) {
        unreachable!("these pools cannot be nested")
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
