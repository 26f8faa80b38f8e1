//! How the benchmarks measure, in one place; and what more than one of them measures.
//!
//! * [`workload`]: what is measured: a job, and how it times itself
//! * [`crew`]: threads that do the same job at the same time
//! * [`contest`]: several workloads by turns in one run, so that ratios mean
//!   something on a machine that does other things, too
//! * [`table`]: ratios beside their targets
//! * [`results`]: what a run of `contention` found, for files and for the report
//! * [`report`]: that as a page for people
//! * [`objects`], [`pooled`], [`references`], [`chain`]: what one object costs
//! * [`sharing`], [`handing`]: what it costs that several threads have it
//! * [`budget`]: whether a drain keeps to its time

pub mod budget;
pub mod chain;
pub mod contest;
pub mod crew;
pub mod handing;
pub mod objects;
pub mod pooled;
pub mod references;
pub mod report;
pub mod results;
pub mod sharing;
pub mod table;
pub mod workload;
