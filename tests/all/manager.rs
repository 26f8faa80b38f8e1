//! `PoolManager`: several managers, snapshots, `quiesce` and `shutdown`.

mod managers;
mod quiesce;
pub mod shutdown;
mod totals;
