//! The benchmark `contention`: what counted objects and pools cost, what sharing them between threads costs, and
//! what memory costs, with releasepool and with its alternatives.
//!
//! * `scenarios`: the kinds of work; `pools`, `handing`, `ui`: the implementations
//! * `memory`: allocators
//! * `allocator`, `rival`, `serving`: alternatives with another global allocator, in processes of their own
//! * `options`: what the command line asks for
//! * `check`: a check that all implementations do the same work
//! * `machine`: what the figures depend on
//!
//! See README.md.

mod allocator;
mod check;
mod handing;
mod machine;
mod memory;
mod options;
mod pools;
mod rival;
mod scenario;
mod scenarios;
mod serving;
mod ui;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use options::Options;
use releasepool_benches::contest::Effort;
use releasepool_benches::results::Results;
use releasepool_benches::rows::{check_works, core, sharing};
use releasepool_benches::table::{self, Row};
use releasepool_benches::{held, markdown, report, resident, terminal};
use scenario::Scenario;
use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::thread;

fn main() -> ExitCode {
    let options = Options::parse();
    let mut end = Ok(());
    if options.list {
        list();
    } else if options.rows {
        list_rows();
    } else if options.peak {
        memory::print_peaks();
    } else if options.held {
        held::print();
    } else if let Some(name) = &options.apart {
        resident::work(name, &[held::apart, memory::apart]);
    } else if let Some([scenario, name]) = options.serve.as_deref() {
        end = serving::serve(scenario, name);
    } else if let Some([scenario, name, threads]) = options.count.as_deref() {
        end = serving::count(scenario, name, threads);
    } else {
        end = run(&options);
    }
    if let Err(error) = end {
        eprintln!("contention: {error}");
        return ExitCode::from(1);
    }
    ExitCode::SUCCESS
}

/// Ends the program with exit code 2.
fn wrong_input(error: impl Display) -> ! {
    let mut command = Options::command();
    command.error(ErrorKind::ValueValidation, error).exit()
}

/// Prints all scenarios and implementations, and what they are.
fn list() {
    for scenario in scenarios::all() {
        let Scenario {
            id, title, what, ..
        } = scenario;
        println!("{id:<20} {title}\n    {what}");
        for contestant in &scenario.contestants {
            let note = contestant.note.as_deref().unwrap_or_default();
            println!("    {:<34} {note}", contestant.name);
        }
    }
}

/// Returns the rows that are no scenarios.
fn other_rows() -> Vec<Row> {
    let rows = core().into_iter().chain(sharing());
    let rows = rows.chain(scenarios::trees::rows());
    rows.chain(memory::rows()).collect()
}

/// Prints how all rows begin in the table of one run on 1 and 2 threads.
fn list_rows() {
    for scenario in scenarios::all() {
        for threads in [1, 2] {
            if scenario.on(threads).next().is_some() {
                markdown::print_beginning(&scenario.title(), threads);
            }
        }
    }
    table::list(&other_rows());
}

/// Returns the scenarios and the other rows that the options select.
fn selected(options: &Options) -> (Vec<Scenario>, Vec<Row>) {
    let words = &options.words;
    let is_named = |title: &str| words.is_empty() || words.iter().any(|word| title.contains(word));
    let all = !options.targets && (options.markdown.is_some() || !words.is_empty());
    let (mut scenarios, mut others) = (scenarios::all(), other_rows());
    scenarios.retain(|scenario| !options.targets && is_named(&scenario.title()));
    others.retain(|row| is_named(&row.what) && (all || row.has_target()));
    (scenarios, others)
}

fn run(options: &Options) -> Result<(), String> {
    let (mut scenarios, others) = selected(options);
    if scenarios.is_empty() && others.is_empty() {
        wrong_input("no row has one of these words in its title; --rows prints all");
    }
    let root = allocator::root();
    let page = options.markdown.as_ref().map(|file| root.join(file));
    // Tries to open the page before anything is measured.
    let open = |page| fs::OpenOptions::new().append(true).create(true).open(page);
    if let Some(Err(error)) = page.as_ref().map(open) {
        wrong_input(format!("--markdown: {error}"));
    }

    let machine = machine::facts();
    machine.iter().for_each(|fact| println!("{fact}"));
    rival::prepare(&mut scenarios, options.quick);
    eprintln!("checking that all implementations do the same work");
    check::check(&scenarios)
        .map_err(|error| format!("implementations do different work: {error}"))?;
    check_works()?;
    // On a spawned thread, like all measurements.
    let allocators = thread::spawn(memory::check).join();
    allocators.map_err(|_| "allocators do different work")?;
    println!("\nChecked: all implementations do the same work and destroy what they create.");

    let effort = Effort::of(options.quick);
    terminal::explain();
    // Scenarios have many implementations, so they take longer than other rows.
    let longer = Effort {
        total: effort.total * 2,
        ..effort
    };
    let mut rows = Vec::new();
    for scenario in &scenarios {
        // One by one, as the workloads of a row start threads and processes.
        for row in options.threads.iter().filter_map(|&n| scenario.row(n)) {
            rows.extend(table::print(&[row], longer));
        }
    }
    rows.extend(table::print(&others, effort));
    terminal::conclude(&rows);
    let results = Results {
        machine,
        quick: options.quick,
        rows,
    };
    write(&results).map_err(|error| format!("the page cannot be written: {error}"))?;
    if let Some(page) = page {
        let text = markdown::table(&results);
        fs::write(&page, text).map_err(|error| format!("{}: {error}", page.display()))?;
        println!("table: {}", page.display());
    }
    Ok(())
}

/// Writes the page, in the target directory.
fn write(results: &Results) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("contention");
    fs::create_dir_all(&folder)?;
    let page = folder.join("report.html");
    fs::write(&page, report::html(results))?;
    println!("page, for a browser: {}", page.display());
    Ok(())
}
