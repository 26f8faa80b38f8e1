//! Frame loops, loopers, and pools for tasks and callbacks.

mod frames;
mod loopers;
mod loops_left;
mod posts;
mod reclaimers;
mod tasks;
mod wake_hooks;
