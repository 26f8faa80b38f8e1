//! Autorelease pools: guard pools, token pools, root pools, handoff pools, and budgeted drains.

pub mod budgets;
mod endless;
mod foreign;
mod foreign_remote;
mod guards;
mod handoff;
mod inside_drains;
mod nesting;
mod programs;
mod reentrancy;
mod roots;
mod sizes;
mod tokens;
mod watermarks;
