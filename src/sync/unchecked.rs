//! What the standard library and shuttle have in common: cells whose accesses nothing checks.

pub(crate) mod cell;
mod owned;

pub(crate) use owned::OwnedU64;
