//! The text of the report.

use crate::args::Options;
use crate::input::Document;
use crate::job::run::Run;
use crate::job::ui::Seen;
use crate::job::world::ours::Memory;
use crate::others::compare::{Comparison, Row};
use crate::output::{Table, counted, rate, short_time, shown_rate, size};
use crate::verify::{Check, Verdict};
use releasepool_examples_common::output::grouped;
use std::fmt::Write;
use std::thread::available_parallelism;
use std::time::Duration;

/// A thread that had no processor for more than this part of its time is worth a note.
const BUSY: f64 = 0.02;

/// A comparison whose first row took less than this is worth a note.
const SHORT: Duration = Duration::from_millis(200);

pub fn input(documents: &[Document], options: &Options) -> String {
    let what = match documents {
        [only] => only.name.clone(),
        all => counted(all.len() as u64, "document"),
    };
    let length = match (options.rounds, options.seconds) {
        (Some(rounds), _) => counted(rounds, "round"),
        (None, Some(time)) => format!("{} s in all", time.as_secs_f64()),
        (None, None) => "each document at least once".to_owned(),
    };
    let frames = match options.frame() {
        Some(interval) => format!("{} frames/s", shown_rate(1.0 / interval.as_secs_f64())),
        None => "frames as there is work".to_owned(),
    };
    let objects = match options.memory {
        Memory::Blocks => "objects in blocks",
        Memory::Global => "objects by the global allocator",
    };
    let workers = counted(options.workers as u64, "worker");
    format!(
        "Input: {what}, {}; {workers}, {length}, {frames}, {objects}\n",
        size(text_bytes(documents))
    )
}

fn text_bytes(documents: &[Document]) -> u64 {
    documents.iter().map(|d| d.text.len() as u64).sum()
}

pub fn run(run: &Run, options: &Options) -> String {
    let mut table = Table::default();
    table.row([
        "thread",
        "pools pushed",
        "created",
        "autoreleased",
        "released here",
        "destroyed",
        "handed over",
    ]);
    for thread in &run.threads {
        table.row([
            thread.thread.clone(),
            grouped(thread.totals.pools_pushed),
            grouped(thread.totals.created),
            grouped(thread.autoreleased),
            grouped(thread.totals.released),
            grouped(thread.totals.destroyed),
            grouped(thread.handed_over),
        ]);
    }
    let frames = &run.seen.frames;
    let (documents, objects, peak) = (run.seen.taken, run.created(), run.in_flight);
    let mut overall = Table::default();
    let mut line = |what: &str, figure: String| overall.row([what.to_owned(), figure]);
    line("documents", grouped(documents));
    line("documents/s", shown_rate(rate(documents, run.elapsed)));
    line(
        "text/s",
        size(rate(run.seen.bytes, run.elapsed).round() as u64),
    );
    line("objects/s", shown_rate(rate(objects, run.elapsed)));
    line("frames", grouped(frames.count()));
    line("frame time p50", short_time(frames.quantile(0.5)));
    line("frame time p99", short_time(frames.quantile(0.99)));
    line("frame time max", short_time(frames.max()));
    line("peak live objects", grouped(run.seen.peak_live));
    line(
        "peak of documents in flight",
        grouped(peak.documents as u64),
    );
    line("peak of text in flight", size(peak.bytes as u64));
    line("chunks", size(run.blocks.chunk_bytes));
    line("peak of chunks", size(run.blocks.peak_chunk_bytes));
    line("remote frees", grouped(run.blocks.remote_frees));
    format!(
        "\nPer thread\n{table}{THREADS}\nOverall, in {:.2} s\n{overall}{CHUNKS}{FRAME_TIME}{}{}",
        run.elapsed.as_secs_f64(),
        match options.frame() {
            Some(interval) => format!("  A frame has {}.\n", short_time(interval)),
            None => String::new(),
        },
        crowded(run, options)
    )
}

const THREADS: &str = "
  autoreleased   references given to a pool of this thread
  released here  references that its pools released; must equal autoreleased
  destroyed      objects whose last reference was dropped on this thread; the objects
                 of a document are destroyed where its root is
  handed over    documents sent to the UI thread
";

const CHUNKS: &str = "
  in flight      handed over and not destroyed yet; workers wait while it is too much
  chunks         memory that the block allocator holds at the end
  remote frees   blocks that were not freed by the thread that had allocated them,
                 and went back to that thread
";

const FRAME_TIME: &str = "
  A frame time is from the beginning of the frame to the end of its drain, without the
  wait for the next frame. p99: 99 of 100 frames took no longer.
";

/// Returns a note if the UI thread often had no processor.
fn crowded(run: &Run, options: &Options) -> String {
    let waited = run.ui_waited.as_secs_f64() / run.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    if waited < BUSY {
        return String::new();
    }
    format!(
        "  Note: for {:.0} % of the time the UI thread could have run, but had no processor,\n  \
         because {}, the reclaimer or other programs used them all. Frame times include that.\n",
        waited * 100.0,
        counted(options.workers as u64, "worker"),
    )
}

/// Compares frame times by how old documents are released.
/// The first two have been run for so long.
pub fn frame_times(
    (whole, time_of_whole): &(Seen, Duration),
    (budget, time_of_budget): &(Seen, Duration),
    handoff: &Seen,
) -> String {
    let mut table = Table::default();
    table.row([
        "",
        "frames",
        "p50",
        "p99",
        "max",
        "documents",
        "left, at most",
    ]);
    for (name, seen) in [
        ("drained to the end in every frame", whole),
        ("drained within what is left of the frame", budget),
        ("handed to a reclaimer, as above", handoff),
    ] {
        table.row([
            name.to_owned(),
            grouped(seen.frames.count()),
            short_time(seen.frames.quantile(0.5)),
            short_time(seen.frames.quantile(0.99)),
            short_time(seen.frames.max()),
            grouped(seen.taken),
            grouped(seen.peak_backlog as u64),
        ]);
    }
    format!(
        "\nFrame times, by how documents that are no longer shown are released\n\
         {table}{LEFT}  The first two ran for {:.2} s and {:.2} s.\n",
        time_of_whole.as_secs_f64(),
        time_of_budget.as_secs_f64(),
    )
}

