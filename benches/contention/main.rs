//! What it costs to share counted objects and pools between threads: releasepool beside
//! what else a program could use.
//!
//! * `scenarios`: kinds of work; `pools`, `handing`, `ui`: by whom, and how
//! * `check`: that all do the same
//! * `measure`, `instructions`: how long it takes, and how much
//! * `targets`: what the project asks of itself
//! * `tables`, `baseline`: what is printed, and compared with an earlier run
//!
//! See README.md.

mod baseline;
mod check;
mod handing;
mod instructions;
mod machine;
mod measure;
mod options;
mod pools;
mod progress;
mod scenario;
mod scenarios;
mod tables;
mod targets;
mod ui;

use measure::Plan;
use options::{Command, Options};
use progress::Progress;
use releasepool_benches::report;
use releasepool_benches::results::{self, FORMAT, Results, Series};
use releasepool_benches::table;
use scenario::Scenario;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use std::{fs, io};

/// Why it ends early.
enum Failure {
    /// Wrong options.
    Input(String),
    /// Everything else.
    Run(String),
}

fn main() -> ExitCode {
    let end = match options::parse() {
        Err(error) => Err(Failure::Input(error.to_string())),
        Ok(Command::Help) => {
            print!("{}", options::HELP);
            Ok(())
        }
        Ok(Command::List) => {
            list();
            Ok(())
        }
        Ok(Command::Count(task)) => count(&task),
        Ok(Command::Measure(options)) => run(&options),
    };
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Run(error)) => {
            eprintln!("contention: {error}");
            ExitCode::from(1)
        }
        Err(Failure::Input(error)) => {
            eprintln!("contention: {error}\nTry: cargo bench --bench contention -- --help");
            ExitCode::from(2)
        }
    }
}

fn list() {
    for scenario in scenarios::all() {
        println!("{:<20} {}", scenario.id, scenario.title);
        for contestant in &scenario.contestants {
            println!("    {}", contestant.name);
        }
    }
}

/// In a process under callgrind.
fn count(task: &instructions::Task) -> Result<(), Failure> {
    let all = scenarios::all();
    let scenario = all.iter().find(|s| s.id == task.scenario);
    let contestants = scenario.map(|s| &s.contestants);
    let contestant = contestants.and_then(|all| all.iter().find(|c| c.name == task.implementation));
    let contestant = contestant.ok_or_else(|| Failure::Input("no such work".to_owned()))?;
    instructions::run(contestant, task.turns);
    Ok(())
}

/// What the options leave of the scenarios.
fn select(options: &Options) -> Result<Vec<Scenario>, Failure> {
    let all = scenarios::all();
    let matches = |id: &str, name: &str| id == name || id.starts_with(&format!("{name}-"));
    for name in &options.scenarios {
        if !all.iter().any(|scenario| matches(scenario.id, name)) {
            let error = format!("no scenario {name:?}; --list names them");
            return Err(Failure::Input(error));
        }
    }
    let contains = |name: &str, part: &str| name.to_lowercase().contains(&part.to_lowercase());
    for part in &options.implementations {
        let mut names = all.iter().flat_map(|s| &s.contestants);
        if !names.any(|contestant| contains(contestant.name, part)) {
            let error = format!("no implementation {part:?}; --list names them");
            return Err(Failure::Input(error));
        }
    }
    let mut left = all;
    if !options.scenarios.is_empty() {
        left.retain(|s| options.scenarios.iter().any(|name| matches(s.id, name)));
    }
    if !options.implementations.is_empty() {
        let wanted = |name: &str| options.implementations.iter().any(|p| contains(name, p));
        for scenario in &mut left {
            scenario.contestants.retain(|c| wanted(c.name));
        }
        left.retain(|scenario| !scenario.contestants.is_empty());
    }
    if left.is_empty() {
        let error = "no scenario is done by such an implementation; --list names them";
        return Err(Failure::Input(error.to_owned()));
    }
    if options.targets && !options.filtered() {
        left.clear();
    }
    Ok(left)
}

/// Before anything is measured, as nobody likes to wait for an error.
fn can_be_written(path: &Path) -> Result<(), Failure> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if path.is_dir() || parent.is_some_and(|parent| !parent.is_dir()) {
        let error = format!("--json: {}: no such file can be written", path.display());
        return Err(Failure::Input(error));
    }
    Ok(())
}

