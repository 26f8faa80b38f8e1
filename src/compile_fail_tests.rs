//! What must not compile, and why; each beside a twin that does compile, and differs
//! only in the one thing.
//!
//! * [`lending`]: what a pool lends, and when it ends
//! * [`threads`]: what stays on its thread
//! * [`objects`]: what an object is, and what may be made of it
//! * [`arenas`]: what is in an arena, and when it ends
#![allow(dead_code)]

mod arenas;
mod lending;
mod objects;
mod threads;
