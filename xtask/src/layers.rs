//! Folders of `src/` use only folders below them, and their files form no large circles.
//!
//! The layers are the rows of the table under "Layers" in docs/DESIGN.md, from the bottom.

use crate::rust;
use crate::{Outcome, read};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

const TABLE: &str = "docs/DESIGN.md";
const HEADING: &str = "## Layers";

/// Files of one folder that use each other, at most.
const CIRCLE: usize = 2;

pub fn check() -> Outcome {
    let layers = layers(&read(TABLE)?);
    if layers.is_empty() {
        return Err(format!("{TABLE} has no table under {HEADING:?}"));
    }
    let mut files = BTreeMap::new();
    for path in rust::files("src", "rs")? {
        if !is_apart(&path) {
            let file = rust::parse(&path, &read(&path)?)?;
            files.insert(path.clone(), module(&path, rust::tokens(file)));
        }
    }
    let complaints = complaints(&layers, &files);
    complaints.iter().for_each(|c| eprintln!("{c}"));
    Ok(complaints.is_empty())
}

/// Tests, the root, and what `sync` is inside.
fn is_apart(path: &str) -> bool {
    let apart = ["src/lib.rs", "src/compile_fail_tests", "src/sync/"];
    apart.iter().any(|start| path.starts_with(start)) || rust::is_test_file(path)
}

/// The names in the first column of the table, from the bottom.
fn layers(text: &str) -> Vec<String> {
    let after = text.lines().skip_while(|line| *line != HEADING).skip(1);
    let section = after.take_while(|line| !line.starts_with("## "));
    let name = |line: &str| {
        let first = line.strip_prefix("| `")?.split('`').next()?;
        Some(first.to_owned())
    };
    section.filter_map(name).collect()
}

/// A path as it is written: `crate::pool::guard`, `super::page`, up to two names.
type Used = (usize, Vec<String>);

/// The paths into the crate that a file uses, with their lines.
fn module(path: &str, tokens: TokenStream) -> Vec<Used> {
    let mut used = Vec::new();
    let mut here: Vec<String> = path
        .trim_start_matches("src/")
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    find(tokens, &mut here, &mut used);
    used
}

fn find(tokens: TokenStream, here: &mut Vec<String>, used: &mut Vec<Used>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        let is_path =
            || rust::is_sign(tokens.get(i + 1), ':') && rust::is_sign(tokens.get(i + 2), ':');
        let is_first = i < 2 || !rust::is_sign(tokens.get(i - 1), ':');
        match token {
            TokenTree::Ident(word) if is_first && is_path() => {
                let base = match word.to_string().as_str() {
                    "crate" => Vec::new(),
                    "super" => here[..here.len() - 1].to_vec(),
                    "self" => here.clone(),
                    _ => continue,
                };
                follow(&tokens[i + 3..], base, rust::line(token), used);
            }
            TokenTree::Group(group) => {
                // Within a module that stands in the file, `super` is the file.
                let named = i >= 2 && rust::is_word(tokens.get(i - 2), "mod");
                let inside = named && group.delimiter() == Delimiter::Brace;
                if inside {
                    here.push(tokens[i - 1].to_string());
                }
                find(group.stream(), here, used);
                if inside {
                    here.pop();
                }
            }
            _ => {}
        }
    }
}

/// What comes after `crate::` or `super::`.
fn follow(tokens: &[TokenTree], mut base: Vec<String>, line: usize, used: &mut Vec<Used>) {
    match tokens.first() {
        Some(TokenTree::Ident(word)) if word == "super" => {
            base.pop();
            if tokens.len() > 3 {
                follow(&tokens[3..], base, line, used);
            }
        }
        Some(TokenTree::Ident(word)) => {
            base.push(word.to_string());
            let goes_on = rust::is_sign(tokens.get(1), ':') && rust::is_sign(tokens.get(2), ':');
            if goes_on && base.len() < 2 {
                follow(&tokens[3..], base, line, used);
            } else {
                used.push((line, base));
            }
        }
        Some(TokenTree::Group(group)) => {
            let inner: Vec<_> = group.stream().into_iter().collect();
            for part in inner.split(|token| rust::is_sign(Some(token), ',')) {
                if rust::is_word(part.first(), "self") {
                    used.push((line, base.clone()));
                } else if !part.is_empty() {
                    follow(part, base.clone(), line, used);
                }
            }
        }
        _ => {}
    }
}

