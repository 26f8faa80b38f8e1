//! Order mutants: a source file with its statements misplaced, in as many ways as there are.
//!
//! In every function that synchronizes with other threads, each list of statements is mutated:
//! two neighbours are swapped, a statement is moved across one that synchronizes, or a statement
//! is deleted. All mutants stand in one program, behind a switch, and one of them is chosen when
//! that starts.
//!
//! * [`operations`]: which statements synchronize
//! * [`lists`]: the lists of statements of a file
//! * [`mutate`]: the mutants of a list
//! * [`text`]: how mutants are named
//! * [`render`]: the file with all its mutants in it
//! * [`errors`]: which mutants the compiler complains about
//! * [`diff`]: which lines a commit has changed
//! * [`tokens`]: calls, found without types
//!
//! Beside that, [`written`] finds the atomic operations of a file, for `cargo weaken`.

pub mod diff;
pub mod errors;
pub mod lists;
pub mod mutate;
pub mod operations;
pub mod render;
pub mod text;
pub mod tokens;
pub mod written;

pub use diff::changed_lines;
pub use errors::{Culprits, Diagnostic, culprits, executables};
pub use lists::{Breadth, List, Skipped, lists};
pub use mutate::{Mutant, mutants};
pub use operations::Operations;
pub use render::{Place, rendered};
pub use syn::File;
pub use written::{Written, written};

/// The module that every mutated program has: the switch. `BLOCKS` stands for the number of lists.
pub const SWITCH: &str = include_str!("switch.rs.txt");

/// Parses the text of a source file.
///
/// # Errors
/// If it is no Rust.
pub fn parse(text: &str) -> Result<File, syn::Error> {
    syn::parse_file(text)
}
