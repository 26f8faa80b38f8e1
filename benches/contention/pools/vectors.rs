//! Vectors of pointers to objects of one type, which keep their capacity.

use super::Pools;
use bumpalo::Bump;
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::Role;
use shared_arena::{ArenaArc, SharedArena};
use std::hint::black_box;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A pointer to an object in a vector.
pub trait Pointer<P>: 'static {
    const NAME: &str;
    const ROLE: Role = Role::Peer;
    const NOTE: &str = "a vector for objects of one type only";

    /// What all threads share.
    type Shared: Default + Send + Sync + 'static;

    fn new(shared: &Self::Shared, value: P) -> Self;
}

impl<P: Payload> Pointer<P> for Arc<P> {
    const NAME: &str = "Arc + Vec";
    type Shared = ();

    #[inline(always)]
    fn new((): &(), value: P) -> Self {
        Self::new(value)
    }
}

impl<P: Payload> Pointer<P> for triomphe::Arc<P> {
    const NAME: &str = "triomphe + Vec";
    type Shared = ();

    #[inline(always)]
    fn new((): &(), value: P) -> Self {
        Self::new(value)
    }
}

impl<P: Payload> Pointer<P> for Box<P> {
    const NAME: &str = "Box + Vec";
    const ROLE: Role = Role::Reference;
    const NOTE: &str = "not counted: each has one owner; objects of one type only";
    type Shared = ();

    #[inline(always)]
    fn new((): &(), value: P) -> Self {
        Self::new(value)
    }
}

/// A counted object in the blocks of an arena.
impl<P: Payload> Pointer<P> for ArenaArc<P> {
    const NAME: &str = "shared_arena + Vec";
    const NOTE: &str = "counted, in an arena that all threads share; objects of one type only";
    type Shared = SharedArena<P>;

    #[inline(always)]
    fn new(arena: &SharedArena<P>, value: P) -> Self {
        arena.alloc_arc(value)
    }
}

/// A vector of pointers. An inner pool is the end of the vector.
pub struct Kept<P, R: Pointer<P>> {
    // Dropped before `shared`, in which the objects may have their memory.
    kept: Vec<R>,
    shared: Arc<R::Shared>,
}

pub type Arcs<P> = Kept<P, Arc<P>>;
pub type Triomphes<P> = Kept<P, triomphe::Arc<P>>;
pub type Boxes<P> = Kept<P, Box<P>>;
pub type Arena<P> = Kept<P, ArenaArc<P>>;

impl<P: Payload, R: Pointer<P>> Pools<P> for Kept<P, R> {
    const NAME: &str = R::NAME;
    const ROLE: Role = R::ROLE;
    const NOTE: Option<&str> = Some(R::NOTE);
    type Shared = R::Shared;

    fn here(shared: &Arc<R::Shared>) -> Self {
        Self {
            kept: Vec::new(),
            shared: shared.clone(),
        }
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        let object = R::new(&self.shared, P::new(seed));
        self.kept.push(black_box(object));
    }

    #[inline(always)]
    fn drain(&mut self) {
        black_box(&mut self.kept).clear();
    }

    #[inline(always)]
    fn nested(&mut self, work: impl FnOnce(&mut Self)) {
        let mark = self.kept.len();
        work(self);
        black_box(&mut self.kept).truncate(mark);
    }
}

/// A thread's bump allocator. It frees the memory of a pool as a whole, so pools are not nested.
pub struct Bumped<P> {
    kept: Vec<NonNull<P>>,
    bump: Bump,
}

impl<P: Payload> Pools<P> for Bumped<P> {
    const NAME: &str = "bumpalo + Vec";
    const ROLE: Role = Role::Reference;
    const NOTE: Option<&str> = Some(
        "not counted, and its memory is not used again before the reset; one type only; the \
         vector is there to run the destructors",
    );
    type Shared = ();

    fn here(_: &Arc<()>) -> Self {
        Self {
            kept: Vec::new(),
            bump: Bump::new(),
        }
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        let value = self.bump.alloc(P::new(seed));
        self.kept.push(black_box(NonNull::from(value)));
    }

    #[inline(always)]
    fn drain(&mut self) {
        for value in black_box(&mut self.kept).drain(..) {
            // SAFETY: `add` has written the value; each is dropped once, before the reset below.
            unsafe { ptr::drop_in_place(value.as_ptr()) };
        }
        self.bump.reset();
    }
}

impl<P> Drop for Bumped<P> {
    fn drop(&mut self) {
        for value in self.kept.drain(..) {
            // SAFETY: `add` has written the value, it is dropped once, and `bump` is dropped after
            // this.
            unsafe { ptr::drop_in_place(value.as_ptr()) };
        }
    }
}
