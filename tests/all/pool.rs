//! Autorelease pools: guard pools, token pools, root pools, handoff pools, and budgeted drains.

pub mod budgets;
mod guards;
mod handoff;
mod nesting;
mod reentrancy;
mod roots;
mod tokens;
