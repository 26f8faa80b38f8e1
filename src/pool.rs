//! Autorelease pools.
//!
//! * [`entries`]: a chain of pending releases; [`page`]: its memory
//! * [`state`]: one pool, and the frames that say which pool is current
//! * [`thread_pools`]: a thread's pools; [`pool_stack`]: those of one manager on it
//! * [`manager_shared`]: what a manager is to its pools
//! * [`guard`]: `AutoreleasePool`; [`pool_ref`]: what it lends; [`dump`]: what is in it
//! * [`handoff`]: `HandoffPool`, which another thread drains
//! * [`implicit`]: the current pool and the root pool; [`token`]: for foreign code
//! * [`drain`]: how a pool is emptied; [`remote_release`]: what other threads release here
//! * [`budget`]: how much of it at a time; [`backlog`]: what is left for later
//! * [`epoch`]: what slots lend, and when they may give it up
//! * [`strays`]: how often a thread autoreleases without a pool; [`watch`]: watermarks
//! * [`exit`]: what a thread's end does with its pools

pub(crate) mod backlog;
pub(crate) mod budget;
#[cfg(test)]
mod chain_tests;
pub(crate) mod drain;
pub(crate) mod dump;
pub(crate) mod entries;
pub(crate) mod epoch;
pub(crate) mod exit;
pub(crate) mod guard;
pub(crate) mod handoff;
pub(crate) mod implicit;
pub(crate) mod manager_shared;
pub(crate) mod page;
pub(crate) mod pool_ref;
pub(crate) mod pool_stack;
pub(crate) mod remote_release;
pub(crate) mod state;
mod strays;
pub(crate) mod thread_pools;
pub(crate) mod token;
mod watch;
