//! How the benchmarks measure, in one place; and what more than one of them measures.
//!
//! * [`workload`]: what is measured: a job, and how it times itself
//! * [`crew`]: threads that do the same job at the same time
//! * [`contest`]: several workloads by turns in one run, so that ratios mean
//!   something on a machine that does other things, too
//! * [`table`]: ratios beside their targets
//! * [`results`]: what a run of `contention` found, for files and for the report
<<<<<<< HEAD
//! * [`report`]: that as a page for people
//! * [`objects`]: objects that more than one of them makes
=======
//! * [`objects`], [`pooled`], [`references`], [`chain`]: what one object costs
//! * [`sharing`], [`handing`]: what it costs that several threads have it
//! * [`budget`]: whether a drain keeps to its time
>>>>>>> fb6b314 (benches: works that two benchmarks measure are in the library of the package)

pub mod budget;
pub mod chain;
pub mod contest;
pub mod crew;
pub mod handing;
pub mod objects;
<<<<<<< HEAD
pub mod report;
=======
pub mod pooled;
pub mod references;
>>>>>>> fb6b314 (benches: works that two benchmarks measure are in the library of the package)
pub mod results;
pub mod sharing;
pub mod table;
pub mod workload;
