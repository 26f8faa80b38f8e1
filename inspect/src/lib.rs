//! Shows from outside what is alive in a program that uses `releasepool`, what holds it, and what
//! leaks. Reads the memory of a running process, or a core file.
//!
//! From memory to verdicts, each step uses only those before it, and no files use each other in a
//! circle:
//!
//! * [`image`]: memory and threads of a stopped process, or of a core file;
//! * [`layout`]: what the library says about its structures; [`library`]: these structures;
//! * [`discovery`]: objects, plain allocations, references between them, and roots: a [`graph`];
//! * [`analysis`]: what the graph means: leaks, cycles, shortest paths, retained sizes;
//! * [`report`]: these findings for people and for machines;
//! * [`capture`], [`store`], [`run`]: from a process to a graph, graphs in files, commands.

pub mod analysis;
pub mod capture;
pub mod cli;
pub mod discovery;
pub mod error;
pub mod graph;
pub mod image;
pub mod layout;
pub mod library;
pub mod report;
pub mod run;
pub mod store;
