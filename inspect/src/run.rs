//! Carries out commands.

use crate::analysis::Analysis;
use crate::analysis::leaks::{self, Suspects};
use crate::capture::{Source, capture};
use crate::cli::{About, Arguments, Command, Look, Output};
use crate::error::Error;
use crate::graph::{Graph, Process};
use crate::report::subject::{self, FindError, Subject};
use crate::report::wire::{self, Report};
use crate::report::{build, text};
use crate::store;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The program or file cannot be read, or a file cannot be written.
    #[error(transparent)]
    Program(#[from] Error),
    /// The subject does not exist.
    #[error(transparent)]
    Find(#[from] FindError),
    /// Standard output cannot be used.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

/// The exit code of `leaks --fail` if there are leaks.
const LEAKS: u8 = 1;

/// Carries out a command, and returns the exit code.
///
/// # Errors
///
/// See [`RunError`]. If standard output is closed early, that is no error.
pub fn run(arguments: &Arguments) -> Result<ExitCode, RunError> {
    match carry_out(arguments) {
        Err(RunError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::SUCCESS)
        }
        other => other,
    }
}

fn carry_out(arguments: &Arguments) -> Result<ExitCode, RunError> {
    match &arguments.command {
        Command::Top(look) => {
            let graph = capture(&look.from.source())?;
            show(
                &graph,
                &look.output,
                build::top(&graph, look.output.limit()),
            )?;
        }
        Command::Why(about) => ask(about, build::why)?,
        Command::Holders(about) => ask(about, build::holders)?,
        Command::Held(about) => ask(about, build::held)?,
        Command::Leaks {
            look: Look { from, output },
            looks,
            fail,
        } => {
            let (graph, suspects) = look(&from.source(), *looks)?;
            let analysis = Analysis::new(&graph);
            let report = build::leak_report(&analysis, suspects.as_ref(), output.limit());
            let leaks = report.all_groups > 0;
            show(&graph, output, Report::Leaks(report))?;
            if *fail && leaks {
                return Ok(ExitCode::from(LEAKS));
            }
        }
        Command::Diff {
            before,
            after,
            output,
        } => diff(before, after, output)?,
        Command::Snapshot {
            look: Look { from, output },
            file,
        } => {
            let graph = capture(&from.source())?;
            store::save(&graph, file)?;
            let (objects, bytes) = build::sizes(&graph);
            let report = wire::Snapshot {
                file: file.display().to_string(),
                objects,
                bytes,
                allocations: (graph.nodes.len() - graph.objects) as u64,
            };
            show(&graph, output, Report::Snapshot(report))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How long to wait between the first two looks at a process; later waits are longer.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Looks at a process until nothing seems to leak, at most `looks` times; looks at a file once.
/// Returns the last graph, and the suspects of earlier looks, among which its leaks are. Fails if
/// the looks are of different programs, or if the library counts objects and none is found.
fn look(source: &Source, looks: u32) -> Result<(Graph, Option<Suspects>), RunError> {
    let looks = if matches!(source, Source::Pid(_)) {
        looks
    } else {
        1
    };
    let (mut first, mut suspects) = (None, None::<Suspects>);
    for look in 1.. {
        let graph = capture(source)?;
        let process = graph.process;
        if Process::are_same(first, process) == Some(false) {
            return Err(Error::Replaced(process.map_or(0, |process| process.pid)).into());
        }
        first = first.or(process);
        let counted = graph.totals.created.saturating_sub(graph.totals.destroyed);
        if graph.objects == 0 && counted > 0 {
            return Err(Error::NothingFound(counted).into());
        }
        if look == looks {
            return Ok((graph, suspects));
        }
        let found = leaks::suspects(&Analysis::new(&graph), suspects.as_ref());
        if found.is_empty() {
            return Ok((graph, Some(found)));
        }
        suspects = Some(found);
        drop(graph);
        thread::sleep(BETWEEN_LOOKS * look);
    }
    unreachable!("there are not that many looks")
}

/// Answers a question about an address or a type.
fn ask(
    about: &About,
    answer: fn(&Analysis<'_>, &Subject, Option<usize>) -> Report,
) -> Result<(), RunError> {
    let Look { from, output } = &about.look;
    let graph = capture(&from.source())?;
    let subject = subject::find(&graph, &about.subject)?;
    let report = answer(&Analysis::new(&graph), &subject, output.limit());
    show(&graph, output, report)
}

fn diff(before: &Path, after: &Path, output: &Output) -> Result<(), RunError> {
    let (before, after) = (store::load(before)?, store::load(after)?);
    let (earlier, later) = (Analysis::new(&before), Analysis::new(&after));
    let report = build::diff_report(&earlier, &later, output.limit());
    show(&after, output, report)
}

/// Prints a report.
fn show(graph: &Graph, output: &Output, report: Report) -> Result<(), RunError> {
    let document = build::document(graph, report);
    let mut out = io::stdout().lock();
    if output.json {
        serde_json::to_writer_pretty(&mut out, &document).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        out.write_all(text::text(&document).as_bytes())?;
    }
    out.flush()?;
    Ok(())
}