fn run(options: &Options) -> Result<(), Failure> {
    let start = Instant::now();
    let scenarios = select(options)?;
    let earlier = match &options.baseline {
        Some((name, path)) => {
            let wrong = |error| Failure::Input(format!("--baseline: {name}: {error}"));
            Some((name, baseline::read(path).map_err(wrong)?))
        }
        None => None,
    };
    if let Some(path) = &options.json {
        can_be_written(path)?;
    }

    let machine = machine::describe();
    tables::machine(&machine);
    eprintln!("checking that all do the same work");
    let peaks = check::check(&scenarios)
        .map_err(|error| Failure::Run(format!("not the same work: {error}")))?;
    println!("\nChecked: all do the same work, and destroy as many objects as they make.");

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
    }
    tables::changes(&results);
    if let Some((_, earlier)) = &earlier {
        if !baseline::alike(&results, earlier) {
            println!("  The earlier run was of another machine, another build or another length.");
        }
    }
    if !results.targets.is_empty() {
        table::conclude(&results.targets);
    }
    write(&results, options.json.as_deref())
        .map_err(|error| Failure::Run(format!("results could not be written: {error}")))
}

/// Measures and prints, one after the other.
fn measure_all(
    options: &Options,
    scenarios: &[Scenario],
    peaks: &check::Peaks,
    results: &mut Results,
) {
    /// What a row of the targets takes, and the counting of instructions, beside an
    /// entry of a scenario.
    const TARGET: f64 = 12.0;
    const COUNT: f64 = 10.0;
    let plan = Plan::new(options.quick, options.threads.clone());
    let with_targets = options.targets || !options.filtered();
    let with_instructions =
        (options.instructions || !options.quick) && plan.threads.contains(&1) && {
            let available = instructions::available();
            if options.instructions && !available {
                eprintln!("valgrind is not there: no instructions are counted");
            }
            available
        };
    let counted = |scenario: &Scenario| with_instructions && scenario.countable;
    let to_count = |scenario: &&Scenario| counted(scenario);
    let to_count: Vec<_> = scenarios.iter().filter(to_count).collect();
    let count_weight = |scenario: &Scenario| COUNT * scenario.contestants.len() as f64;
    let steps: Vec<_> = scenarios.iter().flat_map(|s| plan.steps(s)).collect();
    let target_steps = if with_targets { targets::steps() } else { 0 };
    let mut progress = Progress::new(
        steps.len() + to_count.len() + target_steps,
        steps.iter().map(measure::Step::weight).sum::<f64>()
            + to_count.iter().map(|s| count_weight(s)).sum::<f64>()
            + TARGET * target_steps as f64,
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
            lesson: scenario.lesson.to_owned(),
            series,
        };
        progress.clear();
        tables::scenario(&measured);
        results.scenarios.push(measured);
    }
    if with_targets {
        results.targets = targets::verdicts(options.quick, &mut progress, TARGET);
    }
}

/// Without points yet.
fn series(scenario: &Scenario, peaks: &check::Peaks) -> Vec<Series> {
    let series = |contestant: &scenario::Contestant| {
        let mut peaks = peaks.iter();
        let peak = peaks.find(|(id, name, _)| *id == scenario.id && *name == contestant.name);
        let peak =
            peak.map(|(.., peak)| format!("at most {peak} objects alive at a time, by 1 thread"));
        let notes: Vec<_> = contestant
            .note
            .map(str::to_owned)
            .into_iter()
            .chain(peak)
            .collect();
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

/// Where results are, whatever the options say.
fn directory() -> PathBuf {
    // Cargo's own directory for this is one below the target directory.
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("contention")
}

/// All files that a run leaves.
fn write(results: &Results, json: Option<&Path>) -> io::Result<()> {
    let text = serde_json::to_string_pretty(results)?;
    let directory = directory();
    fs::create_dir_all(&directory)?;
    let standard = directory.join("results.json");
    for path in [Some(standard.as_path()), json].into_iter().flatten() {
        fs::write(path, &text)?;
        println!("written: {}", path.display());
    }
    let page = directory.join("report.html");
    fs::write(&page, report::html(results))?;
    println!("written, for a browser: {}", page.display());
    Ok(())
}
