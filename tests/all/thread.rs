//! Threads: keys, messages, exit, and the destructors of thread-locals.

mod callback;
mod exit;
#[cfg(unix)]
mod key_teardown;
mod messages;
mod remote;
pub mod teardown;
pub mod threads;
