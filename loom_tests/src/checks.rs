//! The models, and the programs that run them.
//!
//! * [`model`]: what a model is, and how one is checked
//! * [`run`]: checks all models, in processes of their own
//! * the others: models, by subject

mod canary;
mod caps;
mod count;
mod cyclic;
mod drain;
mod exit;
mod frame;
mod handoff;
mod heaps;
mod home;
mod hot;
mod hot_table;
mod inbox;
mod later;
mod list;
mod manager;
mod memory;
mod model;
mod orphans;
mod probe;
mod reclaim;
mod registry;
mod remote_release;
mod run;
mod senders;
mod shutdown;
mod shutdown_exit;
mod shutdown_moves;
mod slot;
mod slot_reuse;
mod snapshot;
mod wait;

use model::How;
use std::process::ExitCode;

pub fn main() -> ExitCode {
    // `cargo loom --list` and `cargo loom -- --list` mean the same.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--child", name, mode, ref how @ ..] => match How::from_args(how) {
            Some(how) => {
                list::find(name).map_or(ExitCode::from(2), |m| model::child(m, mode, &how))
            }
            None => usage(),
        },
        ["--list"] => {
            for model in list::all() {
                println!("{:<28} {}", model.name, model.about);
            }
            ExitCode::SUCCESS
        }
        ["--replay", file] => model::replay(file, list::find),
        ["--seed", _] => sample("", &args),
        [filter, "--seed", _] => sample(filter, &args[1..]),
        [] => run::run_all("", &How::Explore),
        [filter] if !filter.starts_with('-') => run::run_all(filter, &How::Explore),
        _ => usage(),
    }
}

fn sample(filter: &str, args: &[&str]) -> ExitCode {
    How::from_args(args).map_or_else(usage, |how| run::run_all(filter, &how))
}

fn usage() -> ExitCode {
    eprintln!("usage: cargo loom [NAME] [--seed N | --seed FROM..TO] | --list | --replay FILE");
    ExitCode::from(2)
}
