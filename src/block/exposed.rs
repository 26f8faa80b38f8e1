//! Provenance of pointers that collections pass back.
//!
//! `Allocator::deallocate`, `grow` and `shrink` receive the pointer that a collection has kept.
//! `Box` turns its pointer into a `&mut T` and that into a pointer again, whose provenance covers
//! the `T` alone: the header of the block's chunk, or the node before a value in an arena's
//! overflow, is outside it. So the provenance of memory that goes to a collection is exposed, and
//! only the address of the pointer that comes back is used.
//!
//! Through the recovered pointer the allocators only read their own pointer to the memory, and use
//! their own pointer from then on: all pointers in their lists have strict provenance. This is the
//! crate's only integer-to-pointer cast, and `ci/sanitize/miri.sh` allows it in this file alone.

use std::ptr::{self, NonNull};

/// Exposes the provenance of memory that goes to a collection.
#[inline(always)]
pub(crate) fn expose(memory: NonNull<u8>) {
    _ = memory.as_ptr().expose_provenance();
}

/// Returns a pointer to the same address, with provenance that [`expose`] has exposed.
#[inline(always)]
pub(crate) fn recover(memory: NonNull<u8>) -> NonNull<u8> {
    let recovered = ptr::with_exposed_provenance_mut(memory.addr().get());
    // SAFETY: the address is that of `memory`, which is not null.
    unsafe { NonNull::new_unchecked(recovered) }
}
