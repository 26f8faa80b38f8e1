//! What a program's pools hold: figures at any time, and reports of what is left at an end.
//!
//! Take [`PoolManager::snapshot`](crate::PoolManager::snapshot) first; at the end of a program,
//! [`PoolManager::shutdown`](crate::PoolManager::shutdown).

pub(crate) mod shutdown;
pub(crate) mod snapshot;

pub use shutdown::{EpochHolder, ShutdownReport};
pub use snapshot::{Snapshot, ThreadSnapshot, Totals};
