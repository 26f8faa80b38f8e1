//! Code that the example `share` and the program `soak` have in common.

pub mod number;
pub mod output;
