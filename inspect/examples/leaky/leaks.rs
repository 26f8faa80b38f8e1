//! Each leak has types of its own, of which there are several instances.

pub mod closures;
pub mod containers;
pub mod cycles;
pub mod forgotten;
pub mod homes;
pub mod pools;

/// How many instances there are of most leaks.
pub const INSTANCES: usize = 5;
