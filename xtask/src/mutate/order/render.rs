//! A file with all its mutants in it.
//!
//! The code between the braces of each mutated list becomes
//! `match crate::order_mutants::selected(..) { 0 => { as it was } 17 => { a mutant } ... }`.
//! The lists inside this code are switched only in the arm that has it as it was, so the text grows
//! with the number of mutants, not with their product.

use super::lists::List;
use super::make::Edit;
use std::fmt::Write;
use std::ops::Range;

/// A list that is switched.
pub struct Switched<'l> {
    pub list: &'l List,
    /// Its number in the program.
    pub block: usize,
    /// The mutants that are left of it, by their numbers in the program, which start at 1.
    pub mutants: Vec<(usize, &'l Edit)>,
}

/// Where something stands in a rendered file, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub range: Range<usize>,
    /// Of a mutant its number, of a whole list that of its block.
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Mutant(usize),
    Block(usize),
}

/// The file, and where its mutants and lists stand.
pub fn rendered(source: &str, lists: &[Switched<'_>]) -> (String, Vec<Place>) {
    // Insertions into the source: where, and the list that begins or ends there.
    let mut edits: Vec<(usize, bool, &Switched<'_>)> = Vec::new();
    for list in lists.iter().filter(|list| !list.mutants.is_empty()) {
        edits.push((list.list.inside.start, true, list));
        edits.push((list.list.inside.end, false, list));
    }
    // An outer list begins before, and ends after, those in it; an empty one begins first.
    edits.sort_by_key(|(at, begins, list)| {
        let inside = &list.list.inside;
        let depth = if *begins { !inside.end } else { !inside.start };
        (*at, *begins && !inside.is_empty(), depth)
    });
    let (mut text, mut places, mut starts, mut from) = (String::new(), Vec::new(), Vec::new(), 0);
    for (at, begins, list) in edits {
        text.push_str(&source[from..at]);
        from = at;
        if begins {
            starts.push(text.len() - 1);
            let (first, last) = (list.mutants[0].0, list.mutants[list.mutants.len() - 1].0);
            let block = list.block;
            let _ = write!(
                text,
                " match crate::order_mutants::selected({block}, {first}, {last}) {{ 0 => {{"
            );
            continue;
        }
        text.push_str("\n}\n");
        for (number, mutant) in &list.mutants {
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
            what: What::Block(list.block),
        });
    }
    text.push_str(&source[from..]);
    (text, places)
}

#[cfg(test)]
mod tests {
    use super::super::lists::{Breadth, lists};
    use super::super::make::edits;
    use super::super::operations::Operations;
    use super::*;

    #[test]
    fn what_is_rendered_parses_and_its_places_hold_the_mutants() {
        let source =
            "fn f(x: &A) -> u8 { a(); if x.swap(1, Ordering::AcqRel) == 2 { b(); c(); } 3 }";
        let file = syn::parse_file(source).unwrap();
        let operations = Operations::of([&file].into_iter());
        let (lists, _) = lists(&file, source, &operations, Breadth::Operations);
        let made: Vec<_> = lists.iter().map(edits).collect();
        let mut number = 0;
        let switched: Vec<_> = lists
            .iter()
            .zip(&made)
            .enumerate()
            .map(|(block, (list, made))| Switched {
                list,
                block,
                mutants: made
                    .iter()
                    .map(|mutant| {
                        number += 1;
                        (number, mutant)
                    })
                    .collect(),
            })
            .collect();
        let (text, places) = rendered(source, &switched);
        syn::parse_file(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert!(number > 5);
        for (number, mutant) in switched.iter().flat_map(|list| &list.mutants) {
            let what = What::Mutant(*number);
            let place = places.iter().find(|place| place.what == what).unwrap();
            assert_eq!(text[place.range.clone()], format!("{{\n{}}}", mutant.text));
        }
        // Lists have their braces, and the inner one stands in the outer one.
        for place in places.iter().filter(|p| matches!(p.what, What::Block(_))) {
            let text = &text[place.range.clone()];
            assert!(text.starts_with('{') && text.ends_with('}'), "{text}");
        }
        let block = |n| places.iter().find(|p| p.what == What::Block(n)).unwrap();
        assert!(block(0).range.start < block(1).range.start);
        assert!(block(1).range.end < block(0).range.end);
    }
}
