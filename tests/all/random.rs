//! Random programs, compared with the naive model in [`crate::model`].

mod fuzz_regressions;
mod programs;
mod threads;
