//! Memory for temporary values: a stack of entries, freed in any order.
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
//! Dropping the topmost entry lowers the top to where it was before that entry was made. Dropping
//! another entry marks the entry as a *hole*, and the top skips holes when it reaches them. A guard
//! whose drop resets the top would not do: new values would overwrite values that were forgotten or
//! leaked while the guard existed.
//!
//! `SAFETY` comments cite these invariants by number:
//!
//! 1. Complete entries are below the top, and nothing is above it. `last` leads to the topmost
//!    entry, which is not a hole, and links lead downwards from entry to entry.
//! 2. The top moves down only past entries that were freed. So before `reset`, the memory of a
//!    value that was not freed is never reserved again, whatever the order of drops, and whichever
//!    values are forgotten.
//! 3. Every owner of a value borrows the arena. So during `reset` and the arena's destructor, which
//!    borrow it mutably, no value has an owner: the values that are left were forgotten or leaked.
//! 4. While foreign code runs (closures, destructors, formatters, the global allocator) no
//!    operation is half done, and no reference to the arena's state is held: all state is in cells.
//!
//! From the bottom up:
//!
//! * [`overflow`]: values that did not fit, and are on the heap
//! * [`stack_allocator`]: `StackAllocator`, which reserves and frees memory
//! * [`stack_box`]: `StackBox`, which owns a value, and the ways to make values
//! * `arena_collections`: implements `Allocator` of the crate `allocator-api2`

#[cfg(feature = "allocator-api2")]
mod arena_collections;
mod overflow;
pub(crate) mod stack_allocator;
pub(crate) mod stack_box;
