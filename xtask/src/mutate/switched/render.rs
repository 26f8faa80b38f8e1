//! A file with all its mutants in it.
//!
//! The code at each mutated place becomes
//! `match crate::mutants::selected(..) { 0 => { as it was } 17 => { a mutant } ... }`.
//! The places inside this code are switched only in the arm that has it as it was, so the text grows
//! with the number of mutants, not with their product. A use of a constant becomes
//! `crate::mutants::constant(USE, ..)`.

use std::fmt::Write;
use std::ops::Range;

/// A place that is switched.
pub struct Switched<'e> {
    /// What is between its braces, or an expression, in bytes.
    pub inside: Range<usize>,
    /// Its number in the program.
    pub place: usize,
    /// The mutants that are left of it, by their numbers in the program, which start at 1, with what is
    /// changed and the code instead.
    pub mutants: Vec<(usize, &'e str, &'e str)>,
    /// True if this is a use of a constant, whose mutant has no code of its own.
    pub is_use: bool,
}

/// Where something stands in a rendered file, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub range: Range<usize>,
    /// Of a mutant its number, of a whole place its own.
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Mutant(usize),
    Place(usize),
}

/// The file, and where its mutants and places stand.
pub fn rendered(source: &str, switched: &[Switched<'_>]) -> (String, Vec<Place>) {
    // Insertions into the source: where, and the place that begins or ends there.
    let mut edits: Vec<(usize, bool, &Switched<'_>)> = Vec::new();
    for switched in switched.iter().filter(|of| !of.mutants.is_empty()) {
        edits.push((switched.inside.start, true, switched));
        edits.push((switched.inside.end, false, switched));
    }
    // An outer place begins before, and ends after, those in it; an empty one begins first. A use of a
    // constant may be all of a place.
    edits.sort_by_key(|(at, begins, of)| {
        let inside = &of.inside;
        let depth = if *begins { !inside.end } else { !inside.start };
        (
            *at,
            *begins && !inside.is_empty(),
            depth,
            *begins == of.is_use,
        )
    });
    let (mut text, mut places, mut starts, mut from) = (String::new(), Vec::new(), Vec::new(), 0);
    for (at, begins, of) in edits {
        text.push_str(&source[from..at]);
        from = at;
        let place = of.place;
        if begins && of.is_use {
            starts.push(text.len());
            text.push_str("crate::mutants::constant(");
            continue;
        }
        if begins {
            starts.push(text.len() - 1);
            let _ = write!(text, " match crate::mutants::selected({place}) {{ 0 => {{");
            continue;
        }
        let start = starts.pop().unwrap_or(0);
        if of.is_use {
            let number = of.mutants[0].0;
            let _ = write!(text, ", {place}, {number})");
            places.push(Place {
                range: start..text.len(),
                what: What::Mutant(number),
            });
            continue;
        }
        text.push_str("\n}\n");
        for (number, what, code) in &of.mutants {
            let _ = writeln!(text, "// {}", what.lines().next().unwrap_or_default());
            let _ = write!(text, "{number} => ");
            // With its braces: the compiler means them when the value is missing.
            let start = text.len();
            let _ = write!(text, "{{\n{code}\n}}");
            places.push(Place {
                range: start..text.len(),
                what: What::Mutant(*number),
            });
            text.push('\n');
        }
        text.push_str("_ => ::core::unreachable!() } ");
        // With the braces around it, as above.
        places.push(Place {
            range: start..text.len() + 1,
            what: What::Place(place),
        });
    }
    text.push_str(&source[from..]);
    (text, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rendered_parses_and_its_places_hold_the_mutants() {
        let source = "fn f(x: u8) -> u8 { a(); if x == 2 { b(); c(); } MOST }";
        let inside = |from: &str, to: &str| {
            let start = source.find(from).unwrap();
            start..source.find(to).unwrap()
        };
        let place = |place, inside, mutants| Switched {
            inside,
            place,
            mutants,
            is_use: false,
        };
        let all = inside(" a()", "MOST").start..source.len() - 1;
        let most = source.find("MOST").unwrap();
        let switched = [
            place(0, all, vec![(1, "why", "a(); 3"), (2, "why", "4")]),
            place(1, inside(" b()", "} MOST"), vec![(3, "why", "b();")]),
            Switched {
                is_use: true,
                ..place(2, most..most + 4, vec![(4, "why", "")])
            },
        ];
        let (text, places) = rendered(source, &switched);
        syn::parse_file(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let at = |what| {
            &text[places
                .iter()
                .find(|p| p.what == what)
                .unwrap()
                .range
                .clone()]
        };
        for (number, _, code) in switched[..2].iter().flat_map(|place| &place.mutants) {
            assert_eq!(at(What::Mutant(*number)), format!("{{\n{code}\n}}"));
        }
        assert_eq!(at(What::Mutant(4)), "crate::mutants::constant(MOST, 2, 4)");
        // Places have their braces, and the inner one stands in the outer one.
        let [outer, inner] = [0, 1].map(|place| at(What::Place(place)));
        for text in [outer, inner] {
            assert!(text.starts_with('{') && text.ends_with('}'), "{text}");
        }
        assert!(outer.contains(inner));
    }
}
