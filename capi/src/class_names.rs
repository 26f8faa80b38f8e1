//! Names of classes.
//!
//! A type info names its type by a plain function pointer, which captures nothing. So there are
//! [`NAMED`] functions, each of which returns its own entry of a table, and each class takes one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

type NameFn = fn() -> &'static str;

const ROWS: usize = 64;
const COLUMNS: usize = 32;

/// The number of classes that have names of their own.
pub(crate) const NAMED: usize = ROWS * COLUMNS;

static NAMES: [[OnceLock<&'static str>; COLUMNS]; ROWS] =
    [const { [const { OnceLock::new() }; COLUMNS] }; ROWS];

fn name<const ROW: usize, const COLUMN: usize>() -> &'static str {
    NAMES[ROW][COLUMN].get().copied().unwrap_or("a class of C")
}

/// Returns the name of classes for which the table has no place.
fn without_place() -> &'static str {
    "a class beyond the first 2048"
}

macro_rules! row {
    ($row:expr; $($column:literal)*) => { [$(name::<{ $row }, $column> as NameFn),*] };
}

macro_rules! rows {
    ($($row:literal)*) => {
        [$(row!($row; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)),*]
    };
}

static FUNCTIONS: [[NameFn; COLUMNS]; ROWS] = rows!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
);

static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Returns a function that returns `text`. Each call takes a function of its own; once all
/// [`NAMED`] are taken, further classes share one name.
pub(crate) fn function_for(text: String) -> NameFn {
    // Relaxed: only the number is used; the name's `OnceLock` publishes the name.
    let at = TAKEN.fetch_add(1, Ordering::Relaxed);
    if at >= NAMED {
        return without_place;
    }
    let (row, column) = (at / COLUMNS, at % COLUMNS);
    let _ = NAMES[row][column].set(String::leak(text));
    FUNCTIONS[row][column]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_own_name_until_the_table_is_full() {
        let functions: Vec<NameFn> = (0..NAMED + 2)
            .map(|n| function_for(format!("C{n}")))
            .collect();
        for (n, function) in functions.iter().enumerate() {
            if n < NAMED {
                assert_eq!(function(), format!("C{n}"));
            } else {
                assert_eq!(function(), "a class beyond the first 2048");
            }
        }
    }
}
