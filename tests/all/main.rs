//! One binary, modules by topic. Tests whose thread matters run on fresh threads;
//! tests that count what is in the process run in processes of their own.

mod support;

mod aborts;
mod budgets;
mod contract;
mod counts;
mod deep;
mod events;
mod exit;
mod fuzz_regressions;
mod handoff;
mod heap;
mod home;
mod home_gone;
mod home_teardown;
mod likeness;
mod mail;
mod managers;
mod markers;
mod model;
mod nesting;
mod panics;
mod panics_deep;
mod payloads;
mod pools;
mod races;
mod races_exit;
mod random_programs;
mod random_threads;
mod reentrancy;
mod roots;
mod shutdown;
mod slots;
mod teardown;
mod threads;
mod tokens;
