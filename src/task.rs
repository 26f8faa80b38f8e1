//! Pools around code that others call: futures, which executors poll on any thread, and wakers.
//!
//! Take [`pooled`](crate::pooled) first, which gives a future a pool in each poll;
//! [`callback_scope`](crate::callback_scope) does so for a callback.

pub(crate) mod pooled;
mod wake;

pub use pooled::Pooled;
pub use wake::Wake;
