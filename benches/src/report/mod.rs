//! What a run of `contention` found, as one page for people: charts, tables, and
//! what to choose. It needs neither network nor JavaScript, so that it can be
//! opened, sent and kept as a file.
//!
//! The markup is XML, too: so a small parser can test it.

mod chart;
mod look;
mod page;
mod scale;
mod standing;
mod table;
mod text;

use crate::contest::Figure;
use crate::results::Results;

/// Adds to a string, which cannot fail.
macro_rules! put {
    ($out:expr, $($what:tt)*) => {{
        use std::fmt::Write as _;
        let _ = write!($out, $($what)*);
    }};
}
use put;

/// The whole page.
pub fn html(results: &Results) -> String {
    page::page(results)
}

/// Whether it can be a time or a ratio, and so be drawn and compared. What is not was
/// not measured, or divided by nothing.
fn usable(value: f64) -> bool {
    (1e-6..=1e15).contains(&value)
}

/// The figure, if it can be drawn and compared. A quartile that cannot be is taken for the median.
fn sound(figure: Figure) -> Option<Figure> {
    let Figure { low, median, high } = figure;
    usable(median).then(|| Figure {
        low: if usable(low) { low.min(median) } else { median },
        median,
        high: if usable(high) {
            high.max(median)
        } else {
            median
        },
    })
}
