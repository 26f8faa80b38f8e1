//! Formats numbers for readers.

use crate::comparison::Figure;
use jiff::Timestamp;

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
