//! Finds objects, plain allocations, the references between them, and what holds them.

mod decode;
mod malloc;
mod ranks;
mod regions;
mod types;
