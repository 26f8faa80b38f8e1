//! Code that the examples `share` and `soak` have in common.

pub mod label;
pub mod number;
pub mod output;
