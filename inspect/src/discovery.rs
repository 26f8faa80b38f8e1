//! Finds objects, plain allocations, the references between them, and what holds them.

mod decode;
mod ranks;
mod regions;
