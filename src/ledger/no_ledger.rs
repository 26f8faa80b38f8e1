//! The ledger without the feature `leak-detection`: all functions are empty.

use super::told::{ObjectDescription, RawCall, ReleasedBy};
use crate::sync::const_fn;
use std::panic::Location;
use std::ptr::NonNull;

/// The name of a pool; empty without the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

#[inline(always)]
pub(crate) fn drained() {}

#[inline(always)]
pub(crate) fn drained_last() {}

#[inline(always)]
pub(crate) fn note_thread() {}

#[inline(always)]
pub(crate) fn check_raw_call(_: NonNull<u8>, _: RawCall) {}

#[inline(always)]
pub(crate) fn describe_live(_: NonNull<u8>) -> String {
    String::new()
}

#[inline(always)]
pub(crate) fn here(_so: &str) -> String {
    String::new()
}

#[inline(always)]
pub(crate) fn type_and_rest(_: NonNull<u8>) -> Option<(&'static str, String)> {
    None
}

#[inline(always)]
pub(crate) fn site_of(_: NonNull<u8>) -> Option<&'static Location<'static>> {
    None
}

#[inline(always)]
pub(crate) fn type_info_of(_: NonNull<u8>) -> Option<*const ()> {
    None
}

#[inline(always)]
pub(crate) fn retyped(_: NonNull<u8>, _: *const (), _: fn() -> &'static str) {}

#[inline(always)]
pub(crate) fn created(_: NonNull<u8>, _: ObjectDescription) {}

#[inline(always)]
pub(crate) fn died(_: NonNull<u8>) {}

#[inline(always)]
pub(crate) fn freed(_: NonNull<u8>) {}

#[inline(always)]
pub(crate) fn entered_pool(_: NonNull<u8>, _: PoolLabel) {}

#[inline(always)]
pub(crate) fn left_pool(_: NonNull<u8>, _: u32, _: PoolLabel) {}

#[inline(always)]
pub(crate) fn retained(_: NonNull<u8>) {}

#[inline(always)]
pub(crate) fn autoreleased(
    _: NonNull<u8>,
    _: &'static Location<'static>,
    _: impl FnOnce() -> PoolLabel,
) {
}

#[inline(always)]
pub(crate) fn released(_: NonNull<u8>, _: u32, _: ReleasedBy) {}
