//! The ledger without the feature `leak-detection`: all functions are empty.

use super::told::{ObjectDescription, RawCall, ReleasedBy};
use crate::sync::const_fn;
use std::panic::Location;
use std::ptr::NonNull;

/// The name of a pool; empty without the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PoolLabel;

impl PoolLabel {
    pub(crate) const UNNAMED: Self = Self;
    pub(crate) const ROOT: Self = Self;
    pub(crate) const TOKEN: Self = Self;
    pub(crate) const HANDOFF: Self = Self;

    #[inline(always)]
    pub(crate) fn of(_name: &str) -> Self {
        Self
    }
}

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
    describe_live(NonNull<u8>) -> String = String::new();
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
