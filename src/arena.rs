//! Memory for values that are made and not kept: a stack of entries, freed in any order.
//!
//! ```text
//! base                                                      used            capacity
//! ▼                                                         ▼ (top)                ▼
//! │header│ value │pad│header│ (hole) │header│ value │header│ value │     free      │
//!     ▲               │  ▲               │  ▲           │  ▲
//!     └─────link──────┘  └─────link──────┘  └───link────┘  └── last
//!
//! Overflow: newest node ⇄ node ⇄ oldest node, each before its value, in an allocation of its own
//! ```
//!
//! Dropping the topmost entry lowers the top to where it was before that entry. Dropping another
//! one marks it as a *hole*, and the top skips holes when it comes to them. A guard that simply
//! resets the top to where it was would overwrite values that were forgotten, or leaked for the
//! guard's lifetime, in between.
//!
//! Invariants, which comments on safety cite by number:
//!
//! 1. Below the top are complete entries, and nothing is above it. `last` leads to the topmost one,
//!    which is not a hole, and links lead downwards to each other one.
//! 2. The top falls only below entries that were freed. So whatever the order of drops, and
//!    whatever is forgotten, the memory of a value that was not freed is never reserved again
//!    before `reset`.
//! 3. Whatever owns a value borrows the arena. So during `reset` and the arena's destructor, which
//!    borrow it mutably, no value is owned: those that are left were forgotten or leaked.
//! 4. While foreign code runs (closures, destructors, formatters, the global allocator) no
//!    reference to the arena's state is held, and no operation is half done: all state is in cells.
//!
//! From the bottom up:
//!
//! * [`entry_label`]: what a dump says about an entry; [`overflow`]: values that did not fit, on the heap
//! * [`stack_allocator`]: `StackAllocator`, which reserves and frees memory
//! * [`stack_dump`]: `StackDump`; [`reservation`]: memory that is freed unless a value is made in it
//! * [`stack_box`]: `StackBox`, which owns a value; [`values`]: makes values
//! * `api2`: `Allocator` of the crate `allocator-api2`

#[cfg(feature = "allocator-api2")]
mod api2;
mod entry_label;
mod overflow;
mod reservation;
pub(crate) mod stack_allocator;
pub(crate) mod stack_box;
pub(crate) mod stack_dump;
mod values;
