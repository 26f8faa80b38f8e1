//! The command line.

use clap::Parser;
use releasepool_examples_common::number::parse_in;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

const ABOUT: &str = "\
Shares counted objects between worker threads and a UI thread.

Workers parse JSON documents into graphs of counted objects and hand them to the
UI thread, which runs a frame loop. Afterwards come figures, a verification, and a
comparison with `serde_json::Value`, a tree without counts.";

const EXIT_CODES: &str =
    "Exit code: 0 if all is well, 1 if the verification fails, 2 for wrong input.";

#[derive(Parser)]
#[command(
    name = "share",
    version,
    about = ABOUT,
    after_help = EXIT_CODES,
    override_usage = "cargo run --release --example share [-- OPTIONS] [FILES or DIRECTORIES]",
    args_override_self = true
)]
pub struct Options {
    /// JSON documents; of a directory, all *.json files in it and below it
    /// [default: 500 earthquakes, a document of 357 kB]. The first one that cannot
    /// be read, or is no JSON, ends the run
    #[arg(value_name = "FILES", verbatim_doc_comment)]
    pub paths: Vec<PathBuf>,

    /// Number of worker threads, 1 to 1024
    /// [default: one per processor, less one for the UI thread, but at least 2]
    #[arg(long, value_name = "N", verbatim_doc_comment)]
    #[arg(allow_negative_numbers = true)]
    #[arg(default_value_t = default_workers(), hide_default_value = true)]
    #[arg(value_parser = |text: &str| parse_in(1..=1024_usize, text))]
    pub workers: usize,

    /// How long the whole run may take, comparisons included, even if some
    /// documents are not parsed then; but each part of the run finishes the
    /// documents that it has begun [default: 10, or as long as it takes to
    /// parse each document once]
    #[arg(long, value_name = "S", verbatim_doc_comment)]
    #[arg(allow_negative_numbers = true)]
    #[arg(conflicts_with = "rounds", value_parser = seconds)]
    pub seconds: Option<Duration>,

    /// Parse all documents N times on each worker, however long that takes
    #[arg(long, value_name = "N")]
    #[arg(allow_negative_numbers = true)]
    #[arg(value_parser = |text: &str| parse_in(1..=u64::from(u32::MAX), text))]
    pub rounds: Option<u64>,

    /// Frames per second of the UI thread, 1 to 1000,
    /// or 0: a frame whenever there is work
    #[arg(long, value_name = "HZ", default_value = "60", verbatim_doc_comment)]
    #[arg(allow_negative_numbers = true)]
    #[arg(value_parser = frame_hz)]
    frame_hz: f64,

    /// Run and verify the main job only
    #[arg(long)]
    pub no_compare: bool,

    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

impl Options {
    /// Returns the time from frame to frame, or `None` if a frame starts whenever there is work.
    pub fn frame(&self) -> Option<Duration> {
        (self.frame_hz > 0.0).then(|| Duration::from_secs_f64(1.0 / self.frame_hz))
    }
}

fn default_workers() -> usize {
    let processors = available_parallelism().map_or(2, |n| n.get().min(1024));
    processors.saturating_sub(1).max(2)
}

fn seconds(text: &str) -> Result<Duration, String> {
    parse_in(0.1..=86_400.0, text).map(Duration::from_secs_f64)
}

fn frame_hz(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(hz) if hz == 0.0 || (1.0..=1000.0).contains(&hz) => Ok(hz),
        _ => Err("must be a number between 1 and 1000, or 0".to_owned()),
    }
}
