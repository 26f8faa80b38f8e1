//! The C interface of `releasepool`. `include/releasepool.h` documents the functions: ownership,
//! threads and errors. Here are only their bodies. Where a `// SAFETY:` comment names
//! releasepool.h, it cites what that file requires of an argument that is not null.
//!
//! * [`error`]: status codes, and the message of the last error
//! * [`class`], [`class_names`]: classes, and their names
//! * [`object`], [`embedded`]: objects, and those of C++, which embed their headers; [`home`]: objects
//!   with a home thread
//! * [`pool`], [`manager`]: pools by token and in place, callbacks, managers
//! * [`thread`], [`handoff`], [`slot`], [`frame`]: what threads share and send
//! * [`memory`]: the allocators
//! * [`report`]: figures, dumps, leaks, events
//!
//! A panic makes a function return [`Status::Panic`](error::Status::Panic) or its value for errors;
//! [`embedded`] names exceptions. C functions that the library calls must not unwind.

pub mod class;
mod class_names;
pub mod embedded;
pub mod error;
pub mod frame;
pub mod handoff;
pub mod home;
pub mod manager;
pub mod memory;
pub mod object;
pub mod pool;
pub mod report;
pub mod slot;
pub mod thread;
