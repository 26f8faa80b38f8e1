//! Slots, which several threads load and replace, and the epoch that protects the loads.

mod arc_swap;
mod epoch;
mod lists;
mod quiet;
mod readers;
mod slots;
mod targets;
