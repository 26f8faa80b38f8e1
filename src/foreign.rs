//! Objects of foreign runtimes in pools: GObject, Python, COM, JNI, Objective-C.
//!
//! Implement [`Foreign`] first, and give references to
//! [`AutoreleasePool::adopt`](crate::AutoreleasePool::adopt). [`foreign_scope`] is for objects that
//! may be released only while a token of their runtime is held, and a [`RemoteRelease`] for
//! references that are given up on threads that may not release them.

// * `class`: classes of C and C++, as type infos that are made at run time
// * `by_hand`: C++ objects that `new` makes and `delete` frees, or that end without a release
// * `own_memory`: tells whether an address lies in memory that the library frees
// * `pooled`: objects of other runtimes in pools, by an adapter object for each reference

pub(crate) mod by_hand;
pub(crate) mod class;
pub(crate) mod own_memory;
mod pooled;

pub use pooled::{Foreign, ForeignRef, ForeignScope, NotOwner, RemoteRelease, foreign_scope};
