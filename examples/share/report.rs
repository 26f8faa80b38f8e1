//! What is said at the end.

use crate::args::{Length, Options};
use crate::compare::Comparison;
use crate::input::Input;
use crate::output::{Table, counted, grouped, rate, short_time, shown_rate, size};
use crate::run::Run;
use crate::ui::Seen;
use crate::verify::{Check, Verdict};
use std::fmt::Write;

pub fn input(input: &Input, options: &Options) -> String {
    let documents = &input.documents;
    let bytes: usize = documents.iter().map(|document| document.text.len()).sum();
    let what = match documents.as_slice() {
        [only] => only.name.clone(),
        all => counted(all.len() as u64, "document"),
    };
    let length = match options.length {
        Length::Time(time) => format!("{} s", time.as_secs_f64()),
        Length::Rounds(rounds) => counted(rounds, "round"),
    };
    let frames = match options.frame {
        Some(interval) => format!("{} frames/s", shown_rate(1.0 / interval.as_secs_f64())),
        None => "frames as there is work".to_owned(),
    };
    let workers = counted(options.workers as u64, "worker");
    format!(
        "Input: {what}, {}; {workers}, {length}, {frames}\n",
        size(bytes as u64)
    )
}

pub fn run(run: &Run) -> String {
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
    let memory = match run.peak_memory {
        Some(bytes) => size(bytes),
        None => "not measured on this platform".to_owned(),
    };
    let (documents, objects) = (run.seen.taken, run.created());
    let mut overall = Table::default();
    let mut line = |what: &str, figure: String| overall.row([what.to_owned(), figure]);
    line("documents", grouped(documents));
    line("documents/s", shown_rate(rate(documents, run.elapsed)));
    line("objects/s", shown_rate(rate(objects, run.elapsed)));
    line("frames", grouped(frames.count()));
    line("frame time p50", short_time(frames.quantile(0.5)));
    line("frame time p99", short_time(frames.quantile(0.99)));
    line("frame time max", short_time(frames.max()));
    line("peak live objects", grouped(run.seen.peak_live));
    line("peak memory", memory);
    format!(
        "\nPer thread\n{table}\nOverall, in {:.2} s\n{overall}",
        run.elapsed.as_secs_f64()
    )
}

/// What the frame loop, budgets and handing over are good for.
pub fn frame_times(whole: &Seen, budget: &Seen, handoff: &Seen) -> String {
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
    format!("\nFrame times, by how documents that are shown no more are released\n{table}")
}

pub fn verdict(verdict: &Verdict) -> String {
    let result = if verdict.holds() { "passed" } else { "FAILED" };
    format!("\nVerification: {result}\n{}", checks(&verdict.0))
}

fn checks(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let mark = if check.holds { "ok" } else { "FAILED" };
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {:<13} {mark}: {}", check.what, check.finding);
    }
    text
}

pub fn comparison(comparison: &Comparison) -> String {
    let mut table = Table::default();
    table.row(["", "threads", "keys", "time", "objects/s", "ratio"]);
    let per_second = |row: &crate::compare::Row| rate(row.objects, row.elapsed);
    let base = comparison.rows.first().map_or(0.0, per_second);
    for row in &comparison.rows {
        table.row([
            row.name.to_owned(),
            row.threads.to_string(),
            if row.shared_keys { "shared" } else { "own" }.to_owned(),
            format!("{:.2} s", row.elapsed.as_secs_f64()),
            shown_rate(per_second(row)),
            if base > 0.0 {
                format!("{:.2}", per_second(row) / base)
            } else {
                "-".to_owned()
            },
        ]);
    }
    let turns = comparison.turns;
    format!(
        "\nThe same by other means: {} each, in {}, without a UI thread\n{table}{}",
        counted(comparison.documents, "document"),
        counted(turns, "turn"),
        checks(&comparison.checks),
    )
}
