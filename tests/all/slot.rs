//! Slots, which several threads load and replace, and the epoch that protects the loads.

mod epoch;
mod slots;
