//! Folders of `src/` use only folders below them, and no files form large circles.
//!
//! The layers are the rows of the table under "Layers" in docs/DESIGN.md, from the bottom. A row may be
//! a folder in a folder: `pool::api`.

use crate::command::{Outcome, read};
use crate::rust::{self, Words};
use proc_macro2::TokenStream;
use std::collections::{BTreeMap, BTreeSet};

const TABLE: &str = "docs/DESIGN.md";
const HEADING: &str = "## Layers";

/// The library.
const LIBRARY: &str = "src";

/// Other folders, each the root of a crate, in which only circles are looked for.
const OTHERS: &[&str] = &[
    "benches/src",
    "benches/contention",
    "capi/src",
    "examples/share",
    "inspect/src",
    "loom_tests/src",
    "soak/src",
    "xtask/src",
];

/// Files that use each other, at most.
const CIRCLE: usize = 2;

pub fn check() -> Outcome {
    let layers = layers(&read(TABLE)?);
    if layers.is_empty() {
        return Err(format!("{TABLE} has no table under {HEADING:?}"));
    }
    let files = modules(LIBRARY)?;
    let mut complaints = complaints(&layers, &files);
    let has = |path: &String, row| layer(&layers, &names(path)) == Some(row);
    let stale = (0..layers.len()).filter(|row| !files.keys().any(|path| has(path, *row)));
    complaints.extend(stale.map(|row| format!("{TABLE}: no file is in {}", layers[row])));
    complaints.extend(circles_in(LIBRARY, &files));
    for root in OTHERS {
        complaints.extend(circles_in(root, &modules(root)?));
    }
    complaints.iter().for_each(|c| eprintln!("{c}"));
    Ok(complaints.is_empty())
}

/// The files of a crate, and what they use.
fn modules(root: &str) -> Result<BTreeMap<String, Vec<Used>>, String> {
    let mut files = BTreeMap::new();
    for path in rust::files(root)? {
        if !is_apart(&path) {
            let file = rust::parse(&path, &read(&path)?)?;
            files.insert(path.clone(), module(root, &path, rust::tokens(file)));
        }
    }
    if files.is_empty() {
        return Err(format!("{root} has no files"));
    }
    Ok(files)
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

/// The names of a path from the root of its crate, with the line where it is written.
type Used = (usize, Vec<String>);

/// The paths into the crate that a file uses.
fn module(root: &str, path: &str, tokens: TokenStream) -> Vec<Used> {
    let file = path[root.len() + 1..].trim_end_matches(".rs").split('/');
    let mut file: Vec<String> = file.map(str::to_owned).collect();
    file.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
    let words = Words::of(tokens);
    let texts = words.texts();
    let mods = rust::items(&texts, "mod");
    // Within a module that stands in the file, `super` is the file.
    let here = |at: usize| [file.clone(), rust::modules(&texts, &mods, at)].concat();
    // Paths may begin with the modules that are declared here.
    let is_declared = |at: &usize| matches!(texts[*at..], ["mod", _, ";", ..]);
    let declared = (0..texts.len()).filter(is_declared);
    let below = |at: usize, name: &str| [here(at), vec![name.to_owned()]].concat();
    let declared: BTreeSet<_> = declared.map(|at| below(at, texts[at + 1])).collect();
    let mut used = Vec::new();
    for (first, last, names) in rust::paths(&texts) {
        // The scope of a visibility, `pub(in crate::pool)`, is none.
        if names.len() < 2 && texts.get(last) != Some(&"*") || first > 0 && texts[first - 1] == "in"
        {
            continue;
        }
        let mut to = match names[0] {
            "crate" => Vec::new(),
            "super" | "self" => here(first),
            _ if declared.contains(&below(first, names[0])) => here(first),
            _ => continue,
        };
        for name in names {
            match name {
                "super" => drop(to.pop()),
                "crate" | "self" => {}
                name => to.push(name.to_owned()),
            }
        }
        used.push((words.line(last), to));
    }
    used
}

fn complaints(layers: &[String], files: &BTreeMap<String, Vec<Used>>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, used) in files {
        let names = names(path);
        let Some(own) = layer(layers, &names) else {
            complaints.push(format!("{path}: {} is no layer in {TABLE}", names[0]));
            continue;
        };
        for (line, to) in used {
            if let Some(other) = layer(layers, to).filter(|other| *other > own) {
                complaints.push(format!(
                    "{path}:{line}: {} is below {} and must not use it",
                    layers[own], layers[other]
                ));
            }
        }
    }
    complaints
}

/// The names of the module that a file of the library is.
fn names(path: &str) -> Vec<String> {
    let names = path[LIBRARY.len() + 1..].trim_end_matches(".rs");
    names.split('/').map(str::to_owned).collect()
}

/// The row of a module. The file that declares the folders of some rows belongs to the last of them.
fn layer(layers: &[String], names: &[String]) -> Option<usize> {
    let within = |layer: &String| {
        let rooms = layer.split("::");
        rooms.zip(names).all(|(room, name)| room == name)
    };
    layers.iter().rposition(within)
}

