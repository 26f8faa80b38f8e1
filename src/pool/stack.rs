//! The pools of a thread, and which one is current.
//!
//! * [`pool_life`]: the state of a pool, with all its transitions in a table
//! * [`backlog`], [`budget`], [`strays`], [`manager_shared`]: parts of a stack of pools
//! * [`attention`]: duties that closing a pool must notice; rounds, in which drains defer duties
//! * [`pool_stack`]: one pool; the pools of one manager on one thread
//! * [`thread_pools`]: all pools of one thread. A `ThreadPools` and its stacks point to each other
//! * [`chain`]: which pool is current, and which pools leave the chain when a pool is closed

pub(crate) mod attention;
pub(crate) mod backlog;
pub(crate) mod budget;
pub(in crate::pool) mod chain;
pub(crate) mod manager_shared;
pub(crate) mod pool_life;
pub(crate) mod pool_stack;
mod strays;
pub(crate) mod thread_pools;
