//! How the benchmarks measure, in one place.
//!
//! * [`workload`]: what is measured: a job, and how it times itself
//! * [`crew`]: threads that do the same job at the same time
//! * [`contest`]: several workloads by turns in one run, so that ratios mean
//!   something on a machine that does other things, too
//! * [`table`]: ratios beside their targets
//! * [`results`]: what a run of `contention` found, for files and for the report
//! * [`report`]: that as a page for people
//! * [`objects`]: objects that more than one of them makes

pub mod contest;
pub mod crew;
pub mod objects;
pub mod report;
pub mod results;
pub mod table;
pub mod workload;
