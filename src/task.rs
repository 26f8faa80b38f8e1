//! Pools around code that others call: futures, which executors poll on any thread, and wakers.
//!
//! [`pooled`](crate::pooled) gives a future a pool in each poll;
//! [`callback_scope`](crate::callback_scope) gives a callback a pool.

pub(crate) mod pooled;
mod wake;

pub use pooled::Pooled;
pub use wake::Wake;
