//! The text of the report.

use crate::args::Options;
use crate::comparison::Comparison;
use crate::input::Document;
use crate::job::run::{Activity, Run};
use crate::output::{Table, counted, rate, short_time, shown_rate, size};
use crate::verify::Check;
use releasepool_examples_common::output::grouped;
use std::fmt::Write;
use std::time::Duration;

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
    let workers = counted(options.workers as u64, "worker");
    format!(
        "Input: {what}, {}; {workers}, {length}, {frames}\n",
        size(text_bytes(documents))
    )
}

fn text_bytes(documents: &[Document]) -> u64 {
    documents.iter().map(|d| d.text.len() as u64).sum()
}

/// A column of the table of threads.
type Column = (&'static str, fn(&Activity) -> u64);

const COLUMNS: [Column; 6] = [
    ("pools pushed", |thread| thread.totals.pools_pushed),
    ("created", |thread| thread.totals.created),
    ("autoreleased", |thread| thread.autoreleased),
    ("released here", |thread| thread.totals.released),
    ("destroyed", |thread| thread.totals.destroyed),
    ("handed over", |thread| thread.handed_over),
];

pub fn run(run: &Run, options: &Options) -> String {
    let mut table = Table::default();
    let titles = COLUMNS.map(|(title, _)| title.to_owned());
    table.row(["thread".to_owned()].into_iter().chain(titles));
    for thread in &run.threads {
        let cells = COLUMNS.map(|(_, count)| grouped(count(thread)));
        table.row([thread.thread.clone()].into_iter().chain(cells));
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
    let frame_time = |nanos| short_time(Duration::from_nanos(nanos));
    line("frames", grouped(frames.len()));
    line("frame time p50", frame_time(frames.value_at_quantile(0.5)));
    line("frame time p99", frame_time(frames.value_at_quantile(0.99)));
    line("frame time max", frame_time(frames.max()));
    line("peak live objects", grouped(run.seen.peak_live));
    line(
        "peak of documents in flight",
        grouped(peak.documents as u64),
    );
    line("peak of text in flight", size(peak.bytes as u64));
    line("chunks", size(run.blocks.chunk_bytes));
    line("peak of chunks", size(run.blocks.peak_bytes));
    line("remote frees", grouped(run.blocks.remote_frees));
    format!(
        "\nPer thread\n{table}{THREADS}\nOverall, in {:.2} s\n{overall}{CHUNKS}{FRAME_TIME}{}",
        run.elapsed.as_secs_f64(),
        match options.frame() {
            Some(interval) => format!("  A frame has {}.\n", short_time(interval)),
            None => String::new(),
        },
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

pub fn verdict(verdict: &[Check]) -> String {
    let holds = verdict.iter().all(|check| check.holds);
    let result = if holds { "passed" } else { "FAILED" };
    format!("\nVerification: {result}\n{}", checks(verdict))
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
    table.row(["", "text for each second of the processors", "ratio"]);
    for (name, side) in [
        ("serde_json::Value", comparison.values),
        ("releasepool", comparison.ours),
    ] {
        table.row([
            name.to_owned(),
            size(side.rate() as u64),
            format!("{:.2}", side.rate() / comparison.values.rate()),
        ]);
    }
    format!(
        "\nThe same by a tree without counts: {} over and over, in {};\n\
         parsed by {}, walked by one thread, destroyed by another\n{table}{TREES}{}",
        counted(comparison.documents as u64, "document"),
        counted(comparison.turns.into(), "turn"),
        counted(comparison.workers as u64, "worker"),
        checks(&comparison.checks),
    )
}

const TREES: &str = "
  serde_json::Value  owns each key and each text by itself, and frees them one by one
  ratio              of the rates: above 1, the library takes less time of the processors
";
