//! Finds objects, plain allocations, the references between them, and what holds them.

#![allow(dead_code)]
mod areas;
mod decode;
mod edges;
mod malloc;
mod objects;
mod ranks;
mod regions;
mod roots;
mod targets;
mod types;
