//! The main job: workers parse documents into graphs of counted objects, the UI thread shows them and
//! releases the ones that newer documents replace.
//!
//! Where to start reading: `parse` is the game code, `world` shows what it needs from the library, `ui`
//! is the frame loop, `run` has the threads. `keys` has what all documents share; `schedule`
//! and `in_flight` keep the workers busy, but not too far ahead. `label` notices destructors on wrong threads.

pub mod digest;
pub mod in_flight;
pub mod keys;
pub mod label;
pub mod parse;
pub mod run;
pub mod schedule;
pub mod ui;
pub mod world;
