//! The output on standard output, and numbers as text.

use crate::comparison::{Figure, Judged, Spread};
use crate::results::{Measured, Verdict};
use comfy_table::TableComponent::{HeaderLines, MiddleHeaderIntersections};
use comfy_table::{CellAlignment, ColumnConstraint, Table, Width, presets};
use jiff::Timestamp;

/// Returns an empty table with these titles and minimum widths. The widths align the figures of
/// tables that are printed below each other. The first column is aligned left, the others right.
pub fn figures<const N: usize>(titles: [(&str, u16); N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_style(HeaderLines, '─');
    table.set_style(MiddleHeaderIntersections, '─');
    table.set_header(titles.map(|(title, _)| title));
    for (at, (column, (_, width))) in table.column_iter_mut().zip(titles).enumerate() {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
        if at > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Prints what the figures of [`measured`] are.
pub fn explain() {
    println!(
        "\nNanoseconds per operation and thread: median (quartiles). The implementations of a table take\n\
         turns in one run; x is how many times as long as the first one another takes, round by round.\n"
    );
}

/// Prints the figures of a row.
pub fn measured(row: &Measured) {
    let threads = row.on(counted(row.threads, "thread"));
    let head = format!("{}, {threads}", row.what);
    let mut table = figures([
        (head.as_str(), 64),
        ("ns per operation", 22),
        ("x", 22),
        ("rounds", 0),
    ]);
    let ours = &row.ours().samples;
    for (at, side) in row.sides.iter().enumerate() {
        let ratio = side.samples.over(ours).map(|ratio| ratio.figure());
        table.add_row([
            side.title(row.threads),
            digits(side.samples.time()),
            if at > 0 { digits(ratio) } else { String::new() },
            side.samples.rounds().to_string(),
        ]);
    }
    println!("{}", table.trim_fmt());
    row.targets
        .iter()
        .for_each(|target| println!("  {}", judged(target)));
    println!();
}

/// Says what was asked, and what was measured.
pub fn judged(target: &Verdict) -> String {
    let spread = Spread::of(target.samples.iter().copied().flatten());
    let value = digits(spread.map(|spread| match target.result {
        Judged::TooNoisy => spread.undecided(),
        _ => spread.figure(),
    }));
    let result = match target.result {
        Judged::Met => "met",
        Judged::Missed => "MISSED",
        Judged::TooNoisy => "too noisy to tell",
        Judged::TooFew => "too few rounds",
    };
    let remark = target
        .remark
        .as_ref()
        .filter(|_| target.result != Judged::Met);
    let remark = remark
        .map(|remark| format!(" ({remark})"))
        .unwrap_or_default();
    format!("{}: {value}, {result}{remark}", target.asked)
}

/// Says how many targets are met.
pub fn balance(rows: &[Measured]) -> String {
    let results = rows.iter().flat_map(|row| &row.targets).map(|v| v.result);
    let count = |result| results.clone().filter(|other| *other == result).count();
    let (missed, open) = (
        count(Judged::Missed),
        count(Judged::TooNoisy) + count(Judged::TooFew),
    );
    let all = counted(results.clone().count(), "target");
    format!(
        "{all}, {} met, {missed} missed, {open} not decided",
        count(Judged::Met)
    )
}

/// Prints the targets that are not met.
pub fn conclude(rows: &[Measured]) {
    for row in rows {
        let open = row
            .targets
            .iter()
            .filter(|target| target.result != Judged::Met);
        open.for_each(|target| {
            println!("{}, {}: {}", row.what, row.ours().title(1), judged(target))
        });
    }
    println!("\n{}", balance(rows));
}

// --- numbers -------------------------------------------------------------------

/// Formats a number with three significant digits, and with all digits before the point.
pub fn number(value: f64) -> String {
    match value.abs() {
        _ if value.is_nan() => "–".to_owned(),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Formats a median with its quartiles.
pub fn digits(figure: Option<Figure>) -> String {
    let Some(Figure { low, median, high }) = figure else {
        return "none".to_owned();
    };
    format!("{} ({}..{})", number(median), number(low), number(high))
}

/// Formats a count and a noun, in the plural where necessary.
pub fn counted(count: usize, thing: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{s}")
}

/// Formats a time in seconds since 1970 as date and time of day, UTC.
pub fn date(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).ok();
    match seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()) {
        Some(time) => time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        None => "unknown".to_owned(),
    }
}
