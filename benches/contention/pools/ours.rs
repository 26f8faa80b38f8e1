//! releasepool's.

use super::{Nested, Pools};
use releasepool::{AutoreleasePool, Ref};
use releasepool_benches::objects::Payload;
use releasepool_benches::results::Role;
use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::Arc;

pub const BLOCKS: &str = "releasepool (blocks)";
pub const GLOBAL: &str = "releasepool (global allocator)";

/// Objects in blocks.
pub struct Created<P> {
    pub pool: AutoreleasePool,
    objects: PhantomData<P>,
}

impl<P> Created<P> {
    fn open() -> Self {
        Self {
            pool: AutoreleasePool::new(),
            objects: PhantomData,
        }
    }
}

impl<P: Payload> Pools<P> for Created<P> {
    const NAME: &str = BLOCKS;
    const ROLE: Role = Role::Ours;
    type Shared = ();

    fn here(_: &Arc<()>) -> Self {
        Self::open()
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        black_box(self.pool.create(P::new(seed)));
    }

    #[inline(always)]
    fn drain(&mut self) {
        self.pool.drain();
    }
}

impl<P: Payload> Nested<P> for Created<P> {
    #[inline(always)]
    fn nested(&mut self, work: impl FnOnce(&mut Self)) {
        work(black_box(&mut Self::open()));
    }
}

/// Objects of the global allocator.
pub struct Autoreleased<P> {
    pub pool: AutoreleasePool,
    objects: PhantomData<P>,
}

impl<P> Autoreleased<P> {
    fn open() -> Self {
        Self {
            pool: AutoreleasePool::new(),
            objects: PhantomData,
        }
    }
}

impl<P: Payload> Pools<P> for Autoreleased<P> {
    const NAME: &str = GLOBAL;
    const ROLE: Role = Role::Ours;
    type Shared = ();

    fn here(_: &Arc<()>) -> Self {
        Self::open()
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        black_box(self.pool.autorelease(black_box(Ref::new(P::new(seed)))));
    }

    #[inline(always)]
    fn drain(&mut self) {
        self.pool.drain();
    }
}

impl<P: Payload> Nested<P> for Autoreleased<P> {
    #[inline(always)]
    fn nested(&mut self, work: impl FnOnce(&mut Self)) {
        work(black_box(&mut Self::open()));
    }
}
