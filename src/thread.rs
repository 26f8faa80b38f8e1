//! Threads: their keys, the registry of those that live, and their inboxes.
//!
//! * [`key`]: a thread's name for as long as the process lives: never reused
//! * [`registry`]: key → record, without a lock
//! * [`record`]: what others may know of a thread; one per OS thread, shared by
//!   all managers
//! * [`inbox`]: what others send it; [`bell`]: how that wakes it
//! * [`pinned`]: whether it holds the epoch up, for reports
//! * [`orphans`]: what arrived too late
//! * [`exit`]: how a thread leaves
//! * [`handle`]: the public side

pub(crate) mod bell;
pub(crate) mod exit;
pub(crate) mod handle;
pub(crate) mod inbox;
pub(crate) mod key;
pub(crate) mod orphans;
pub(crate) mod pinned;
pub(crate) mod record;
pub(crate) mod registry;
