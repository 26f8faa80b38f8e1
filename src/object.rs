//! Counted objects: the functions and types besides [`Ref`](crate::Ref) and [`Weak`](crate::Weak).
//!
//! Take [`Ref::new`](crate::Ref::new) first. [`settle`] and [`settle_scope`] are for code that must
//! be sure that the objects that it drops are destroyed, even inside a destructor. A [`ThinTarget`]
//! is a type whose objects can be reached through a pointer of one word.

// Counted objects: their memory, their count word, and the references to them.
//
// ```text
// allocation   [padding] [length, slices only] [count word] [type info] payload...
//                                      all handles point here, by a Thin ^
// count word   [strong - 1: 32 bits] [weak: 31 bits] [held (the value exists): 1 bit]
//
//   uninitialized         strong 0, weak >= 1, held 0    the memory of `new_cyclic`
//      | set_initialized
//      v
//   alive                 strong >= 1, held 1            retain, downgrade and upgrade stay here
//      | release of the last strong reference            (the word may still count this reference,
//      v                                                  if it was the only one of any kind)
//   dead, perhaps queued  strong 0, held 1               no upgrade succeeds from here on
//      | begin_destruction
//      v
//   destroyed             strong 0, weak >= 1, held 0    one weak reference is the destructor's
//      | release of the last weak reference
//      v
//   freed
// ```
//
// # Invariants
// 1. *Address.* A `header::Thin` points to a payload, with the provenance of the whole
//    allocation; a header is right before it. The header's type info is written when the object is
//    made, and fits the type and memory of the object. Only code that has the only reference
//    replaces the type info: `Ref::assume_init`, or the constructor of a C++ class.
// 2. *Memory.* An object's memory is freed only when there is no reference of any kind and `held`
//    is 0, or by the thread that has the only reference.
// 3. *Value.* While there is a strong reference, the value is initialized and not moved.
// 4. *Ownership.* Each counted reference belongs to exactly one handle, pool entry, message, slot
//    or raw pointer.
// 5. *Death.* Exactly one release finds that it was the last one. The thread that made this release
//    owns the dead object, and destroys it once or passes it on.
// 6. *Unique.* New references come only from counted ones. So a thread that has the only reference
//    of any kind, and finds that by an acquiring load, has exclusive access to the object.
// 7. *Queue.* A thread's queue of dead objects is accessed by that thread only, and never while
//    foreign code runs.
// 8. *Home.* Only the home accesses the value of a `HomeRef`; another thread may drop the value if
//    it is `Send`. Once the object is made, only the thread that owns the dead object writes the
//    *front* of the payload, which is before the value (see `home::home_ref`).
//
// # Files
// * `count`: the count word and its operations
// * `header`: the header, the layout, and the vtable of the objects of one type
// * `payload`: values and slices in objects; `object_memory`: sources of their memory
// * `destroy`: the destruction of objects, in constant stack space
// * `raw_checks`: misuse of raw calls, and overwritten headers
// * `strong`, `weak`: `Ref` and `Weak`
// * `boxed`: values of any type that were moved out of a box
// * `later_value`: values on their way to the thread that destroys them
// * `make`, `slices`, `text_objects`: the ways to make a `Ref`; `unique`: exclusive access
//   to the value, and moving it out
// * `thin_target`: types whose objects, and their lengths, are found by a pointer of one word
// * `traits`: the traits that `std::sync::Arc` implements, too

mod boxed;
pub(crate) mod count;
pub(crate) mod destroy;
pub(crate) mod header;
pub(crate) mod later_value;
mod make;
pub(crate) mod object_memory;
pub(crate) mod payload;
pub(crate) mod raw_checks;
mod slices;
pub(crate) mod strong;
mod text_objects;
pub(crate) mod thin_target;
pub(crate) mod traits;
mod unique;
pub(crate) mod weak;

pub use destroy::{settle, settle_scope};
pub use thin_target::ThinTarget;

crate::sync::described! {
    /// The entries of the [note](crate::note) for the structures of this folder.
    pub(crate) const NOTES: &[&[crate::layout::Entry]] = &[count::NOTE, header::NOTE, payload::NOTE];
}
