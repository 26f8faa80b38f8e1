//! The models, and the programs that run them.
//!
//! * [`model`]: what a model is
//! * [`probe`], [`scenario`], [`steps`]: what the bodies of models are made of
//! * [`child`]: checks one model
//! * [`run`]: checks all models, in processes of their own
//! * the others: models, by subject

mod canary;
mod caps;
mod child;
mod count;
mod drain;
mod epoch;
mod exit;
mod frame;
mod handoff;
mod home;
mod hot;
mod hot_table;
mod inbox;
mod later;
mod manager;
mod memory;
mod model;
mod orphans;
mod probe;
mod reclaim;
mod registry;
mod remote_release;
mod run;
mod scenario;
mod senders;
mod shutdown;
mod shutdown_exit;
mod shutdown_moves;
mod slot;
mod slot_reuse;
mod snapshot;
mod steps;
mod wait;

use child::How;
use model::Model;
use std::process::ExitCode;

fn all() -> Vec<Model> {
    [
        canary::models(),
        count::models(),
        drain::models(),
        inbox::models(),
        senders::models(),
        registry::models(),
        exit::models(),
        home::models(),
        hot::models(),
        hot_table::models(),
        manager::models(),
        shutdown::models(),
        shutdown_exit::models(),
        shutdown_moves::models(),
        frame::models(),
        wait::models(),
        slot::models(),
        slot_reuse::models(),
        epoch::models(),
        snapshot::models(),
        handoff::models(),
        later::models(),
        reclaim::models(),
        remote_release::models(),
        orphans::models(),
        memory::models(),
        caps::models(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn find(name: &str) -> Option<Model> {
    let found = all().into_iter().find(|model| model.name == name);
    if found.is_none() {
        eprintln!("there is no model {name}");
    }
    found
}

pub fn main() -> ExitCode {
    // `cargo loom --list` and `cargo loom -- --list` mean the same.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let checked = |filter: &str, how: &[&str]| {
        How::from_args(how).map_or_else(usage, |how| run::run_all(&all(), filter, &how))
    };
    match args[..] {
        ["--child", name, mode, ref how @ ..] => match (How::from_args(how), find(name)) {
            (Some(how), Some(model)) => child::child(&model, mode, &how),
            (None, _) => usage(),
            (_, None) => ExitCode::from(2),
        },
        ["--list"] => {
            for model in all() {
                println!("{:<28} {}", model.name, model.about);
            }
            ExitCode::SUCCESS
        }
        ["--replay", file] => child::replay(file, find),
        ["--seed", _] => checked("", &args),
        [filter, "--seed", _] => checked(filter, &args[1..]),
        [] => checked("", &[]),
        [filter] if !filter.starts_with('-') => checked(filter, &[]),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: cargo loom [NAME] [--seed N | --seed FROM..TO] | --list | --replay FILE");
    ExitCode::from(2)
}
