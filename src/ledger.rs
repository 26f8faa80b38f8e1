//! The ledger of live objects: for each, where, when and on which thread it was created, and which
//! pools hold it. Only with the feature `leak-detection`; without it, all functions here are empty.
//!
//! ```text
//! created, entered_pool, left_pool, died
//!     │
//!     ▼
//! index: payload address ─► Record        a DashMap
//!                             │
//! LEDGER ─► chunk ─► chunk    └─ in a chunk, which another process reads while this one is stopped
//! ```
//!
//! # Invariants
//! The `SAFETY` comments of this folder cite them ("invariant 1 of `ledger`").
//!
//! 1. *Records.* A record belongs to one entry of the index, and is accessed only while that
//!    entry's shard is locked; or it belongs to the thread that has just removed the entry; or it
//!    is in the free list of its stripe, and is accessed only while that list is locked. Chunks are
//!    never freed.
//! 2. *No foreign code under a lock.* While the ledger holds a lock, the calling thread runs only
//!    the ledger's own code, and the global allocator, which may be foreign and use this crate. So
//!    each thread notes that it is inside the ledger: objects that it creates meanwhile are not
//!    recorded.
//!
//! # Files
//! * `told`: the types by which callers describe objects and calls to the ledger
//! * `record`: records, the chunks that they are in, and the descriptor for other processes
//! * `guard`: marks the calling thread as inside the ledger
//! * `label`: the names of pools
//! * `frames`: call frames, and the names of functions; `caller`: the user's function that made a
//!   call; `stack`: words on the thread's stack
//! * `address`, `index`: look up the record of an address; `holders`: pool entries
//! * `threads`: threads by number, and their names
//! * `balance`: retains and releases of chosen types; `pairing`: which release undoes which retain;
//!   `contention`, `moves`: objects that several threads retain by turns
//! * `dead`: the objects that died last; `describe`: descriptions of objects for messages;
//!   `misuse`: misuse that the ledger detects; `life`: creations and deaths
//! * `object_name`: names of single objects, also without the feature
//! * `drains`: functions that wait for the end of an outermost drain

#[cfg(feature = "leak-detection")]
mod address;
#[cfg(feature = "leak-detection")]
pub(crate) mod balance;
#[cfg(feature = "leak-detection")]
mod caller;
#[cfg(feature = "leak-detection")]
mod contention;
#[cfg(feature = "leak-detection")]
mod dead;
#[cfg(feature = "leak-detection")]
pub(crate) mod describe;
#[cfg(feature = "leak-detection")]
pub(crate) mod drains;
#[cfg(feature = "leak-detection")]
pub(crate) mod frames;
#[cfg(feature = "leak-detection")]
mod holders;
#[cfg(feature = "leak-detection")]
pub(crate) mod index;
#[cfg(feature = "leak-detection")]
mod inside;
#[cfg(feature = "leak-detection")]
pub(crate) mod label;
#[cfg(feature = "leak-detection")]
pub(crate) mod life;
#[cfg(feature = "leak-detection")]
pub(crate) mod misuse;
#[cfg(feature = "leak-detection")]
mod moves;
#[cfg(not(feature = "leak-detection"))]
mod no_ledger;
pub(crate) mod object_name;
#[cfg(feature = "leak-detection")]
pub(crate) mod object_record;
#[cfg(feature = "leak-detection")]
mod own_stack;
#[cfg(feature = "leak-detection")]
pub(crate) mod pairing;
#[cfg(feature = "leak-detection")]
pub(crate) mod thread_names;
mod told;

#[cfg(feature = "leak-detection")]
pub(crate) use self::{
    balance::{autoreleased, released, retained},
    describe::{describe_live, here, site_of, type_and_rest},
    drains::{awaits_drain, drained, drained_last},
    holders::{entered_pool, left_pool},
    index::type_info_of,
    label::PoolLabel,
    life::{created, died, freed, retyped},
    misuse::check_raw_call,
    thread_names::note_thread,
};
#[cfg(not(feature = "leak-detection"))]
pub(crate) use no_ledger::*;
pub(crate) use told::{CHECKS, ObjectDescription, RawCall, ReleasedBy};
