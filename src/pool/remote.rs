//! What other threads send to a thread's inbox: [releases](remote_release), and [closures](posted).

pub(in crate::pool) mod posted;
pub(crate) mod remote_release;
