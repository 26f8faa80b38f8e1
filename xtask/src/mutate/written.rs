//! The atomic operations that are written in a source file: calls of an operation's name with an
//! `Ordering::` among the arguments; tests are left out.

use super::order::calls::calls;
use super::order::operations::{ATOMIC, FENCE};
use crate::rust::{self, Words};

/// One atomic operation, as it stands in the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Written {
    /// From the root of the package, with slashes.
    pub file: String,
    pub line: usize,
    /// Of the operation's name, from 1: what `#[track_caller]` gives.
    pub column: usize,
    /// The function that it is in.
    pub function: String,
    pub operation: String,
    /// One, or those of success and failure.
    pub orderings: Vec<String>,
    /// The models that the comment above it names.
    pub models: Vec<String>,
}

/// The atomic operations in one file, in the order in which they stand there.
///
/// # Errors
/// If it is no Rust.
pub fn written(file: &str, text: &str) -> Result<Vec<Written>, String> {
    let words = Words::of(rust::tokens(rust::parse(file, text)?));
    let texts = words.texts();
    let functions = rust::items(&texts, "fn");
    // Where the last operation or function begins: comments are read from there on.
    let (mut after_last, mut from) = (0, 0);
    let mut found = Vec::new();
    for call in calls(&texts) {
        let orderings = orderings(&call.arguments);
        if orderings.is_empty() || !is_operation(call.name) {
            continue;
        }
        let byte = |at: usize| words.spans[at].byte_range().start;
        let begun = (from..call.at)
            .rev()
            .find(|&at| texts[at] == "fn" && rust::is_name(texts[at + 1]));
        after_last = begun.map_or(after_last, |at| byte(at + 1));
        let at = words.spans[call.at].start();
        found.push(Written {
            file: file.to_owned(),
            line: at.line,
            column: at.column + 1,
            function: functions[call.at].map_or("", |at| texts[at + 1]).to_owned(),
            operation: call.name.to_owned(),
            orderings,
            models: models(&text[after_last..byte(call.at)]),
        });
        (after_last, from) = (byte(call.at), call.at);
    }
    Ok(found)
}

fn is_operation(name: &str) -> bool {
    name == FENCE || ATOMIC.contains(&name)
}

/// The names behind `Ordering::`, but for those of operations among the arguments.
fn orderings(arguments: &[&str]) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), arguments);
    while let Some((word, after)) = rest.split_first() {
        rest = match (*word, after) {
            ("Ordering", ["::", name, after @ ..]) => {
                found.push((*name).to_owned());
                after
            }
            (name, ["(", ..]) if is_operation(name) => &after[rust::closing(after)..],
            _ => after,
        };
    }
    found
}

/// The names in the last `Model: a, b.` of these lines.
fn models(text: &str) -> Vec<String> {
    let Some((_, rest)) = text.rsplit_once("Model: ") else {
        return Vec::new();
    };
    let names = rest.lines().next().unwrap_or("").trim_end_matches('.');
    names.split(", ").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line and column that `#[track_caller]` gives.
    #[track_caller]
    fn load(_: std::sync::atomic::Ordering) -> (usize, usize) {
        let at = std::panic::Location::caller();
        (at.line() as usize, at.column() as usize)
    }

    #[test]
    fn places_are_those_that_track_caller_gives() {
        use std::sync::atomic::Ordering;
        #[rustfmt::skip]
        let given = [
            load(Ordering::Relaxed),
            /* ≥ 1 */ load(Ordering::Acquire),
            Some(Ordering::SeqCst).map(|_| load(Ordering::SeqCst)).unwrap(),
        ];
        // So that these tests are not left out.
        let text = include_str!("written.rs").replace("#[cfg(test)]", "            ");
        let all = written("written.rs", &text).unwrap().into_iter();
        let of_this = all.filter(|w| w.function == "places_are_those_that_track_caller_gives");
        assert!(of_this.map(|w| (w.line, w.column)).eq(given));
    }

    #[test]
    fn operations_are_found_wherever_they_stand() {
        // A function, its operation and orderings, and where they stand.
        for line in "
            a compare_exchange AcqRel Acquire | fn a() { x.compare_exchange(1, f(2), Ordering::AcqRel, a::Ordering::Acquire); }
            b fence Release, a load Relaxed | fn a() { fn b() { fence(Ordering::Release); } assert!(x.load(Ordering::Relaxed)); }
            d swap AcqRel | impl A { fn c(&self) -> [u8; 2]; fn d(&self) { x.swap(1, Ordering::AcqRel) } }
            - load Relaxed | global! { static X: A = y.load(Ordering::Relaxed); }
            f store Release, f load Acquire | fn f() { a.store(b.load(Ordering::Acquire), Ordering::Release); }
            | fn f() { v.swap(1, 2); file.load(path); }
            | fn f() { other(Ordering::Relaxed); let load = Ordering::Relaxed; }
            | /* x.load(Ordering::Relaxed) */ fn f() { \"x.load(Ordering::Relaxed)\"; }
            | #[cfg(test)] mod tests { fn f() { x.load(Ordering::Relaxed); } }
            | #[cfg(all(test, not(loom)))] mod m { fn f() { x.load(Ordering::Relaxed); } }"
            .lines()
            .skip(1)
        {
            let (wanted, text) = line.split_once("| ").unwrap();
            let found = written("a.rs", text).unwrap().into_iter();
            let found = found.map(|w| format!("{} {} {}", w.function, w.operation, w.orderings.join(" ")));
            assert_eq!(found.collect::<Vec<_>>().join(", "), wanted.trim().trim_start_matches('-'));
        }
    }

    #[test]
    fn models_are_those_of_the_comment_above() {
        let text = "
            // Model: none.
            fn f() {
                // Acquire: why. Model: one, two.
                x.load(Ordering::Acquire);
                x.load(Ordering::Acquire);
            }
            fn g() { x.load(Ordering::Acquire); }
        ";
        let models = written("a.rs", text).unwrap().into_iter().map(|w| w.models);
        assert!(models.eq([vec!["one", "two"], vec![], vec![]]));
    }
}
