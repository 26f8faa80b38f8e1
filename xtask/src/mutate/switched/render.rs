//! A file with all its mutants in it.
//!
//! The code between the braces of each mutated block becomes
//! `match crate::mutants::selected(..) { 0 => { as it was } 17 => { a mutant } ... }`.
//! The blocks inside this code are switched only in the arm that has it as it was, so the text grows
//! with the number of mutants, not with their product.

use std::fmt::Write;
use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The change: `swap: A <-> B`, `replace + with -`.
    pub what: String,
    /// The code instead of that of the block.
    pub text: String,
}

/// A block that is switched.
pub struct Switched<'e> {
    /// What is between its braces, in bytes.
    pub inside: Range<usize>,
    /// Its number in the program.
    pub block: usize,
    /// The mutants that are left of it, by their numbers in the program, which start at 1.
    pub mutants: Vec<(usize, &'e Edit)>,
}

/// Where something stands in a rendered file, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub range: Range<usize>,
    /// Of a mutant its number, of a whole block its own.
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Mutant(usize),
    Block(usize),
}

/// The file, and where its mutants and blocks stand.
pub fn rendered(source: &str, blocks: &[Switched<'_>]) -> (String, Vec<Place>) {
    // Insertions into the source: where, and the block that begins or ends there.
    let mut edits: Vec<(usize, bool, &Switched<'_>)> = Vec::new();
    for block in blocks.iter().filter(|block| !block.mutants.is_empty()) {
        edits.push((block.inside.start, true, block));
        edits.push((block.inside.end, false, block));
    }
    // An outer block begins before, and ends after, those in it; an empty one begins first.
    edits.sort_by_key(|(at, begins, block)| {
        let inside = &block.inside;
        let depth = if *begins { !inside.end } else { !inside.start };
        (*at, *begins && !inside.is_empty(), depth)
    });
    let (mut text, mut places, mut starts, mut from) = (String::new(), Vec::new(), Vec::new(), 0);
    for (at, begins, switched) in edits {
        text.push_str(&source[from..at]);
        from = at;
        if begins {
            starts.push(text.len() - 1);
            let mutants = &switched.mutants;
            let (first, last) = (mutants[0].0, mutants[mutants.len() - 1].0);
            let block = switched.block;
            let _ = write!(
                text,
                " match crate::mutants::selected({block}, {first}, {last}) {{ 0 => {{"
            );
            continue;
        }
        text.push_str("\n}\n");
        for (number, mutant) in &switched.mutants {
            let _ = writeln!(text, "// {}", mutant.what);
            let _ = write!(text, "{number} => ");
            // With its braces: the compiler means them when the value is missing.
            let start = text.len();
            let _ = write!(text, "{{\n{}}}", mutant.text);
            places.push(Place {
                range: start..text.len(),
                what: What::Mutant(*number),
            });
            text.push('\n');
        }
        text.push_str("_ => ::core::unreachable!() } ");
        // With the braces around it, as above.
        places.push(Place {
            range: starts.pop().unwrap_or(0)..text.len() + 1,
            what: What::Block(switched.block),
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
        let source = "fn f(x: u8) -> u8 { a(); if x == 2 { b(); c(); } 3 }";
        let inside = |from: &str, to: &str| {
            let start = source.find(from).unwrap();
            start..source.find(to).unwrap()
        };
        let edit = |text: &str| Edit {
            what: "why".to_owned(),
            text: text.to_owned(),
        };
        let made = [edit("a(); 3"), edit("4"), edit("b();")];
        let switched = [
            Switched {
                inside: inside(" a()", "}").start..source.len() - 1,
                block: 0,
                mutants: vec![(1, &made[0]), (2, &made[1])],
            },
            Switched {
                inside: inside(" b()", "} 3"),
                block: 1,
                mutants: vec![(3, &made[2])],
            },
        ];
        let (text, places) = rendered(source, &switched);
        syn::parse_file(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        for (number, mutant) in switched.iter().flat_map(|block| &block.mutants) {
            let what = What::Mutant(*number);
            let place = places.iter().find(|place| place.what == what).unwrap();
            assert_eq!(text[place.range.clone()], format!("{{\n{}}}", mutant.text));
        }
        // Blocks have their braces, and the inner one stands in the outer one.
        for place in places.iter().filter(|p| matches!(p.what, What::Block(_))) {
            let text = &text[place.range.clone()];
            assert!(text.starts_with('{') && text.ends_with('}'), "{text}");
        }
        let block = |n| places.iter().find(|p| p.what == What::Block(n)).unwrap();
        assert!(block(0).range.start < block(1).range.start);
        assert!(block(1).range.end < block(0).range.end);
    }
}
