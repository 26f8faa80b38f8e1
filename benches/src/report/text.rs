//! Text and numbers, as they are written in the page.

use crate::contest::Figure;

/// Text that is safe in markup, as content and in quoted attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(c),
            // Not allowed in XML, however written.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// At most so many characters, the last an ellipsis if there were more.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

fn with_separators(digits: &str) -> String {
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Three digits that mean something; all of them before the point.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "none".to_owned();
    }
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    match size {
        0.0 => "0".to_owned(),
        _ if !(1e-4..1e12).contains(&size) => format!("{value:.1e}"),
        _ if size >= 999.5 => format!("{sign}{}", with_separators(&format!("{size:.0}"))),
        _ if size >= 99.95 => format!("{sign}{size:.0}"),
        _ if size >= 9.995 => format!("{sign}{size:.1}"),
        _ if size >= 0.1 => format!("{sign}{size:.2}"),
        _ => format!("{sign}{size:.4}"),
    }
}

/// A time with its unit.
pub fn time(nanoseconds: f64) -> String {
    let (size, unit) = match nanoseconds {
        t if t >= 0.9995e9 => (t / 1e9, "s"),
        t if t >= 0.9995e6 => (t / 1e6, "ms"),
        t if t >= 0.9995e3 => (t / 1e3, "µs"),
        t => (t, "ns"),
    };
    format!("{}\u{a0}{unit}", number(size))
}

/// A round time, for an axis.
pub fn tick(nanoseconds: f64) -> String {
    let (size, unit) = match nanoseconds {
        t if t >= 0.9995e9 => (t / 1e9, "s"),
        t if t >= 0.9995e6 => (t / 1e6, "ms"),
        t if t >= 0.9995e3 => (t / 1e3, "µs"),
        t => (t, "ns"),
    };
    // Up to the sixth decimal, without the error of the binary representation.
    let digits = format!("{size:.6}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}\u{a0}{unit}")
}

/// The quartiles in brackets.
pub fn spread(figure: Figure) -> String {
    format!("({}–{})", number(figure.low), number(figure.high))
}

/// One or several.
pub fn counted(count: usize, thing: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{s}")
}

/// "1, 2 and 4".
pub fn list(items: &[String]) -> String {
    match items {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A duration for people.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "unknown".to_owned();
    }
    let whole = seconds.round() as u64;
    match (whole / 60, whole % 60) {
        (0, _) if seconds < 9.5 => format!("{seconds:.1} s"),
        (0, s) => format!("{s} s"),
        (m, s) if m < 60 => format!("{m} min {s} s"),
        (m, _) => format!("{} h {} min", m / 60, m % 60),
    }
}

/// Date and time of day of so many seconds since 1970, UTC.
pub fn date(seconds: u64) -> String {
    // As Howard Hinnant's `civil_from_days` does it: years begin in March.
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year_of_era + later;
    let (hour, minute) = (seconds % 86_400 / 3_600, seconds % 3_600 / 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}
