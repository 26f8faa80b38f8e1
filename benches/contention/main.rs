//! The benchmark `contention`: what sharing counted objects and pools between threads costs, with
//! releasepool and with its alternatives.
//!
//! * `scenarios`: the kinds of work; `pools`, `handing`, `ui`: the implementations
//! * `rival`, `allocator`: alternatives with another global allocator, in processes of their own
//!   (`mimalloc`, `jemalloc`, `snmalloc`, `serving`)
//! * `select`, `options`: what the command line asks for
//! * `check`: a check that all implementations do the same work
//! * `measure`, `instructions`: the measurements; `targets`: the rows with targets
//!
//! See README.md.

mod allocator;
mod check;
mod handing;
mod instructions;
mod machine;
mod measure;
mod options;
mod pools;
mod rival;
mod scenario;
mod scenarios;
mod select;
mod targets;
mod ui;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use options::Options;
use releasepool_benches::contest::Effort;
use releasepool_benches::results::{Measured, Results};
use releasepool_benches::rows::check_elsewhere;
use releasepool_benches::{budget, markdown, report, table, terminal};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

fn main() -> ExitCode {
    let options = Options::parse();
    let end = if options.list {
        select::list();
        Ok(())
    } else if options.rows {
        print_rows();
        Ok(())
    } else if let Some(task) = &options.count_turns {
        count(task);
        Ok(())
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

/// Runs turns of one contestant, in a process under callgrind.
fn count(task: &[String]) {
    let contestant = scenarios::find(&task[0], &task[1]);
    match contestant.zip(task[2].parse().ok()) {
        Some((contestant, turns)) => instructions::run(&contestant, turns),
        None => wrong_input("--count-turns: no such work"),
    }
}

/// Prints how all rows begin in the table of one run on 1 and 2 threads.
fn print_rows() {
    for scenario in scenarios::all() {
        let title = measure::title(&scenario);
        for step in measure::steps(&scenario, &[1, 2]) {
            markdown::print_beginning(&title, step.threads);
        }
    }
    for row in targets::rows(true) {
        markdown::print_beginning(row.what(), row.threads());
    }
    markdown::print_beginning(budget::WHAT, 1);
}

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run(options: &Options) -> Result<(), String> {
    let mut scenarios = select::select(options).unwrap_or_else(|error| wrong_input(error));
    let page = options.markdown.as_ref().map(|file| root().join(file));
    // Before anything is measured.
    if let Some(Err(error)) = page.as_ref().map(|page| with_table(page, "")) {
        wrong_input(format!("--markdown: {error}"));
    }

    let machine = machine::describe();
    markdown::machine(&machine)
        .iter()
        .for_each(|line| println!("{line}"));
    rival::prepare(&mut scenarios, options.quick);
    eprintln!("checking that all implementations do the same work");
    let peaks = check::check(&scenarios)
        .map_err(|error| format!("implementations do different work: {error}"))?;
    println!("\nChecked: all implementations do the same work and destroy what they create.");

    let mut rows = Vec::new();
    let count = options.instructions && instructions::available();
    terminal::explain();
    for step in scenarios
        .iter()
        .flat_map(|s| measure::steps(s, &options.threads))
    {
        show(&mut rows, step.measure(options.quick, count, &peaks));
    }
    let all = page.is_some();
    if all || options.targets || !options.filtered() {
        check_elsewhere()?;
        measure_rows(options.quick, all, &mut rows);
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

/// Returns a page, with this table between its marks.
fn with_table(page: &Path, table: &str) -> Result<String, String> {
    let text = fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()));
    markdown::replaced(&text?, table)
}

/// Prints a row, and keeps it.
fn show(rows: &mut Vec<Measured>, row: Measured) {
    terminal::measured(&row);
    rows.push(row);
}

/// Measures and prints the rows with targets, or all.
fn measure_rows(quick: bool, all: bool, rows: &mut Vec<Measured>) {
    let effort = if quick {
        Effort {
            sample: Duration::from_micros(500),
            total: Duration::from_millis(100),
            least: 8,
        }
    } else {
        Effort::FULL
    };
    for row in targets::rows(all) {
        show(rows, table::measure(&row, effort));
    }
    rows.push(budget::measure(if quick { 8 } else { 20 }));
}

/// Has the benchmark `memory` measure its rows, in a process of its own.
fn memory(quick: bool) -> Result<Vec<Measured>, String> {
    let file = folder().join("memory.json");
    fs::create_dir_all(folder()).map_err(|error| error.to_string())?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args([
        "bench",
        "--package",
        "releasepool-benches",
        "--bench",
        "memory",
    ]);
    if allocator::ALLOCATORS
        .iter()
        .any(|a| a.name == "snmalloc" && a.program().is_ok())
    {
        command.args(["--features", "snmalloc"]);
    }
    command.args(["--", "--targets", "--json"]).arg(&file);
    command.args(quick.then_some("--quick")).current_dir(root());
    let status = command.status().map_err(|error| error.to_string())?;
    let text = fs::read_to_string(&file).ok().filter(|_| status.success());
    let text = text.ok_or("the benchmark memory has failed")?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Returns the folder of the results. `CARGO_TARGET_TMPDIR` is in the target directory.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("contention")
}

/// Writes the results and the report.
fn write(results: &Results) -> std::io::Result<()> {
    fs::create_dir_all(folder())?;
    let (file, page) = (folder().join("results.json"), folder().join("report.html"));
    fs::write(&file, serde_json::to_string(results)?)?;
    fs::write(&page, report::html(results))?;
    println!(
        "results: {}\nreport, for a browser: {}",
        file.display(),
        page.display()
    );
    Ok(())
}
