//! Public names, signatures and auto traits.

mod auto_traits;
mod contract;
mod from_arc;
