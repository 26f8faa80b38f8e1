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

/// How an object gets into a pool.
pub trait Way: 'static {
    const NAME: &str;
    fn add<P: Payload>(pool: &AutoreleasePool, seed: u64);
}

/// In a block.
pub struct Create;

impl Way for Create {
    const NAME: &str = BLOCKS;

    #[inline(always)]
    fn add<P: Payload>(pool: &AutoreleasePool, seed: u64) {
        black_box(pool.create(P::new(seed)));
    }
}

/// Of the global allocator.
pub struct Autorelease;

impl Way for Autorelease {
    const NAME: &str = GLOBAL;

    #[inline(always)]
    fn add<P: Payload>(pool: &AutoreleasePool, seed: u64) {
        black_box(pool.autorelease(black_box(Ref::new(P::new(seed)))));
    }
}

pub struct Ours<P, W> {
    pub pool: AutoreleasePool,
    of: PhantomData<(P, W)>,
}

pub type Created<P> = Ours<P, Create>;
pub type Autoreleased<P> = Ours<P, Autorelease>;

impl<P, W> Ours<P, W> {
    fn open() -> Self {
        Self {
            pool: AutoreleasePool::new(),
            of: PhantomData,
        }
    }
}

impl<P: Payload, W: Way> Pools<P> for Ours<P, W> {
    const NAME: &str = W::NAME;
    const ROLE: Role = Role::Ours;
    type Shared = ();

    fn here(_: &Arc<()>) -> Self {
        Self::open()
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        W::add::<P>(&self.pool, seed);
    }

    #[inline(always)]
    fn drain(&mut self) {
        self.pool.drain();
    }
}

impl<P: Payload, W: Way> Nested<P> for Ours<P, W> {
    #[inline(always)]
    fn nested(&mut self, work: impl FnOnce(&mut Self)) {
        work(black_box(&mut Self::open()));
    }
}
