//! Memory and threads of a stopped process, or of a core file.

mod backing;
pub mod core;
pub mod elf;
mod memory;
mod parts;
pub mod process;
mod program_image;
mod registers;
pub mod symbols;

pub use memory::Memory;
pub(crate) use memory::words;
pub use parts::{Mapping, Module, Note, Parts, Thread};
pub use program_image::{Image, ProgramImage, Stopped};
