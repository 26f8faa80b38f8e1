//! The same documents by other means, and what contention costs them.

pub mod compare;
pub mod locked;
pub mod plain;
