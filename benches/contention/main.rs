//! The benchmark `contention`: what sharing counted objects and pools between threads costs, with
//! releasepool and with its alternatives.
//!
//! * `scenarios`: the kinds of work; `pools`, `handing`, `ui`: the implementations
//! * `rival`, `allocator`: alternatives with another global allocator, in processes of their own
//!   (`mimalloc`, `snmalloc`, `serving`)
//! * `select`, `options`: what the command line asks for
//! * `check`: a check that all implementations do the same work
//! * `measure`, `instructions`: the measurements; `targets`: the project's targets
//! * `tables`, `baseline`: the output, and the comparison with an earlier run
//!
//! See README.md.

mod allocator;
mod baseline;
mod check;
mod handing;
mod instructions;
mod machine;
mod measure;
mod options;
mod pools;
mod progress;
mod rival;
mod scenario;
mod scenarios;
mod select;
mod tables;
mod targets;
mod ui;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use measure::Plan;
use options::{Options, from_root};
use progress::Progress;
use releasepool_benches::findings::columns;
use releasepool_benches::report;
use releasepool_benches::results::{self, FORMAT, Results, Series};
use releasepool_benches::table;
use scenario::Scenario;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use std::{fs, io};

fn main() -> ExitCode {
    let options = Options::parse();
    let end = if options.list {
        select::list();
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

/// Returns true if a file can be at this path. Checked before anything is measured.
fn can_be_written(path: &Path) -> bool {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    !path.is_dir() && parent.is_none_or(Path::is_dir)
}

fn run(options: &Options) -> Result<(), String> {
    let start = Instant::now();
    let mut scenarios = select::select(options).unwrap_or_else(|error| wrong_input(error));
    let earlier = options.baseline.as_ref().map(|path| {
        let name = path.display().to_string();
        match baseline::read(&from_root(path)) {
            Ok(earlier) => (name, earlier),
            Err(error) => wrong_input(format!("--baseline: {name}: {error}")),
        }
    });
    let json = options.json();
    if let Some(path) = json.as_ref().filter(|path| !can_be_written(path)) {
        wrong_input(format!("--json: {} cannot be written", path.display()));
    }

    let machine = machine::describe();
    tables::machine(&machine);
    check::texts(&scenarios::all())?;
    rival::prepare(&mut scenarios);
    eprintln!("checking that all implementations do the same work");
    let peaks = check::check(&scenarios)
        .map_err(|error| format!("implementations do different work: {error}"))?;
    println!("\nChecked: all implementations do the same work and destroy what they create.");

    let mut results = Results {
        format: FORMAT,
        machine,
        quick: options.quick,
        scenarios: Vec::new(),
        targets: Vec::new(),
        baseline: None,
    };
    measure_all(options, &scenarios, &peaks, &mut results);
    results.machine.seconds = start.elapsed().as_secs_f64();
    if let Some((name, earlier)) = &earlier {
        baseline::compare(&mut results, earlier, name);
        tables::changes(&results);
        if !baseline::alike(&results, earlier) {
            println!("The earlier run was on another machine, of another build or another length.");
        }
    }
    if !results.targets.is_empty() {
        table::conclude(&results.targets);
    }
    write(&results, json.as_deref())
        .map_err(|error| format!("the results cannot be written: {error}"))
}

/// Measures and prints the scenarios and the targets.
fn measure_all(
    options: &Options,
    scenarios: &[Scenario],
    peaks: &check::Peaks,
    results: &mut Results,
) {
    /// The length of a target, and of counting a contestant's instructions, relative to measuring a
    /// contestant.
    const TARGET: u64 = 12;
    const COUNT: u64 = 10;
    let plan = Plan::new(options.quick, options.threads.clone());
    let with_targets = options.targets || !options.filtered();
    let with_instructions = counts_instructions(options);
    let counted = |scenario: &Scenario| with_instructions && scenario.countable;
    let count_weight = |scenario: &Scenario| COUNT * scenario.contestants.len() as u64;
    let to_count: Vec<_> = scenarios.iter().filter(|s| counted(s)).collect();
    let steps: Vec<_> = scenarios.iter().flat_map(|s| plan.steps(s)).collect();
    let target_steps = if with_targets { targets::steps() } else { 0 };
    let mut progress = Progress::new(
        steps.len() + to_count.len() + target_steps,
        steps.iter().map(measure::Step::weight).sum::<u64>()
            + to_count.iter().map(|s| count_weight(s)).sum::<u64>()
            + TARGET * target_steps as u64,
    );
    for scenario in scenarios {
        let mut series = series(scenario, peaks);
        for step in plan.steps(scenario) {
            progress.step(&format!("{}, threads: {}", scenario.id, step.threads));
            plan.measure(&step, &mut series);
            progress.advance(step.weight());
        }
        if counted(scenario) {
            progress.step(&format!("{}, instructions", scenario.id));
            count_instructions(scenario, &mut series);
            progress.advance(count_weight(scenario));
        }
        series.retain(|series| !series.points.is_empty());
        let measured = results::Scenario {
            id: scenario.id.to_owned(),
            title: scenario.title.to_owned(),
            what: scenario.what.to_owned(),
            remarks: scenario.remarks.to_owned(),
            questions: scenario.questions.clone(),
            series,
        };
        results.scenarios.push(measured);
        let columns = columns(results);
        if let Some(measured) = results.scenarios.last() {
            progress.suspend(|| tables::scenario(measured, &columns));
        }
    }
    if with_targets {
        results.targets = targets::verdicts(options.quick, &mut progress, TARGET);
    }
}

fn counts_instructions(options: &Options) -> bool {
    if options.quick && !options.instructions || !options.threads.contains(&1) {
        return false;
    }
    let available = instructions::available();
    if options.instructions && !available {
        eprintln!("valgrind is not installed: no instructions are counted");
    }
    available
}

/// Returns the series of a scenario, without points.
fn series(scenario: &Scenario, peaks: &check::Peaks) -> Vec<Series> {
    let series = |contestant: &scenario::Contestant| {
        let mut peaks = peaks.iter();
        let peak = peaks.find(|(id, name, _)| *id == scenario.id && *name == contestant.name);
        let peak = peak.map(|(.., peak)| {
            format!("at most {peak} objects alive at the same time, on 1 thread")
        });
        let note = contestant.note.map(str::to_owned);
        let notes: Vec<_> = note.into_iter().chain(peak).collect();
        Series {
            implementation: contestant.name.to_owned(),
            role: contestant.role,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            points: Vec::new(),
        }
    };
    scenario.contestants.iter().map(series).collect()
}

fn count_instructions(scenario: &Scenario, series: &mut [Series]) {
    for (contestant, series) in scenario.contestants.iter().zip(series) {
        let Some(point) = series.points.iter_mut().find(|point| point.threads == 1) else {
            continue;
        };
        match instructions::count(scenario, contestant) {
            Ok(count) => point.instructions = Some(count),
            Err(error) => eprintln!("{}, {}: {error}", scenario.id, contestant.name),
        }
    }
}

/// Writes the results and the report.
fn write(results: &Results, json: Option<&Path>) -> io::Result<()> {
    let text = results::to_json(results)?;
    // `CARGO_TARGET_TMPDIR` is in the target directory.
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("contention");
    fs::create_dir_all(&directory)?;
    let standard = directory.join("results.json");
    for path in [Some(standard.as_path()), json].into_iter().flatten() {
        fs::write(path, &text)?;
        println!("results: {}", path.display());
    }
    let page = directory.join("report.html");
    fs::write(&page, report::html(results))?;
    println!("report, for a browser: {}", page.display());
    Ok(())
}
