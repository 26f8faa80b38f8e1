//! Objects of foreign runtimes in pools: GObject, Python, COM, JNI, Objective-C.
//!
//! Implement [`Foreign`] first, and give references to
//! [`AutoreleasePool::adopt`](crate::AutoreleasePool::adopt). [`foreign_scope`] is for callbacks of such
//! a runtime, and a [`RemoteRelease`] for references that are given up on the wrong thread.

// Objects of C and C++, and those that other runtimes count:
//
// * `class`: a class, as a type info that was made at run time
// * `by_hand`: objects that `new` makes and `delete` frees, or that end by hand
// * `own_memory`: whether memory is the library's
// * `pooled`: objects of other runtimes in pools, by an adapter object for each reference

pub(crate) mod by_hand;
pub(crate) mod class;
pub(crate) mod own_memory;
mod pooled;

pub use pooled::{Foreign, ForeignRef, ForeignScope, NotOwner, RemoteRelease, foreign_scope};
