//! Which mutants the compiler complains about, from what `cargo check --message-format=json`
//! prints.

use super::render::{Place, What};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// An error of the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub message: String,
    /// File, bytes in it, and whether it is the place itself, not one that explains it.
    pub spans: Vec<(String, Range<usize>, bool)>,
}

impl Diagnostic {
    /// The errors among cargo's messages, a line each.
    pub fn all(messages: &str) -> Vec<Self> {
        messages.lines().filter_map(Self::read).collect()
    }

    fn read(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let message = &value["message"];
        if message["level"] != "error" {
            return None;
        }
        // Not those of the help below it: "there is one of this name elsewhere".
        let mut spans = Vec::new();
        add_spans(message, &mut spans);
        Some(Self {
            message: message["rendered"].as_str().unwrap_or_default().to_owned(),
            spans,
        })
    }

    /// If a function is called where only a constant one may be, its name.
    pub fn not_constant(&self) -> Option<&str> {
        let (_, rest) = self.message.split_once("cannot call non-const ")?;
        let path = rest.split('`').nth(1)?;
        path.rsplit("::").find(|part| !part.starts_with('<'))
    }
}

fn add_spans(message: &Value, spans: &mut Vec<(String, Range<usize>, bool)>) {
    for span in message["spans"].as_array().into_iter().flatten() {
        let is_primary = span["is_primary"] == true;
        // Code in a macro of another file counts where the macro is called.
        let mut span = span;
        loop {
            let file = span["file_name"].as_str().unwrap_or_default().to_owned();
            let at = |name: &str| span[name].as_u64().unwrap_or(0) as usize;
            spans.push((file, at("byte_start")..at("byte_end"), is_primary));
            match &span["expansion"] {
                Value::Object(expansion) => span = &expansion["span"],
                _ => break,
            }
        }
    }
}

/// The mutants to be taken out of the program.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Culprits {
    pub mutants: BTreeSet<usize>,
    /// Places that cannot be switched at all, and why.
    pub places: BTreeMap<usize, String>,
    /// Errors that no mutant has to do with.
    pub others: Vec<String>,
}

/// Finds what to take out, by where the mutants stand in each file.
///
/// An error in a mutant is its own. One at a place that is not mutated, and that mentions
/// mutants, is theirs: a value that one of them has moved in the round of a loop before. What
/// names several is looked at only when nothing else is left, as the others may be innocent.
pub fn culprits(errors: &[Diagnostic], places: &BTreeMap<String, Vec<Place>>) -> Culprits {
    let mut found = Culprits::default();
    let mut unclear = BTreeSet::new();
    for error in errors {
        let mut primary = BTreeSet::new();
        let mut secondary = BTreeSet::new();
        let mut around = Vec::new();
        for (file, range, is_primary) in &error.spans {
            let holds =
                |place: &&Place| place.range.start <= range.start && range.end <= place.range.end;
            for place in places.get(file).into_iter().flatten().filter(holds) {
                match place.what {
                    What::Mutant(number) if *is_primary => primary.insert(number),
                    What::Mutant(number) => secondary.insert(number),
                    What::Place(_) => {
                        around.push(place);
                        true
                    }
                };
            }
        }
        let all: BTreeSet<_> = primary.union(&secondary).copied().collect();
        let innermost = around.iter().min_by_key(|place| place.range.len());
        match (all.len(), innermost) {
            (1, _) => found.mutants.extend(all),
            (
                0,
                Some(Place {
                    what: What::Place(place),
                    ..
                }),
            ) => {
                found.places.insert(*place, error.message.clone());
            }
            (0, _) if error.spans.is_empty() => {} // "aborting due to ..."
            (0, _) => found.others.push(error.message.clone()),
            _ if secondary.is_empty() => unclear.extend(primary),
            _ => unclear.extend(secondary),
        }
    }
    if found.mutants.is_empty() {
        found.mutants = unclear;
    }
    if !found.mutants.is_empty() {
        // The compiler may complain about them elsewhere, too.
        found.others.clear();
        found.places.clear();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_belongs_to_the_mutant_or_place_that_it_is_in() {
        let place = |range, what| Place { range, what };
        let places = vec![
            place(0..100, What::Place(1)),
            place(10..20, What::Mutant(1)),
            place(20..30, What::Mutant(2)),
            place(40..50, What::Place(2)),
        ];
        let places = BTreeMap::from([("f".to_owned(), places)]);
        let error = |spans: &[(usize, bool)]| Diagnostic {
            message: "no".to_owned(),
            spans: spans
                .iter()
                .map(|&(at, is)| ("f".to_owned(), at..at + 1, is))
                .collect(),
        };
        let in_first = error(&[(12, true)]);
        // What names two mutants waits.
        let in_two = error(&[(12, true), (22, false)]);
        for (errors, mutants, wrong, others) in [
            (vec![in_first.clone()], &[1][..], &[][..], 0),
            (vec![error(&[(5, true), (22, false)])], &[2], &[], 0),
            (vec![in_two.clone()], &[2], &[], 0),
            (vec![in_two, in_first], &[1], &[], 0),
            (vec![error(&[(42, true)])], &[], &[2], 0),
            (vec![error(&[(200, true)])], &[], &[], 1),
        ] {
            let found = culprits(&errors, &places);
            assert!(found.mutants.iter().eq(mutants), "{errors:?}");
            assert!(found.places.keys().eq(wrong), "{errors:?}");
            assert_eq!(found.others.len(), others, "{errors:?}");
        }
    }

    #[test]
    fn messages_of_cargo_are_read() {
        let line = r#"{"reason":"compiler-message","message":{"level":"error","rendered":"no","spans":[{"file_name":"src/a.rs","byte_start":3,"byte_end":5,"is_primary":true,"expansion":null}],"children":[{"spans":[{"file_name":"src/b.rs","byte_start":0,"byte_end":1,"is_primary":true}]}]}}"#;
        let read = Diagnostic::all(&format!("{line}\n{{\"reason\":\"build-finished\"}}"));
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].spans, [("src/a.rs".to_owned(), 3..5, true)]);
    }
}