const LEFT: &str = "
  documents      taken by the UI thread
  left, at most  releases that a frame had no time for and left to the next ones
";

pub fn verdict(verdict: &Verdict) -> String {
    let result = if verdict.holds() { "passed" } else { "FAILED" };
    format!("\nVerification: {result}\n{}", checks(&verdict.0))
}

fn checks(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let mark = if check.holds { "ok" } else { "FAILED" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:<13} {mark}: {}", check.what, check.finding);
    }
    text
}

/// Reports that there was no time for a comparison.
pub const NO_COMPARISON: &str = "
Nothing else is compared, as the documents took all the time. Give `--seconds` more for that.
";

/// Reports that Ctrl-C has ended the job early.
pub const INTERRUPTED: &str = "
Interrupted: nothing was verified. (A second Ctrl-C would have ended it at once.)
";

/// Reports what the whole run took.
pub fn end(elapsed: Duration, peak_memory: Option<u64>, documents: &[Document]) -> String {
    let memory = match peak_memory {
        Some(bytes) => size(bytes),
        None => "not measured on this platform".to_owned(),
    };
    format!(
        "\nIn all: {:.1} s; peak memory {memory}, {} of it the text of the documents\n",
        elapsed.as_secs_f64(),
        size(text_bytes(documents))
    )
}

pub fn comparison(comparison: &Comparison) -> String {
    let mut table = Table::default();
    table.row(["", "threads", "keys", "time", "objects/s", "ratio"]);
    let base = comparison.rows.first().map_or(0.0, Row::rate);
    for row in &comparison.rows {
        table.row([
            row.name.to_owned(),
            row.threads.to_string(),
            if row.shared_keys { "shared" } else { "own" }.to_owned(),
            format!("{:.2} s", row.elapsed.as_secs_f64()),
            shown_rate(row.rate()),
            if base > 0.0 {
                format!("{:.2}", row.rate() / base)
            } else {
                "-".to_owned()
            },
        ]);
    }
    let turns = comparison.turns;
    let result = if comparison.holds() {
        "passed"
    } else {
        "FAILED"
    };
    format!(
        "\nThe same by other means: {} over and over, in {}, without a UI thread\n\
         {table}{MEANS}{}{}{}\nVerification of the comparison: {result}\n{}",
        counted(comparison.documents as u64, "document"),
        counted(turns.into(), "turn"),
        gained(comparison),
        notes(comparison),
        trees(comparison),
        checks(&comparison.checks),
    )
}

const MEANS: &str = "
  keys     the strings that dictionaries have as keys: one set, to which all threads
           count references (shared), or one set for each thread (own)
  time     of all turns
  ratio    objects/s of all threads together, divided by those of the first row
  There is no UI thread, so there is one thread more than there were workers.
";

/// Returns how much faster objects in blocks were.
fn gained(comparison: &Comparison) -> String {
    let mut text =
        "  Objects in blocks, compared with objects of the global allocator:\n".to_owned();
    for (row, times) in comparison.gained_by_blocks() {
        let keys = if row.shared_keys { "shared" } else { "own" };
        let threads = counted(row.threads as u64, "thread");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {threads}, {keys} keys: {times:.2} times as fast");
    }
    text
}

/// Compares with a tree without counts.
fn trees(comparison: &Comparison) -> String {
    let Some(trees) = &comparison.trees else {
        return TOO_DEEP.to_owned();
    };
    let mut table = Table::default();
    table.row(["", "text for each second of the processors", "ratio"]);
    for (name, side) in [
        ("serde_json::Value", &trees.values),
        ("releasepool", &trees.ours),
    ] {
        table.row([
            name.to_owned(),
            size(side.rate() as u64),
            format!("{:.2}", side.rate() / trees.values.rate()),
        ]);
    }
    format!(
        "\nThe same by a tree without counts: parsed by {}, walked by one thread, destroyed by another\n\
         {table}{TREES}",
        counted(trees.workers as u64, "worker"),
    )
}

const TOO_DEEP: &str = "
There is no comparison with `serde_json::Value`, which refuses a document: one of more than 127 levels.
";

const TREES: &str = "
  serde_json::Value  owns each key and each text by itself, and frees them one by one
  ratio              of the rates: above 1, the library takes less time of the processors
";

/// Returns notes about what makes the figures less reliable.
fn notes(comparison: &Comparison) -> String {
    let mut text = String::new();
    let mut note = |words: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  Note: {words}");
    };
    let threads = comparison.rows.iter().map(|row| row.threads).max();
    let threads = threads.unwrap_or(0);
    let processors = available_parallelism().map_or(usize::MAX, |n| n.get());
    if threads > processors {
        note(format!(
            "{threads} threads share {} here; no more can run at once.",
            counted(processors as u64, "processor")
        ));
    }
    let first = comparison.rows.first().map(|row| row.elapsed);
    if first.is_some_and(|time| time < SHORT) {
        note("too short for a comparison; use more time: `--seconds 20`.".into());
    }
    if comparison.waited > BUSY {
        note(format!(
            "other programs use the processors: the first row waited for one for {:.0} % of\n  \
             its time. Figures of a quiet machine are steadier.",
            comparison.waited * 100.0
        ));
    }
    text
}
