//! All integration tests in one binary, modules by topic. Tests that depend on the state of their
//! thread run on fresh threads; tests that count objects of the whole process run in child
//! processes.

mod support;

mod aborts;
#[cfg(feature = "allocator-api2")]
mod api2_boxes;
mod arc_parity;
mod auto_traits;
mod blocks;
#[cfg(feature = "allocator-api2")]
mod blocks_api2;
mod blocks_caps;
mod blocks_closing;
mod blocks_misuse;
mod blocks_random;
mod blocks_teardown;
mod blocks_threads;
mod blocks_use;
mod budgets;
mod budgets_messages;
mod budgets_watermark;
mod callback;
mod contract;
mod counts;
mod deep;
mod deep_queue;
mod events;
mod exit;
mod frames;
mod fuzz_regressions;
mod handoff;
mod heap;
mod heap_foreign;
mod home;
mod home_gone;
mod home_teardown;
#[cfg(unix)]
mod key_teardown;
mod loopers;
mod loops_left;
mod managers;
mod messages;
mod model;
mod nesting;
mod panics;
mod panics_deep;
mod payloads;
mod pools;
mod posts;
mod quiesce;
mod races;
mod races_blocks;
mod races_exit;
mod races_sharing;
mod races_slots;
mod random_programs;
mod random_threads;
mod reclaimers;
mod reentrancy;
mod remote;
mod roots;
mod settle_scopes;
mod shutdown;
mod shutdown_deep;
mod slots;
mod slots_epoch;
mod stack;
#[cfg(feature = "allocator-api2")]
mod stack_api2;
mod stack_frames;
mod stack_heap;
mod stack_panics;
mod stack_random;
mod tasks;
mod teardown;
mod threads;
mod tokens;
mod totals;
mod wake_hooks;
mod worker;
