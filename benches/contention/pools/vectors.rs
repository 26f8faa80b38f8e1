//! Vectors, which keep their capacity: of pointers to objects of one type, and of what crates return that keep
//! the memory of objects for reuse.

use super::Pools;
use bumpalo::Bump;
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::Role;
use shared_arena::{ArenaArc, SharedArena};
use std::hint::black_box;
use std::ptr::{self, NonNull};
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

// --- crates that keep memory ---------------------------------------------------

/// Counted objects in the blocks of an arena that all threads share.
pub struct Arena<P: Payload> {
    // Before the arena, as the objects are in it.
    kept: Vec<ArenaArc<P>>,
    arena: Arc<SharedArena<P>>,
}

impl<P: Payload> Pools<P> for Arena<P> {
    const NAME: &str = "shared_arena + Vec";
    const NOTE: Option<&str> =
        Some("counted, in an arena that all threads share; objects of one type only");
    type Shared = SharedArena<P>;

    fn here(shared: &Arc<SharedArena<P>>) -> Self {
        Self {
            kept: Vec::new(),
            arena: shared.clone(),
        }
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        self.kept
            .push(black_box(self.arena.alloc_arc(P::new(seed))));
    }

    #[inline(always)]
    fn mark(&self) -> usize {
        self.kept.len()
    }

    #[inline(always)]
    fn release_from(&mut self, mark: usize) {
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
            // SAFETY: `add` has written it, it is dropped once, and its memory is there until the
            // reset below.
            unsafe { ptr::drop_in_place(value.as_ptr()) };
        }
        self.bump.reset();
    }
}

impl<P> Drop for Bumped<P> {
    fn drop(&mut self) {
        for value in self.kept.drain(..) {
            // SAFETY: as in `drain`; the allocator is dropped after this.
            unsafe { ptr::drop_in_place(value.as_ptr()) };
        }
    }
}
