//! The table of all rows: benches/TABLE.md, and the page for a browser.

use crate::comparison::Outcome;
use crate::results::{Measured, Results};
use crate::terminal::{balance, counted, digits, judged, number};
use crate::workload::Role;

/// How the file with the table begins.
const HEAD: &str = "\
<!-- Written by the benchmark: README.md says how. -->

# The table of the benchmarks

A row is one kind of work on a number of threads. Times are nanoseconds per operation of one thread:
the median, and the quartiles in parentheses. *Ahead* is releasepool, by the means that the row is about,
or the fastest alternative with as many threads; the number is how many times as long the other takes,
in the median of the rounds. *A lower bound* can do less than the others: it is for one thread, or counts
nothing. The last column has the project's targets, each with what was measured.
";

/// The titles of the columns.
pub const TITLES: [&str; 6] = [
    "work",
    "threads",
    "releasepool, ns",
    "ahead, by",
    "the others: how many times as long",
    "targets",
];

/// Says in how many rows each side is ahead, and how many targets are met.
pub fn summary(results: &Results) -> String {
    let outcomes = results
        .rows
        .iter()
        .filter_map(|row| Some(row.standing()?.outcome));
    let count = |outcome| outcomes.clone().filter(|other| *other == outcome).count();
    let rounds = results
        .rows
        .iter()
        .flat_map(|row| &row.sides)
        .map(|s| s.samples.rounds());
    format!(
        "{}: releasepool is ahead of the fastest alternative in {}, even in {}, behind in {}; too \
         noisy to tell, or too few rounds: {}. {}. {} to {} rounds.",
        counted(results.rows.len(), "row"),
        count(Outcome::Slower),
        count(Outcome::Even),
        count(Outcome::Faster),
        count(Outcome::TooNoisy) + count(Outcome::TooFew),
        balance(&results.rows),
        rounds.clone().min().unwrap_or(0),
        rounds.max().unwrap_or(0),
    )
}

/// Says which side is ahead, and by how much: how many times as long the other takes.
fn ahead(row: &Measured) -> String {
    let Some(standing) = row.standing() else {
        return "–".to_owned();
    };
    let median = standing
        .ratio
        .map_or(f64::NAN, |ratio| ratio.figure().median);
    match standing.outcome {
        Outcome::Slower => format!("releasepool, {}", number(median)),
        Outcome::Faster => format!("{}, {}", standing.peer.name, number(1.0 / median)),
        Outcome::Even => "even".to_owned(),
        Outcome::TooNoisy if !standing.together => "the threads took turns".to_owned(),
        Outcome::TooNoisy => {
            let ratio = standing.ratio.map(|ratio| ratio.undecided());
            format!("too noisy: {}", digits(ratio))
        }
        Outcome::TooFew => "too few rounds".to_owned(),
    }
}

/// Lists all other sides, the fastest first.
fn others(row: &Measured) -> String {
    let mut others: Vec<_> = row.sides[1..]
        .iter()
        .map(|side| {
            let ratio = side.samples.over(&row.ours().samples);
            let median = ratio.map_or(f64::NAN, |ratio| ratio.figure().median);
            let reference = match side.role {
                Role::Reference => " (a lower bound)",
                _ => "",
            };
            let title = side.title(row.threads);
            (median, format!("{title}{reference} {}", number(median)))
        })
        .collect();
    others.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let names: Vec<_> = others.into_iter().map(|(_, name)| name).collect();
    names.join("; ")
}

/// Returns the cells of a row.
pub fn cells(row: &Measured) -> [String; 6] {
    let ours = row.ours();
    let targets: Vec<_> = row.targets.iter().map(judged).collect();
    [
        row.what.clone(),
        row.on(row.threads),
        format!("{} {}", ours.name, digits(ours.samples.time())),
        ahead(row),
        others(row),
        targets.join("; "),
    ]
}

/// Returns a row of a table.
fn line<'c>(cells: impl IntoIterator<Item = &'c str>) -> String {
    let escaped = cells.into_iter().map(|cell| {
        let escape = |c: char| match c {
            '|' | '<' | '[' | '*' | '_' => format!("\\{c}"),
            c => c.to_string(),
        };
        cell.chars().map(escape).collect::<String>()
    });
    let cells: Vec<_> = escaped.collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Prints how the table's row of this title and number of threads begins, for ci/lint.sh.
pub fn print_beginning(title: &str, threads: usize) {
    println!("{} {threads}", line([title]).trim_end());
}

/// Returns the file with the table.
pub fn table(results: &Results) -> String {
    let quick = if results.quick {
        "**A quick run, which shows that everything works: its figures are not reliable.**\n\n"
    } else {
        ""
    };
    let facts = results.machine.join("; ");
    let mut text = format!("{HEAD}\n{quick}{facts}.\n\n{}\n\n", summary(results));
    text += &line(TITLES);
    text += &format!("|{}\n", "---|".repeat(TITLES.len()));
    for row in &results.rows {
        text += &line(cells(row).iter().map(String::as_str));
    }
    text
}
