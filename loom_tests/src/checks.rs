//! The models and what runs them.
//!
//! * [`model`]: what a model is, and how one is checked
//! * [`run`]: all of them, in processes of their own
//! * [`weaken`]: the test of the models: orderings weakened one by one
//! * [`order`]: the test of models and tests: statements misplaced one by one
//! * the others: models, by what they are about

mod canary;
mod count;
mod drain;
mod exit;
mod frame;
mod handoff;
mod home;
mod inbox;
mod manager;
mod memory;
mod model;
#[cfg(feature = "order")]
mod order;
mod probe;
mod registry;
mod run;
mod shutdown;
mod slot;
mod weaken;

use model::Model;
use std::process::ExitCode;

fn all() -> Vec<&'static Model> {
    [
        canary::MODELS,
        count::MODELS,
        drain::MODELS,
        inbox::MODELS,
        registry::MODELS,
        exit::MODELS,
        home::MODELS,
        manager::MODELS,
        shutdown::MODELS,
        frame::MODELS,
        slot::MODELS,
        handoff::MODELS,
        memory::MODELS,
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub fn main() -> ExitCode {
    // `cargo loom --list` and `cargo loom -- --list` are the same.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--child", name, mode, weakened] => model::child(name, mode, weakened),
        ["--list"] => {
            for model in all() {
                println!("{:<28} {}", model.name, model.about);
            }
            ExitCode::SUCCESS
        }
        #[cfg(feature = "order")]
        ["--weaken", "--order", ref wanted @ ..] => order::order(wanted),
        ["--weaken"] => weaken::weaken_all(""),
        ["--weaken", filter] => weaken::weaken_all(filter),
        [] => run::run_all(""),
        [filter] if !filter.starts_with('-') => run::run_all(filter),
        _ => {
            eprintln!(
                "usage: cargo loom [NAME] | --list | --weaken [FILE] | --weaken --order [FILE...]"
            );
            ExitCode::from(2)
        }
    }
}
