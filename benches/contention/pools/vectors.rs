//! Vectors of pointers, for one type of objects. They keep their capacity.

use super::Pools;
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::Role;
use std::hint::black_box;
use std::sync::Arc;

/// A pointer to an object in a vector.
pub trait Pointer<P>: From<P> + 'static {
    const NAME: &str;
    const ROLE: Role = Role::Peer;
    const NOTE: &str = "a vector for objects of one type only";
}

impl<P: Payload> Pointer<P> for Arc<P> {
    const NAME: &str = "Arc + Vec";
}

impl<P: Payload> Pointer<P> for triomphe::Arc<P> {
    const NAME: &str = "triomphe + Vec";
}

impl<P: Payload> Pointer<P> for Box<P> {
    const NAME: &str = "Box + Vec";
    const ROLE: Role = Role::Reference;
    const NOTE: &str = "not counted: each has one owner; objects of one type only";
}

/// A vector of pointers. An inner pool is the end of the vector.
pub struct Kept<R>(Vec<R>);

pub type Arcs<P> = Kept<Arc<P>>;
pub type Triomphes<P> = Kept<triomphe::Arc<P>>;
pub type Boxes<P> = Kept<Box<P>>;

impl<P: Payload, R: Pointer<P>> Pools<P> for Kept<R> {
    const NAME: &str = R::NAME;
    const ROLE: Role = R::ROLE;
    const NOTE: Option<&str> = Some(R::NOTE);
    type Shared = ();

    fn here(_: &Arc<()>) -> Self {
        Self(Vec::new())
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        self.0.push(black_box(R::from(P::new(seed))));
    }

    #[inline(always)]
    fn mark(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn release_from(&mut self, mark: usize) {
        black_box(&mut self.0).truncate(mark);
    }
}
