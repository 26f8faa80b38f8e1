//! Public names, signatures and auto traits.

mod auto_traits;
mod contract;
mod every_type;
mod from_arc;
