//! Examples of code that must not compile, and why; each has a twin that compiles and differs only
//! in the tested point.
//!
//! * [`lending`]: references that a pool has lent
//! * [`sending`]: values that cannot be sent or shared
//! * [`objects`]: bounds, conversions and mutable access
//! * [`arenas`]: references into an arena
//! * [`hot_objects`]: hot objects
#![allow(dead_code)]

mod arenas;
mod hot_objects;
mod lending;
mod objects;
mod sending;
