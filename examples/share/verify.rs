//! Checks that everything went right.

use crate::error::Error;
use crate::input::Document;
use crate::job::digest::Digest;
use crate::job::label;
use crate::job::run::{Activity, Run};
use crate::job::ui::Seen;
use releasepool_examples_common::output::grouped;
use std::time::Instant;

/// The digest that each document should have; `None` if the UI thread has not seen the document, or
/// if there was no time.
pub type Expected = Vec<Option<Digest>>;

/// Reads each document that the UI thread has seen, without the library and without making a graph. Stops at
/// the deadline.
pub fn expected(
    documents: &[Document],
    seen: &Seen,
    deadline: Option<Instant>,
) -> Result<Expected, Error> {
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let digest = |(n, document): (usize, &Document)| {
        if seen.digests[n].is_empty() || n > 0 && is_over() {
            return Ok(None);
        }
        let digest = Digest::of_text(&document.text);
        digest.map(Some).map_err(|error| document.invalid(n, error))
    };
    documents.iter().enumerate().map(digest).collect()
}

/// One check and its result.
pub struct Check {
    pub what: &'static str,
    pub holds: bool,
    pub finding: String,
}

impl Check {
    fn new(what: &'static str, holds: bool, finding: String) -> Self {
        Self {
            what,
            holds,
            finding,
        }
    }
}

/// Verifies the run. If `is_complete`, there was time for every document, and none may be missing.
pub fn verify(run: &Run, expected: &Expected, is_complete: bool) -> Vec<Check> {
    let sum = |count: fn(&Activity) -> u64| run.threads.iter().map(count).sum::<u64>();
    let (sent, taken) = (sum(|thread| thread.handed_over), run.seen.taken);
    // Sums of all threads' figures, so that the report's rows leave nothing out.
    let (destroyed, created) = (sum(|thread| thread.totals.destroyed), run.created());
    let (handed, reclaimed) = (sum(|thread| thread.totals.handed_over), run.seen.reclaimed);
    let by_workers = format!(
        "{} by the workers, {} taken by the UI thread",
        grouped(sent),
        grouped(taken)
    );
    let to_reclaimer = format!(
        "{} documents handed to the reclaimer, {} counted by the library",
        grouped(reclaimed),
        grouped(handed)
    );
    let all = format!("{} of {}", grouped(destroyed), grouped(created));
    vec![
        digests(run, expected, is_complete),
        Check::new("handed over", sent == taken, by_workers),
        live_objects(run.live_objects),
        entries(run),
        Check::new("destroyed", destroyed == created, all),
        Check::new("reclaimed", handed == reclaimed, to_reclaimer),
        temporaries(),
    ]
}

fn digests(run: &Run, expected: &Expected, is_complete: bool) -> Check {
    let (mut equal, mut compared, mut documents) = (0, 0, 0);
    for (found, expected) in run.seen.digests.iter().zip(expected) {
        let Some(expected) = expected else { continue };
        documents += 1;
        for (digest, count) in found {
            compared += count;
            equal += if digest == expected { *count } else { 0 };
        }
    }
    let total = expected.len() as u64;
    let all = documents == total;
    let (some, total) = (grouped(documents), grouped(total));
    let part = format!("; time was for {some} of {total} documents");
    let part = if all { "" } else { &part };
    let (right, compared_with) = (grouped(equal), grouped(compared));
    Check::new(
        "digests",
        equal == compared && documents > 0 && (all || !is_complete),
        format!("{right} of {compared_with} equal those of a parse without the library{part}"),
    )
}

pub fn live_objects(live: u64) -> Check {
    Check::new("live objects", live == 0, grouped(live))
}

/// Compares the calls that the example counted with the releases that the library counted, for each
/// thread. If a thread had drained another thread's entry, the figures of both would differ.
fn entries(run: &Run) -> Check {
    let differ = |thread: &&Activity| {
        thread.autoreleased != thread.totals.released || thread.created != thread.totals.created
    };
    let wrong = run.threads.iter().filter(differ);
    let wrong: Vec<&str> = wrong.map(|thread| thread.thread.as_str()).collect();
    let total: u64 = run.threads.iter().map(|t| t.autoreleased).sum();
    let finding = match &wrong[..] {
        [] => format!(
            "{}, each released by the thread that autoreleased it",
            grouped(total)
        ),
        names => format!(
            "made, autoreleased and released differ on {}",
            names.join(", ")
        ),
    };
    Check::new("entries", wrong.is_empty(), finding)
}

pub fn temporaries() -> Check {
    let elsewhere = label::destroyed_elsewhere();
    let finding = format!(
        "{} destroyed by another thread than the one that made them",
        grouped(elsewhere)
    );
    Check::new("temporaries", elsewhere == 0, finding)
}
