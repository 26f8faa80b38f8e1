//! The output on standard output.

use releasepool_benches::findings::findings;
use releasepool_benches::results::{Machine, Results, Scenario};
use releasepool_benches::terminal::{self, digits};

pub fn machine(machine: &Machine) {
    let (processor, parallelism) = (&machine.processor, machine.parallelism);
    println!("processor  {processor}, {parallelism} threads");
    println!("system     {}", machine.system);
    println!("compiler   {}", machine.toolchain);
    println!("flags      {}", machine.flags);
    println!("allocator  {}", machine.allocator);
    let commit = machine.commit.as_deref().unwrap_or("unknown");
    println!("commit     {commit}");
}

fn paragraph(text: &str) {
    println!("{}", textwrap::fill(text, 98));
}

/// Prints the figures of a scenario, and sentences on these numbers of threads.
pub fn scenario(scenario: &Scenario, columns: &[usize]) {
    println!("\n{}: {}", scenario.id, scenario.title);
    paragraph(&scenario.what);
    for (number, oversubscribed) in scenario.threads() {
        let plural = if number == 1 { "" } else { "s" };
        let more = if oversubscribed {
            ", more than processors"
        } else {
            ""
        };
        let head = format!("{number} thread{plural}{more}");
        let mut table = terminal::figures([
            (&head, 34),
            ("ns per operation", 32),
            ("ratio to the first", 30),
            ("rounds", 0),
            ("instructions", 0),
        ]);
        for series in &scenario.series {
            if let Some(point) = series.point(number) {
                let instructions = point.instructions.map(|count| format!("{count:.1}"));
                table.add_row([
                    series.implementation.clone(),
                    digits(point.time),
                    point.ratio.map(digits).unwrap_or_default(),
                    point.rounds().to_string(),
                    instructions.unwrap_or_default(),
                ]);
            }
        }
        println!("{}", table.trim_fmt());
    }
    for series in &scenario.series {
        if let Some(note) = &series.note {
            println!("  {}: {note}", series.implementation);
        }
    }
    for finding in findings(scenario, columns) {
        println!("  {}", finding.text);
    }
    paragraph(&scenario.remarks);
}

/// Prints the changes since the baseline.
pub fn changes(results: &Results) {
    let Some(baseline) = &results.baseline else {
        return;
    };
    let titles = ["", "scenario", "implementation", "threads", "before", "now"];
    let mut table = terminal::columns(titles);
    let (mut compared, mut changed) = (0, 0);
    for (scenario, series, point) in results.points() {
        let Some(before) = point.before else { continue };
        compared += 1;
        if before.changed {
            changed += 1;
            let slower = point.time.median > before.time.median;
            table.add_row([
                if slower { "SLOWER" } else { "faster" },
                &scenario.id,
                &series.implementation,
                &point.threads.to_string(),
                &digits(before.time),
                &digits(point.time),
            ]);
        }
    }
    println!("\nChanges since {baseline} beyond the spread of both runs:");
    if changed > 0 {
        println!("{}", table.trim_fmt());
    }
    println!("{changed} of {compared} points changed");
}
