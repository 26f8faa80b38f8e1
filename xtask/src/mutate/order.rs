//! Order mutants: in every function that synchronizes with other threads, statements are swapped,
//! moved and deleted.
//!
//! Weakening an ordering does not show whether a model would notice that a statement stands on the
//! wrong side of it.
//!
//! * [`operations`]: which statements synchronize
//! * [`lists`]: the lists of statements of a file
//! * [`make`]: the mutants of a list
//! * [`text`]: how mutants are named
//! * [`tokens`]: calls, found without types

pub mod lists;
mod make;
pub mod operations;
mod text;
mod tokens;

use super::mutant::Kind;
use super::switched::{Block, Program};
use super::tree::sources;
use crate::rust;
use lists::{Breadth, lists};
use operations::Operations;

/// Mutants that are known to be bugs. They are examined whatever else is: if one is not
/// noticed, no other result counts.
pub const CANARIES: &[&str] = &[
    // A message that is found without its link.
    "src/thread/inbox.rs Inbox::push -- swap: message.node().next.set(next); <-> match self.head.compare_exchange_weak( head, message.0.as_pt..",
    // A message that is released before it counts.
    "src/thread/orphans.rs Orphans::adopt -- delete: self.outstanding .fetch_add(weight as usize, Ordering::Relax..",
];

/// Returns the order mutants of all of `src/`, but for the door to loom and what only models use.
pub fn program(breadth: Breadth) -> Result<Program, String> {
    let mut program = Program::new(Kind::Order, sources()?);
    let parse = |(path, text): &(String, String)| rust::parse(path, text);
    let files: Vec<syn::File> = program
        .sources()
        .iter()
        .map(parse)
        .collect::<Result<_, _>>()?;
    let operations = Operations::of(files.iter());
    for (source, file) in files.iter().enumerate() {
        let (path, text) = &program.sources()[source];
        let (lists, skipped) = lists(file, text, &operations, breadth);
        let path = path.clone();
        let reasons = skipped
            .into_iter()
            .map(|(function, reason)| format!("{function}: it {reason}"));
        program
            .skipped
            .extend(reasons.map(|reason| (path.clone(), reason)));
        for list in lists {
            let block = Block {
                source,
                function: list.function.clone(),
                lines: list.lines.clone(),
                inside: list.inside.clone(),
            };
            program.add(block, make::edits(&list));
        }
    }
    program.number_names();
    Ok(program)
}
