//! The hot paths that are inlined in programs, each as a function of its own.
//!
//! `ci/bench/assembly.sh` compares their assembly, and that of the functions of the library that they
//! call, with the files beside this one. `xtask/src/assembly.rs` has the list.

use releasepool::{AutoreleasePool, PoolRef, Ref, Slot};
use std::hint::black_box;

/// A payload of 48 bytes, as that of most objects in the benchmarks.
pub type Bytes = [u64; 6];

/// A payload with a destructor.
pub struct Counted(pub Bytes);

impl Drop for Counted {
    fn drop(&mut self) {
        black_box(self.0[0]);
    }
}

/// Creates an object without a destructor in a pool.
#[inline(never)]
pub fn create(pool: &AutoreleasePool, bytes: Bytes) -> PoolRef<'_, Bytes> {
    pool.create(bytes)
}

/// Creates an object with a destructor in a pool.
#[inline(never)]
pub fn create_counted(pool: &AutoreleasePool, bytes: Bytes) -> PoolRef<'_, Counted> {
    pool.create(Counted(bytes))
}

/// Creates a counted reference.
#[inline(never)]
pub fn clone(object: &Ref<Bytes>) -> Ref<Bytes> {
    Ref::clone(object)
}

/// Drops a counted reference.
#[inline(never)]
pub fn drop(object: Ref<Bytes>) {
    std::mem::drop(object);
}

/// Loads the object of a slot.
#[inline(never)]
pub fn load<'p>(slot: &Slot<Bytes>, pool: &'p AutoreleasePool) -> PoolRef<'p, Bytes> {
    slot.load(pool)
}
