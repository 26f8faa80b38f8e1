//! Hot objects: references that many threads clone and drop.
//!
//! The table of hot objects belongs to the process, and any thread that quiesces releases those that
//! are dead. So tests that say where and when an object dies run in processes of their own.

mod deaths;
mod drains;
pub mod handles;
mod limits;
