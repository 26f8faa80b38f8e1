//! The scenarios of the models on real threads, for Miri and the sanitizers.

mod blocks;
mod exit;
mod objects;
mod sharing;
mod slots;
