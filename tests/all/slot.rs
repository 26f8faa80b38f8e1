//! Slots, which several threads load and replace, and the epoch that protects the loads.

mod arc_swap;
mod coroutines;
mod epoch;
mod fences;
mod readers;
mod slots;
mod targets;
