//! The benchmark `contention`: what sharing counted objects and pools between threads costs, with
//! releasepool and with its alternatives.
//!
//! * `scenarios`: the kinds of work; `pools`, `handing`, `ui`: the implementations
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
use releasepool_benches::results::{Measured, Results};
use releasepool_benches::rows::{check_works, core, sharing};
use releasepool_benches::table::{self, Row};
use releasepool_benches::{markdown, report, terminal};
use scenario::Scenario;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    let end = if options.list {
        list();
        Ok(())
    } else if options.rows {
        list_rows();
        Ok(())
    } else if let Some([scenario, name]) = options.serve.as_deref() {
        serving::serve(scenario, name)
    } else if let Some([scenario, name, threads]) = options.count.as_deref() {
        serving::count(scenario, name, threads)
    } else {
        run(&options)
    };
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

/// Returns the rows of `core` and `sharing`, and those of deep trees.
fn other_rows() -> Vec<Row> {
    let rows = core().into_iter().chain(sharing());
    rows.chain(scenarios::trees::rows()).collect()
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

fn run(options: &Options) -> Result<(), String> {
    let mut scenarios = options.select().unwrap_or_else(|error| wrong_input(error));
    let root = allocator::root();
    let page = options.markdown.as_ref().map(|file| root.join(file));
    // Before anything is measured.
    if let Some(Err(error)) = page.as_ref().map(|page| with_table(page, "")) {
        wrong_input(format!("--markdown: {error}"));
    }

    let machine = machine::facts();
    machine.iter().for_each(|fact| println!("{fact}"));
    rival::prepare(&mut scenarios, options.quick);
    eprintln!("checking that all implementations do the same work");
    check::check(&scenarios)
        .map_err(|error| format!("implementations do different work: {error}"))?;
    println!("\nChecked: all implementations do the same work and destroy what they create.");

    let effort = Effort::of(options.quick);
    terminal::explain();
    let mut rows = measure(&scenarios, options, effort);
    let all = page.is_some();
    if all || options.targets || !options.filtered() {
        check_works()?;
        let mut others = other_rows();
        others.retain(|row| all || row.has_target());
        rows.extend(table::print(&others, effort));
    }
    if all {
        rows.extend(memory(options.quick)?);
    }
    terminal::conclude(&rows);
    let results = Results {
        machine,
        quick: options.quick,
        rows,
    };
    write(&results).map_err(|error| format!("the results cannot be written: {error}"))?;
    if let Some(page) = page {
        let text = with_table(&page, &markdown::table(&results))?;
        fs::write(&page, text).map_err(|error| format!("{}: {error}", page.display()))?;
        println!("table: {}", page.display());
    }
    Ok(())
}

/// Measures and prints the scenarios. They have many implementations, so they take longer than other rows.
fn measure(scenarios: &[Scenario], options: &Options, effort: Effort) -> Vec<Measured> {
    let effort = Effort {
        total: effort.total * 2,
        ..effort
    };
    let mut measured = Vec::new();
    for scenario in scenarios {
        // One by one, as the workloads of a row start threads and processes.
        for row in options.threads.iter().filter_map(|&n| scenario.row(n)) {
            measured.extend(table::print(&[row], effort));
        }
    }
    measured
}

/// Returns a page, with this table between its marks.
fn with_table(page: &Path, table: &str) -> Result<String, String> {
    let text = fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()));
    markdown::replaced(&text?, table)
}

/// Has the benchmark `memory` measure its rows, in a process of its own.
fn memory(quick: bool) -> Result<Vec<Measured>, String> {
    let file = folder().join("memory.json");
    fs::create_dir_all(folder()).map_err(|error| error.to_string())?;
    let mut command = allocator::cargo();
    command.args([
        "bench",
        "--package",
        "releasepool-benches",
        "--bench",
        "memory",
    ]);
    if allocator::is_built("snmalloc") {
        command.args(["--features", "snmalloc"]);
    }
    command
        .args(["--", "--no-peaks"])
        .arg(format!("--json={}", file.display()));
    command.args(quick.then_some("--quick"));
    let status = command.status().map_err(|error| error.to_string())?;
    let text = fs::read_to_string(&file).ok().filter(|_| status.success());
    let text = text.ok_or("the benchmark memory has failed")?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Returns the folder of the results. `CARGO_TARGET_TMPDIR` is in the target directory.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("contention")
}

/// Writes the results and the page.
fn write(results: &Results) -> std::io::Result<()> {
    fs::create_dir_all(folder())?;
    let (file, page) = (folder().join("results.json"), folder().join("report.html"));
    fs::write(&file, serde_json::to_string(results)?)?;
    fs::write(&page, report::html(results))?;
    println!(
        "results: {}\npage, for a browser: {}",
        file.display(),
        page.display()
    );
    Ok(())
}
