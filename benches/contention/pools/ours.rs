//! releasepool's pools.

use super::Pools;
use releasepool::{AutoreleasePool, Ref};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::Role;
use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::Arc;

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
