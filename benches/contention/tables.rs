//! What a run says on standard output.

use releasepool_benches::results::{Machine, Point, Results, Scenario, Series};
use releasepool_benches::table::digits;

pub fn machine(machine: &Machine) {
    println!(
        "processor  {}, {} threads",
        machine.processor, machine.parallelism
    );
    println!("system     {}", machine.system);
    println!("compiler   {}", machine.toolchain);
    println!("flags      {}", machine.flags);
    println!("allocator  {}", machine.allocator);
    let commit = machine.commit.as_deref().unwrap_or("unknown");
    println!("commit     {commit}");
}

/// Text in lines of this width at most, each after two spaces.
fn paragraph(text: &str) {
    const WIDTH: usize = 96;
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() + word.len() >= WIDTH {
            println!("  {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    if !line.is_empty() {
        println!("  {line}");
    }
}

fn row(series: &Series, point: &Point) {
    let ratio = point.ratio.map(digits);
    let ratio = ratio.map_or(String::new(), |ratio| format!("x {ratio}"));
    let instructions = point.instructions.map(|count| format!("{count:.1}"));
    println!(
        "    {:<32} {:>32} {ratio:>30} {:>13}",
        series.implementation,
        digits(point.time),
        instructions.unwrap_or_default()
    );
}

pub fn scenario(scenario: &Scenario) {
    println!("\n{}: {}", scenario.id, scenario.title);
    paragraph(&scenario.what);
    let points = scenario.series.iter().flat_map(|series| &series.points);
    let mut threads: Vec<_> = points.map(|p| (p.threads, p.oversubscribed)).collect();
    threads.sort_unstable();
    threads.dedup();
    for (number, oversubscribed) in threads {
        let plural = if number == 1 { "" } else { "s" };
        let more = if oversubscribed {
            ", more than can run at a time"
        } else {
            ""
        };
        let head = format!("{number} thread{plural}{more}");
        println!(
            "  {head:<34} {:>32} {:>30} {:>13}",
            "ns per operation and thread", "times the first", "instructions"
        );
        for series in &scenario.series {
            let mut points = series.points.iter();
            if let Some(point) = points.find(|point| point.threads == number) {
                row(series, point);
            }
        }
    }
    for series in &scenario.series {
        if let Some(note) = &series.note {
            println!("  {}: {note}", series.implementation);
        }
    }
    paragraph(&scenario.lesson);
}

/// What changed since the run it is compared with.
pub fn changes(results: &Results) {
    let Some(baseline) = &results.baseline else {
        return;
    };
    println!("\nChanges since {baseline} beyond the spread of both runs:");
    let (mut compared, mut changed) = (0, 0);
    for scenario in &results.scenarios {
        for series in &scenario.series {
            for point in &series.points {
                let Some(before) = point.before else { continue };
                compared += 1;
                if !before.changed {
                    continue;
                }
                changed += 1;
                let slower = point.time.median > before.time.median;
                println!(
                    "  {} {:<20} {:<32} {} threads: {} -> {}",
                    if slower { "SLOWER" } else { "faster" },
                    scenario.id,
                    series.implementation,
                    point.threads,
                    digits(before.time),
                    digits(point.time)
                );
            }
        }
    }
    println!("  {changed} of {compared} points");
}
