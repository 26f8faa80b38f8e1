//! The messages that other threads send to a thread's inboxes: [releases](remote_release), and
//! [closures](posted).

pub(in crate::pool) mod posted;
pub(crate) mod remote_release;
