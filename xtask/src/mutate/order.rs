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
//! * [`calls`]: calls, found without types

pub mod calls;
pub mod lists;
mod make;
pub mod operations;
mod text;

use super::mutant::Kind;
use super::switched::{Block, Program};
use crate::rust;
use lists::lists;
use operations::Operations;

const CANARIES: &[&str] = &[
    // A message that is found without its link.
    "src/thread/inbox.rs Inbox::push -- swap: message.node().next.set(next); <-> match self.head.compare_exchange_weak( head, message.0.as_pt..",
    // A message that is released before it counts.
    "src/thread/orphans.rs Orphans::adopt -- delete: self.outstanding .fetch_add(weight as usize, Ordering::Relax..",
];

/// Each survivor costs all of it: it is as long as the longest models take.
const MOST_SECONDS: f64 = 200.0;

/// Returns the order mutants of all of `src/`, but for the door to loom and what only models use.
pub fn program() -> Result<Program, String> {
    let mut program = Program::new(Kind::Order, CANARIES, MOST_SECONDS)?;
    let parse = |(path, text): &(String, String)| rust::parse(path, text);
    let files = program.sources.iter().map(parse);
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let operations = Operations::of(files.iter());
    for (source, file) in files.iter().enumerate() {
        for list in lists(file, &program.sources[source].1, &operations) {
            let edits = make::edits(&list);
            let block = Block {
                source,
                function: list.function,
                lines: list.lines,
                inside: list.inside,
            };
            program.add(block, edits);
        }
    }
    program.number_names();
    Ok(program)
}