fn complaints(layers: &[String], files: &BTreeMap<String, Vec<Used>>) -> Vec<String> {
    let mut complaints = Vec::new();
    let level = |name: &str| layers.iter().position(|layer| layer == name);
    let mut arrows: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (path, used) in files {
        let folder = folder(path);
        let Some(own) = level(folder) else {
            complaints.push(format!("{path}: {folder} is no layer in {TABLE}"));
            continue;
        };
        for (line, to) in used {
            let Some(first) = to.first() else { continue };
            match level(first) {
                Some(other) if other > own => complaints.push(format!(
                    "{path}:{line}: {folder} is below {first} and must not use it"
                )),
                Some(_) if first == folder => {
                    let target = file(to, files);
                    arrows
                        .entry(path)
                        .or_default()
                        .extend(target.filter(|t| t != path));
                }
                _ => {}
            }
        }
    }
    for circle in circles(&arrows) {
        if circle.len() > CIRCLE {
            complaints.push(format!("these files form a circle: {}", circle.join(", ")));
        }
    }
    complaints
}

fn folder(path: &str) -> &str {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs");
    path.split('/').next().unwrap_or(path)
}

/// The file of a module; none for the root file of the folder, which names all the others.
fn file(to: &[String], files: &BTreeMap<String, Vec<Used>>) -> Option<String> {
    let path = format!("src/{}/{}.rs", to.first()?, to.get(1)?);
    files.contains_key(&path).then_some(path)
}

/// Sets of files each of which leads to all the others of its set.
fn circles(arrows: &BTreeMap<&str, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached = |from: &str| {
        let mut found = BTreeSet::new();
        let mut left = vec![from.to_owned()];
        while let Some(at) = left.pop() {
            let next = arrows.get(&*at).into_iter().flatten();
            left.extend(next.filter(|to| found.insert((*to).clone())).cloned());
        }
        found
    };
    let all: BTreeMap<&str, BTreeSet<String>> =
        arrows.keys().map(|at| (*at, reached(at))).collect();
    let mut circles = BTreeSet::new();
    for (at, found) in &all {
        let circle: Vec<String> = found
            .iter()
            .filter(|to| all.get(to.as_str()).is_some_and(|back| back.contains(*at)))
            .cloned()
            .collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(path: &str, text: &str) -> Vec<String> {
        let found = module(path, text.parse().unwrap());
        found.into_iter().map(|(_, to)| to.join("::")).collect()
    }

    #[test]
    fn layers_are_the_rows_of_the_table() {
        let text = "## Words\n| `no` | x |\n## Layers\n| room | holds |\n|---|---|\n| `sync` | a |\n| `pool` | b |\n## More\n| `no` | x |\n";
        assert_eq!(layers(text), ["sync", "pool"]);
    }

    #[test]
    fn paths_are_found_however_they_are_written() {
        assert_eq!(
            used(
                "src/pool/guard.rs",
                "use crate::thread::{key::Key, record};"
            ),
            ["thread::key", "thread::record"]
        );
        assert_eq!(
            used(
                "src/pool/guard.rs",
                "use super::{page, entries::{self, Entries}};"
            ),
            ["pool::page", "pool::entries"]
        );
        assert_eq!(
            used("src/pool/guard.rs", "fn f() { super::drain::drain() }"),
            ["pool::drain"]
        );
        assert_eq!(
            used("src/pool/guard.rs", "fn f() { crate::frame::run() }"),
            ["frame::run"]
        );
        assert_eq!(
            used("src/pool/guard.rs", "mod m { use super::super::page; }"),
            ["pool::page"]
        );
        assert_eq!(
            used("src/pool/guard.rs", "use std::sync::Arc; b::crate_();"),
            [""; 0]
        );
    }

    fn complaints_of(files: &[(&str, &str)]) -> Vec<String> {
        let layers = ["sync", "thread", "pool"].map(str::to_owned);
        let parsed = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), module(path, text.parse().unwrap())));
        complaints(&layers, &parsed.collect())
    }

    #[test]
    fn arrows_go_down() {
        assert!(
            complaints_of(&[("src/pool/a.rs", "use crate::thread::x; use crate::sync::y;")])
                .is_empty()
        );
        let up = complaints_of(&[("src/thread/a.rs", "\nuse crate::pool::x;")]);
        assert_eq!(
            up,
            ["src/thread/a.rs:2: thread is below pool and must not use it"]
        );
        let unknown = complaints_of(&[("src/other/a.rs", "")]);
        assert_eq!(
            unknown,
            ["src/other/a.rs: other is no layer in docs/DESIGN.md"]
        );
    }

    #[test]
    fn two_files_may_know_each_other_and_three_may_not() {
        let two = [
            ("src/pool/a.rs", "use super::b::X;"),
            ("src/pool/b.rs", "use crate::pool::a::Y;"),
        ];
        assert!(complaints_of(&two).is_empty());
        let three = [
            ("src/pool/a.rs", "use super::b::X;"),
            ("src/pool/b.rs", "use super::c::Y;"),
            ("src/pool/c.rs", "use super::a::Z;"),
        ];
        let found = complaints_of(&three);
        assert_eq!(
            found,
            ["these files form a circle: src/pool/a.rs, src/pool/b.rs, src/pool/c.rs"]
        );
    }
}
