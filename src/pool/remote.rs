//! The messages that other threads send to a thread's inboxes: [releases](remote_release), and
//! [closures](posted); and the [queue](segments) of foreign references that others give up.

pub(in crate::pool) mod posted;
pub(crate) mod remote_release;
pub(in crate::pool) mod segments;
