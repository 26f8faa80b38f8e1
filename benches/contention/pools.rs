//! A thread's pools, by each implementation that has something like them.
//!
//! All is inlined by force, so that no one pays for a call that others are spared.

pub mod alone;
pub mod deferred;
pub mod locked;
pub mod ours;

use releasepool_benches::objects::Payload;
use releasepool_benches::results::Role;
use std::sync::Arc;

/// What a thread has.
pub trait Pools<P: Payload>: Sized + 'static {
    const NAME: &str;
    const ROLE: Role = Role::Peer;
    const NOTE: Option<&str> = None;

    /// What all threads have together.
    type Shared: Default + Send + Sync + 'static;

    /// Those of the calling thread.
    fn here(shared: &Arc<Self::Shared>) -> Self;

    /// Makes an object and leaves it to the current pool.
    fn add(&mut self, seed: u64);

    /// Releases what the current pool has.
    fn drain(&mut self);
}

/// Those that can have a pool in a pool.
pub trait Nested<P: Payload>: Pools<P> {
    /// Opens another one for `work`, and releases what is in it afterwards.
    fn nested(&mut self, work: impl FnOnce(&mut Self));
}