/// Circles of files of a crate.
fn circles_in(root: &str, files: &BTreeMap<String, Vec<Used>>) -> Vec<String> {
    let mut arrows: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (path, used) in files {
        let targets = used.iter().filter_map(|(_, to)| file(root, to, files));
        arrows
            .entry(path)
            .or_default()
            .extend(targets.filter(|target| target != path));
    }
    let large = circles(&arrows).into_iter().filter(|c| c.len() > CIRCLE);
    large
        .map(|circle| format!("these files form a circle: {}", circle.join(", ")))
        .collect()
}

/// The file of a module, or of an item in it.
fn file(root: &str, to: &[String], files: &BTreeMap<String, Vec<Used>>) -> Option<String> {
    let path = |n: usize| format!("{root}/{}.rs", to[..n].join("/"));
    let roots = ["lib", "main"].map(|name| format!("{root}/{name}.rs"));
    let mut paths = (1..=to.len()).rev().map(path).chain(roots);
    paths.find(|path| files.contains_key(path))
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

    /// Lines of the form `PATH: TEXT`.
    fn parsed(files: &str) -> BTreeMap<String, Vec<Used>> {
        let parsed = |line: &str| {
            let (path, text) = line.trim().split_once(": ")?;
            let used = module(LIBRARY, path, text.parse().unwrap());
            Some((path.to_owned(), used))
        };
        files.lines().filter_map(parsed).collect()
    }

    #[test]
    fn layers_are_the_rows_of_the_table() {
        let text = "## Words\n| `no` | x |\n## Layers\n| room | holds |\n|---|---|\n| `sync` | a |\n\
                    | `pool` | b |\n## More\n| `no` | x |\n";
        assert_eq!(layers(text), ["sync", "pool"]);
    }

    #[test]
    fn paths_are_found_however_they_are_written() {
        for line in "
            thread::key::Key thread::record | use crate::thread::{key::Key, record};
            pool::page pool::entries pool::entries::Entries | use super::{page, entries::{self, Entries}};
            pool::entries | pub use super::entries::*;
            pool::drain::drain | fn f() { super::drain::drain() }
            frame::run | fn f() { crate::frame::run() }
            pool::page | mod m { use super::super::page; }
            | use std::sync::Arc; b::crate_(); pub(in crate::pool) fn f() {}
            pool::guard::api::A pool::guard::api::g | mod b; mod api; use api::A; fn f() { api::g() }"
            .lines()
            .skip(1)
        {
            let (wanted, text) = line.split_once("| ").unwrap();
            let used = &parsed(&format!("src/pool/guard.rs: {text}"))["src/pool/guard.rs"];
            let used: Vec<_> = used.iter().map(|(_, to)| to.join("::")).collect();
            assert_eq!(used.join(" "), wanted.trim());
        }
    }

    #[test]
    fn arrows_go_down() {
        let layers = ["sync", "thread", "pool::stack", "pool::api"].map(str::to_owned);
        let pool = "src/pool.rs: mod api; mod stack; use api::X; use stack::Y;";
        for (file, wanted) in [
            (
                "src/pool/api/a.rs: use crate::thread::x; use crate::sync::y;",
                "",
            ),
            ("src/pool/api/a.rs: use crate::pool::stack::Y;", ""),
            (
                "src/thread/a.rs: use crate::pool::api::x;",
                "src/thread/a.rs:1: thread is below pool::api and must not use it",
            ),
            (
                "src/pool/stack/a.rs: use super::b; use crate::pool::api::X;",
                "src/pool/stack/a.rs:1: pool::stack is below pool::api and must not use it",
            ),
            (
                "src/other/a.rs: fn f() {}",
                "src/other/a.rs: other is no layer in docs/DESIGN.md",
            ),
        ] {
            let found = complaints(&layers, &parsed(&format!("{pool}\n{file}")));
            assert_eq!(found.join("\n"), wanted);
        }
    }

    #[test]
    fn two_files_may_know_each_other_and_three_may_not() {
        let two = "src/a.rs: use crate::b::X;\nsrc/b.rs: use super::a::Y;";
        assert!(circles_in(LIBRARY, &parsed(two)).is_empty());
        for three in [
            "src/a.rs: use crate::b::X;\nsrc/b.rs: use super::c::Y;\nsrc/c.rs: use super::a::Z;",
            // Through the file that declares them, or the root.
            "src/a.rs: mod b; mod c; fn f() { b::g() }\nsrc/a/b.rs: use super::c::X;\nsrc/a/c.rs: use super::Z;",
            "src/main.rs: mod b; mod c; fn f() { b::g() }\nsrc/b.rs: use super::c::X;\nsrc/c.rs: use crate::Z;",
        ] {
            let found = circles_in(LIBRARY, &parsed(three)).join("\n");
            assert!(found.starts_with("these files form a circle: "), "{three}");
        }
    }
}
