//! Counted objects: `Ref`, `Weak` and `HomeRef`, their payloads, and how they are destroyed.

mod aborts;
mod arc_parity;
mod counts;
mod deep;
mod home;
mod misuse;
mod panics;
pub mod payloads;
mod settle_scopes;
