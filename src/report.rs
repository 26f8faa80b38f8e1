//! Figures of what a program's pools hold, and reports of what is left when it ends.
//!
//! A [`FinishGuard`], first in `main`, ends the crate's work at the end of `main`, also on `?` and panics;
//! [`finish`](crate::finish) does so by hand, and returns an [`ExitReport`]. For figures at any time, take
//! [`PoolManager::snapshot`](crate::PoolManager::snapshot).

pub(crate) mod exit;
pub(crate) mod shutdown;
pub(crate) mod snapshot;

pub use exit::{ExitReport, FinishGuard, KeptValues, LivingLoop, ManagerLeft};
pub use shutdown::{EpochHolder, ShutdownReport};
pub use snapshot::{Snapshot, ThreadSnapshot, Totals};
