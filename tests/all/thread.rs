//! Threads: keys, messages, exit, and the destructors of thread-locals.

mod callback;
mod exit;
mod inbox_hooks;
#[cfg(unix)]
mod key_teardown;
mod last_drops;
mod messages;
mod remote;
mod teardown;
mod threads;
