//! Processes the same documents by other means, to show what contention costs.

pub mod compare;
mod deep;
pub mod locked;
pub mod plain;
pub mod values;
