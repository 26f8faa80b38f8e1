//! All integration tests in one binary, modules by topic. Tests that depend on the state of their
//! thread run on fresh threads; tests that count objects of the whole process run in child
//! processes.

mod support;

mod api;
mod arena;
mod block;
mod event;
mod famous_bugs;
mod frame;
mod hot;
#[cfg(feature = "leak-detection")]
mod leaks;
mod manager;
mod memory;
mod model;
mod object;
mod pool;
mod races;
mod random;
mod reclaim;
mod report;
mod slot;
mod thread;
