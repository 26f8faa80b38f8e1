//! The command line, and the schedules of a seed.

use crate::program;
use crate::stalls::Stalls;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many schedules every third seed draws, by PCT. The others draw one each.
const PCT_EXECUTIONS: usize = 2;

/// The seed that runs.
static SEED: AtomicU64 = AtomicU64::new(0);

pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--child", seeds] => seeds_in(seeds).map_or_else(usage, |seeds| run(seeds, false)),
        ["--replay", seed] => {
            let seed = seed.parse::<u64>();
            seed.map_or_else(|_| usage(), |seed| run(seed..seed + 1, true))
        }
        [seeds] => seeds_in(seeds).map_or_else(usage, run_all),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: cargo shuttle NUMBER | FROM..TO | --replay SEED");
    ExitCode::from(2)
}

fn seeds_in(text: &str) -> Option<Range<u64>> {
    let (from, to) = text.split_once("..").unwrap_or(("0", text));
    Some(from.parse().ok()?..to.parse().ok()?)
}

/// Runs the seeds in one process for each core, as shuttle runs one thread at a time.
fn run_all(seeds: Range<u64>) -> ExitCode {
    let start = Instant::now();
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let exe = std::env::current_exe().expect("this program has a path");
    let count = seeds.end.saturating_sub(seeds.start);
    let at = |core| seeds.start + count * core / cores;
    let children: Vec<_> = (0..cores)
        .map(|core| {
            let part = format!("{}..{}", at(core), at(core + 1));
            let mut command = Command::new(&exe);
            command.args(["--child", &part]).stdout(Stdio::piped());
            let child = command.spawn().expect("this program can be run");
            std::thread::spawn(|| finish(child))
        })
        .collect();
    let mut passed = count > 0;
    for child in children {
        passed &= child.join().is_ok_and(|passed| passed);
    }
    let seconds = start.elapsed().as_secs_f64();
    let verdict = if passed { "passed" } else { "FAILED" };
    println!("{verdict}: {count} seeds in {seconds:.1} s");
    ExitCode::from(u8::from(!passed))
}

/// Reads the seeds that a process prints until it ends; returns whether all have passed.
fn finish(mut child: Child) -> bool {
    let output = child.stdout.take().expect("it is piped");
    let last = BufReader::new(output).lines().map_while(Result::ok).last();
    let status = child.wait().expect("the process was started");
    // If there is an exit code, the panic hook has said why the process failed.
    if status.code().is_none() {
        let seed = last.unwrap_or_default();
        eprintln!("seed {seed}: {status}\nto replay it: cargo shuttle --replay {seed}");
    }
    status.success()
}

/// Runs each seed. If `log`, prints its steps; otherwise prints the seed before it runs.
fn run(seeds: Range<u64>, log: bool) -> ExitCode {
    let overridden = std::env::var_os("SHUTTLE_RANDOM_SEED").is_some();
    assert!(!overridden, "SHUTTLE_RANDOM_SEED would replace all seeds");
    // A failed execution cannot be cleaned up, so the process ends in the hook. shuttle's own hook,
    // which is set later, calls this one.
    std::panic::set_hook(Box::new(|info| {
        let seed = SEED.load(Ordering::Relaxed);
        eprintln!("\nseed {seed}: {info}\nto replay it: cargo shuttle --replay {seed}");
        std::process::exit(1);
    }));
    // Events would print lines in each execution.
    releasepool::event::set_hook(Some(Box::new(|_| ())));
    for seed in seeds {
        SEED.store(seed, Ordering::Relaxed);
        if !log {
            println!("{seed}");
        }
        let body = move || program::run(seed, log);
        let _ = match seed % 3 {
            0 => Runner::new(RandomScheduler::new_from_seed(seed, 1), config()).run(body),
            1 => Runner::new(Stalls::new(seed), config()).run(body),
            // PCT switches threads at a few chosen steps; its first execution only counts steps.
            _ => {
                let depth = 2 + (seed / 3 % 8) as usize;
                let scheduler = PctScheduler::new_from_seed(seed, depth, 1 + PCT_EXECUTIONS);
                Runner::new(scheduler, config()).run(body)
            }
        };
    }
    ExitCode::SUCCESS
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 256 << 10;
    // More than ten times what programs need: a thread that spins fails.
    config.max_steps = MaxSteps::FailAfter(1_000_000);
    // Schedules are not written to files: a seed says as much, and is shorter.
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    config
}
