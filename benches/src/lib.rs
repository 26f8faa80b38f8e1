//! Measuring for the benchmarks, and the workloads that more than one of them measures.
//!
//! * [`workload`]: a job for each thread, which times itself
//! * [`crew`]: threads that run one workload at the same time
//! * [`contest`]: workloads that take turns in one run, so that their ratios are meaningful on a
//!   machine with other load
//! * [`comparison`]: which of two is faster, or that their samples do not tell
//! * [`table`]: comparisons of workloads, and their targets
//! * [`rows`]: the comparisons of single operations
//! * [`results`]: what was measured; [`terminal`], [`markdown`] and [`report`]: as text, as
//!   TABLE.md, and as a page
//! * [`objects`], [`pooled`], [`references`], [`conversions`]: the costs of one object
//! * [`sharing`], [`stores`], [`handing`]: the costs of sharing objects between threads
//! * [`later`]: the costs of having another thread destroy values
//! * [`remote`]: the costs of giving up references that only their owner may release
//! * [`held`]: the memory that a stalled reader holds back; [`resident`]: that of the process
//! * [`budget`]: a check that a drain keeps to its time budget

pub mod budget;
pub mod comparison;
pub mod contest;
pub mod conversions;
pub mod crew;
pub mod handing;
pub mod held;
pub mod later;
pub mod markdown;
pub mod objects;
pub mod pooled;
pub mod references;
pub mod remote;
pub mod report;
pub mod resident;
pub mod results;
pub mod rows;
pub mod sharing;
pub mod stores;
pub mod table;
pub mod terminal;
pub mod workload;
