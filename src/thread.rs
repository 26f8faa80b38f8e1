//! Threads: their keys, the registry of those that live, and their inboxes.
//!
//! * [`key`]: a thread's name for as long as the process lives: never reused
//! * [`registry`]: key → record, without a lock
//! * [`record`]: what others may know of a thread; one per OS thread, shared by
//!   all managers
//! * [`inbox`]: what others send it; [`counted`]: and how much of it has not run; [`claimed`]: what
//!   is taken out within budgets; [`waker`]: how a message wakes the thread
//! * [`orphans`]: what arrived too late, and what slots have given up
//! * [`timer`]: how long something has gone on, for reports
//! * [`exit`]: how a thread leaves
//! * [`handle`]: the public side

pub(crate) mod claimed;
pub(crate) mod counted;
pub(crate) mod current;
pub(crate) mod handle;
pub(crate) mod inbox;
pub(crate) mod key;
pub(crate) mod lazy_timer;
pub(crate) mod orphans;
pub(crate) mod record;
pub(crate) mod registry;
pub(crate) mod waker;
