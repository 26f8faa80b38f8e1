//! The command line.

use clap::Parser;
use releasepool_examples_common::number::parse_in;
use std::thread::available_parallelism;
use std::time::Duration;

const ABOUT: &str = "\
Soaks the library: everything at once, for a long time, with checks.

Workers run random programs, whose threads come and go, hand over objects, let
destructors panic, misuse tokens, and release objects while their thread-locals are
destroyed. A UI thread runs a frame loop. Every second the invariants are checked and a
line is printed. Every 10 seconds all workers end, and then no object may be alive.";

const EXIT_CODES: &str = "\
Exit code: 0 if all is well, 1 if an invariant is broken or memory grows, 2 for wrong
input.";

#[derive(Parser)]
#[command(
    name = "soak",
    version,
    about = ABOUT,
    after_help = EXIT_CODES,
    override_usage = "cargo run --release -p releasepool-soak [-- OPTIONS]"
)]
pub struct Options {
    /// How long to go on, 0.01 to 100000; fractions are allowed
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(allow_negative_numbers = true)]
    #[arg(value_parser = |text: &str| parse_in(0.01..=100_000.0, text))]
    minutes: f64,

    /// Number of workers at a time, 1 to 256 [default: two per processor]
    #[arg(long, value_name = "N", overrides_with = "workers")]
    #[arg(allow_negative_numbers = true)]
    #[arg(default_value_t = default_workers(), hide_default_value = true)]
    #[arg(value_parser = |text: &str| parse_in(1..=256_usize, text))]
    pub workers: usize,

    /// Print only the result and what is wrong
    #[arg(short, long, overrides_with = "quiet")]
    pub quiet: bool,
}

impl Options {
    pub fn length(&self) -> Duration {
        Duration::from_secs_f64(self.minutes * 60.0)
    }
}

fn default_workers() -> usize {
    available_parallelism().map_or(4, |n| n.get() * 2).min(256)
}
