//! Memory and threads of a stopped process, or of a core file.

pub mod core;
pub mod elf;
mod parts;
pub mod process;
mod program_image;
pub mod symbols;

pub(crate) use parts::words;
pub use parts::{Mapping, Memory, Module, Note, Parts, Thread};
#[cfg(test)]
pub(crate) use program_image::{Backing, Regions};
pub use program_image::{Image, ProgramImage, Stopped};
