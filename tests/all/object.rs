//! Counted objects: `Ref`, `Weak` and `HomeRef`, their payloads, and how they are destroyed.

mod aborts;
mod arc_parity;
mod block_slice;
mod boxed;
mod collected;
mod deep;
mod foreign_classes;
mod home;
mod io;
mod panics;
pub mod payloads;
mod settle_scopes;
mod text;
mod uninit;
mod unsizing;
mod wake;
