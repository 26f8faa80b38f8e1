//! The ledger of live objects: for each, where, when and on which thread it was created, and which
//! pools hold it. Only with the feature `leak-detection`; without it, all functions here are empty.
//!
//! ```text
//! created, entered_pool, left_pool, died
//!     │
//!     ▼
//! index: payload address ─► ObjectRecord  a DashMap
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
//! From the lowest; each uses only files above it:
//! * `threads`: the calling thread's state, and threads by number, with their names
//! * `told`: the types by which callers describe objects, calls and pools; `abort`, for misuse
//! * `call_stack`: the user's functions that made a call
//! * `object_record`: records, the chunks that they are in, and the descriptor for other processes
//! * `object_name`: names of single objects, also without the feature
//! * `index`: the record of an address, and the pools that hold an object
//! * `balance`: retains and releases of chosen types, and objects that threads retain by turns
//! * `life`: creations and deaths, misuse that they show, and descriptions of objects for messages

#[cfg(feature = "leak-detection")]
pub(crate) mod balance;
#[cfg(feature = "leak-detection")]
pub(crate) mod call_stack;
#[cfg(feature = "leak-detection")]
pub(crate) mod index;
#[cfg(feature = "leak-detection")]
pub(crate) mod life;
pub(crate) mod object_name;
#[cfg(feature = "leak-detection")]
pub(crate) mod object_record;
#[cfg(feature = "leak-detection")]
pub(crate) mod threads;
mod told;

#[cfg(feature = "leak-detection")]
pub(crate) use self::{
    balance::{autoreleased, released, retained},
    index::{entered_pool, left_pool, type_info_of},
    life::{check_raw_call, created, died, freed, here, retyped, site_of, type_and_rest},
    threads::{awaits_drain, drained, drained_last, note_thread},
};
#[cfg(not(feature = "leak-detection"))]
pub(crate) use no_ledger::*;

pub(crate) use told::{CHECKS, ObjectDescription, PoolLabel, RawCall, ReleasedBy, abort};

/// The ledger without the feature: all functions are empty.
#[cfg(not(feature = "leak-detection"))]
mod no_ledger {
    use super::told::{ObjectDescription, PoolLabel, RawCall, ReleasedBy};
    use crate::sync::const_fn;
    use std::panic::Location;
    use std::ptr::NonNull;

    const_fn! {
        #[inline(always)]
        pub(crate) fn awaits_drain() -> bool {
            false
        }
    }

    /// Defines functions that do nothing, or return a value that says that nothing is known.
    macro_rules! empty {
        ($($name:ident($($argument:ty),*) $(-> $result:ty = $value:expr)?;)*) => {$(
            #[inline(always)]
            pub(crate) fn $name($(_: $argument),*) $(-> $result)? {
                $($value)?
            }
        )*};
    }

    empty! {
        drained();
        drained_last();
        note_thread();
        check_raw_call(NonNull<u8>, RawCall);
        here(&str) -> String = String::new();
        type_and_rest(NonNull<u8>) -> Option<(&'static str, String)> = None;
        site_of(NonNull<u8>) -> Option<&'static Location<'static>> = None;
        type_info_of(NonNull<u8>) -> Option<*const ()> = None;
        retyped(NonNull<u8>, *const (), fn() -> &'static str);
        created(NonNull<u8>, ObjectDescription);
        died(NonNull<u8>);
        freed(NonNull<u8>);
        entered_pool(NonNull<u8>, PoolLabel);
        left_pool(NonNull<u8>, u32, PoolLabel);
        retained(NonNull<u8>);
        autoreleased(NonNull<u8>, &'static Location<'static>, impl FnOnce() -> PoolLabel);
        released(NonNull<u8>, u32, ReleasedBy);
    }
}
