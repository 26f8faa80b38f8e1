//! Checks that everything went right.

use crate::digest::Digest;
use crate::error::Error;
use crate::input::Document;
use crate::keys::Keys;
use crate::run::Run;
use crate::worker::work;
use crate::world::plain::Plain;
use releasepool_examples_common::{label, output::grouped};

/// Returns the digest of each document, parsed on this thread alone and without the library.
pub fn expected(documents: &[Document]) -> Result<Vec<Digest>, Error> {
    let world = Plain::default();
    let keys = Keys::new();
    let mut digests = Vec::with_capacity(documents.len());
    work(&world, &keys, documents, 0..documents.len(), |_, root| {
        digests.push(Digest::of(&*root));
        true
    })?;
    Ok(digests)
}

/// One check and its result.
pub struct Check {
    pub what: &'static str,
    pub holds: bool,
    pub finding: String,
}

pub struct Verdict(pub Vec<Check>);

impl Verdict {
    pub fn holds(&self) -> bool {
        self.0.iter().all(|check| check.holds)
    }
}

pub fn verify(run: &Run, expected: &[Digest]) -> Verdict {
    Verdict(vec![
        digests(run, expected),
        hand_over(run),
        live_objects(run.live_objects),
        entries(run),
        destroyed(run),
        reclaimed(run),
        strays(),
    ])
}

fn digests(run: &Run, expected: &[Digest]) -> Check {
    let found = run.seen.digests.iter().zip(expected);
    let equal: u64 = found
        .flat_map(|(found, expected)| found.iter().filter(move |(digest, _)| digest == expected))
        .map(|(_, count)| count)
        .sum();
    let taken = run.seen.taken;
    Check {
        what: "digests",
        holds: equal == taken && run.seen.digests.iter().all(|found| !found.is_empty()),
        finding: format!(
            "{} of {} equal those of a single-threaded parse",
            grouped(equal),
            grouped(taken)
        ),
    }
}

fn hand_over(run: &Run) -> Check {
    let sent: u64 = run.threads.iter().map(|thread| thread.handed_over).sum();
    Check {
        what: "handed over",
        holds: sent == run.seen.taken,
        finding: format!(
            "{} by the workers, {} taken by the UI thread",
            grouped(sent),
            grouped(run.seen.taken)
        ),
    }
}

pub fn live_objects(live: u64) -> Check {
    Check {
        what: "live objects",
        holds: live == 0,
        finding: grouped(live),
    }
}

/// Compares the calls that the example counted with the releases that the library counted, for each
/// thread. If a thread had drained another thread's entry, the figures of both would differ.
fn entries(run: &Run) -> Check {
    let differ = |thread: &&crate::run::Activity| {
        thread.autoreleased != thread.totals.released || thread.created != thread.totals.created
    };
    let wrong: Vec<&str> = run
        .threads
        .iter()
        .filter(differ)
        .map(|thread| thread.thread.as_str())
        .collect();
    let total: u64 = run.threads.iter().map(|t| t.autoreleased).sum();
    Check {
        what: "entries",
        holds: wrong.is_empty(),
        finding: if wrong.is_empty() {
            format!(
                "{}, each released by the thread that autoreleased it",
                grouped(total)
            )
        } else {
            format!(
                "made, autoreleased and released differ on {}",
                wrong.join(", ")
            )
        },
    }
}

/// Compares what was created with the sum of what each thread destroyed, so that the report's rows
/// leave nothing out.
fn destroyed(run: &Run) -> Check {
    let created = run.created();
    let destroyed: u64 = run.threads.iter().map(|t| t.totals.destroyed).sum();
    Check {
        what: "destroyed",
        holds: destroyed == created,
        finding: format!("{} of {}", grouped(destroyed), grouped(created)),
    }
}

fn reclaimed(run: &Run) -> Check {
    let handed: u64 = run.threads.iter().map(|t| t.totals.handed_over).sum();
    Check {
        what: "reclaimed",
        holds: handed == run.seen.reclaimed,
        finding: format!(
            "{} documents handed to the reclaimer, {} counted by the library",
            grouped(run.seen.reclaimed),
            grouped(handed)
        ),
    }
}

pub fn strays() -> Check {
    let strays = label::strays();
    Check {
        what: "strays",
        holds: strays == 0,
        finding: format!(
            "{} temporaries destroyed by another thread than the one that made them",
            grouped(strays)
        ),
    }
}
