//! Checks all models, each in a process of its own, as many at once as there are cores.

use super::child::{How, MODES};
use super::model::Model;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::Instant;

/// The result of a child process.
struct Report {
    passed: bool,
    executions: u64,
    seconds: f64,
    stderr: String,
}

/// Checks one model in a process of its own.
fn check(model: &Model, mode: &str, how: &How) -> Report {
    let exe = std::env::current_exe().expect("this program has a path");
    let output = Command::new(exe)
        .args(["--child", model.name, mode])
        .args(how.args())
        .env_remove("RELEASEPOOL_MODEL_REPLAY")
        .stdin(Stdio::null())
        .output()
        .expect("this program can be run");
    let mut report = Report {
        passed: output.status.success(),
        executions: 0,
        seconds: 0.0,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["checked", executions, seconds] = words[..] {
            report.executions = executions.parse().unwrap_or(0);
            report.seconds = seconds.parse().unwrap_or(0.0);
        }
    }
    // Without executions, the child was killed before it printed anything, or it checked nothing.
    report.passed &= report.executions > 0;
    report
}

pub fn run_all(models: &[Model], filter: &str, how: &How) -> ExitCode {
    let start = Instant::now();
    let models = models.iter().filter(|m| {
        // A sample may miss the mistake that a canary plants.
        let may_pass = m.must_fail.is_some() && *how != How::Explore;
        m.name.contains(filter) && !may_pass
    });
    let jobs: Vec<_> = models
        .flat_map(|model| MODES.map(|mode| (model, mode)))
        .collect();
    if jobs.is_empty() {
        eprintln!("no model has {filter:?} in its name");
        return ExitCode::from(2);
    }
    let count = jobs.len();
    let mut failed = Vec::new();
    let mut executions = 0;
    println!(
        "{:<28} {:<6} {:>11} {:>9}  preemptions",
        "model", "mode", "executions", "seconds"
    );
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let jobs = Mutex::new(jobs.into_iter());
    let next = || jobs.lock().expect("no panic in here").next();
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            let sender = sender.clone();
            scope.spawn(move || {
                while let Some((model, mode)) = next() {
                    let report = check(model, mode, how);
                    sender
                        .send((model, mode, report))
                        .expect("the results are read");
                }
            });
        }
        drop(sender);
        for (model, mode, report) in results {
            let bound = match (how, model.bound_in(mode)) {
                (How::Sample(_), _) => "sampled".to_owned(),
                (_, None) => "unbounded".to_owned(),
                (_, Some(n)) => format!("at most {n}"),
            };
            let verdict = match (report.passed, model.must_fail) {
                (true, None) => "",
                (true, Some(_)) => "  (fails, as it must)",
                (false, _) => "  FAILED",
            };
            println!(
                "{:<28} {mode:<6} {:>11} {:>9.2}  {bound}{verdict}",
                model.name, report.executions, report.seconds
            );
            executions += report.executions;
            if !report.passed {
                failed.push((model.name, mode, report.stderr));
            }
        }
    });
    for (name, mode, stderr) in &failed {
        println!("\n--- {name}, {mode} ---\n{stderr}");
    }
    println!(
        "\n{count} checks, {} failed, {executions} executions in {:.1} s",
        failed.len(),
        start.elapsed().as_secs_f64()
    );
    ExitCode::from(u8::from(!failed.is_empty()))
}
