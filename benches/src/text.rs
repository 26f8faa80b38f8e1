//! Formats text and numbers for readers.

use crate::contest::Figure;
use indicatif::HumanCount;
use jiff::{SignedDuration, Timestamp, Unit};

/// Replaces characters that XML forbids, even when escaped.
pub fn printable(text: &str) -> String {
    let is_forbidden = |c: char| match c {
        '\t' | '\n' => false,
        '\u{fffe}' | '\u{ffff}' => true,
        c => c.is_control(),
    };
    text.replace(is_forbidden, "\u{fffd}")
}

/// Cuts a text to at most this many characters, of which the last is an ellipsis.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Formats a number with three significant digits, and with all digits before the point.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "none".to_owned();
    }
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    match size {
        0.0 => "0".to_owned(),
        _ if !(1e-4..1e12).contains(&size) => format!("{value:.1e}"),
        _ if size >= 999.5 => format!("{sign}{}", HumanCount(size.round() as u64)),
        _ if size >= 99.95 => format!("{sign}{size:.0}"),
        _ if size >= 9.995 => format!("{sign}{size:.1}"),
        _ if size >= 0.1 => format!("{sign}{size:.2}"),
        _ => format!("{sign}{size:.4}"),
    }
}

/// Converts a time to a suitable unit.
fn in_unit(nanoseconds: f64) -> (f64, &'static str) {
    match nanoseconds {
        t if t >= 0.9995e9 => (t / 1e9, "s"),
        t if t >= 0.9995e6 => (t / 1e6, "ms"),
        t if t >= 0.9995e3 => (t / 1e3, "µs"),
        t => (t, "ns"),
    }
}

/// Formats a time with its unit.
pub fn time(nanoseconds: f64) -> String {
    let (size, unit) = in_unit(nanoseconds);
    format!("{}\u{a0}{unit}", number(size))
}

/// Formats a round time, for an axis.
pub fn tick(nanoseconds: f64) -> String {
    let (size, unit) = in_unit(nanoseconds);
    // Six decimals hide the error of the binary representation.
    let digits = format!("{size:.6}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}\u{a0}{unit}")
}

/// Formats the quartiles, in brackets.
pub fn spread(figure: Figure) -> String {
    format!("({}–{})", number(figure.low), number(figure.high))
}

/// Formats a count and a noun, in the plural where necessary.
pub fn counted(count: usize, thing: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{s}")
}

/// Formats a list such as "1, 2 and 4".
pub fn list(items: &[String]) -> String {
    match items {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Formats a duration, rounded to seconds.
pub fn duration(seconds: f64) -> String {
    let duration = SignedDuration::try_from_secs_f64(seconds).ok();
    let rounded = duration.and_then(|duration| duration.round(Unit::Second).ok());
    match rounded {
        Some(rounded) if !rounded.is_negative() => format!("{rounded:#}"),
        _ => "unknown".to_owned(),
    }
}

/// Formats a time in seconds since 1970 as date and time of day, UTC.
pub fn date(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).ok();
    match seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()) {
        Some(time) => time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        None => "unknown".to_owned(),
    }
}
