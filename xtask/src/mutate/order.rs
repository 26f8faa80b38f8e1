//! Order mutants: in every function that synchronizes with other threads, statements are moved across
//! operations, and deleted.
//!
//! Weakening an ordering does not show whether a model would notice that a statement stands on the
//! wrong side of it.
//!
//! * [`operations`]: which statements synchronize
//! * [`lists`]: the lists of statements of a file
//! * [`text`]: how mutants are named

pub mod lists;
pub mod operations;
pub mod text;

use super::mutant::Kind;
use super::switched::{Edit, Program};
use lists::{List, Unit, lists};
use operations::Operations;
use std::collections::BTreeSet;
use std::fmt::Write;
use text::{normal, short};

/// Adds the order mutants of all files.
pub fn add(program: &mut Program) {
    let operations = Operations::of(program.sources.iter().map(|file| &file.parsed));
    for source in 0..program.sources.len() {
        let file = &program.sources[source];
        for list in lists(&file.parsed, &file.text, &operations) {
            for (what, text) in changes(&list) {
                let edit = Edit {
                    kind: Kind::Order,
                    function: list.function.clone(),
                    lines: list.lines.clone(),
                    what,
                    text,
                };
                program.add(source, list.inside.clone(), edit);
            }
        }
    }
}

/// All mutants of `list` that differ from it, and from each other: the change, and the statements.
fn changes(list: &List) -> Vec<(String, String)> {
    let units = &list.units;
    let movable: Vec<usize> = (0..units.len()).filter(|&i| !units[i].is_fixed).collect();
    let mut found = Found {
        seen: BTreeSet::from([normal(&in_order(units, 0..units.len()))]),
        changes: Vec::new(),
    };
    for &across in movable.iter().filter(|&&i| units[i].synchronizes) {
        for &moved in movable
            .iter()
            .filter(|&&i| i != across && !stays(&units[i]))
            .filter(|&&i| !none_minds(&units[i], &units[across]))
            .filter(|&&i| !is_apart(&units[i], &units[across]))
        {
            let side = if moved < across { "after" } else { "before" };
            let mut order: Vec<usize> = (0..units.len()).filter(|&i| i != moved).collect();
            let at = order.iter().position(|&i| i == across).unwrap_or(0);
            order.insert(at + usize::from(moved < across), moved);
            if !is_bound(units, &order) {
                continue;
            }
            let [this, that] = [moved, across].map(|i| short(&units[i].text));
            found.add(
                format!("move: {this} {side} {that}"),
                in_order(units, order),
            );
        }
    }
    // Between an operation and what is done by its result.
    for &across in &movable {
        let Some([before, operation, after]) = &units[across].split else {
            continue;
        };
        let is_needed = |i: usize| {
            let until = units[i + 1..across].iter().map(|unit| &*unit.text);
            until
                .chain([&**operation])
                .any(|text| mentions(text, &units[i].binds))
        };
        let is_free = |i: usize| !units[i].only_counts && !is_apart(&units[i], &units[across]);
        let may_move = |i: usize| i < across && !stays(&units[i]) && is_free(i) && !is_needed(i);
        for &moved in movable.iter().filter(|&&i| may_move(i)) {
            let mut text = in_order(units, (0..across).filter(|&i| i != moved));
            let _ = write!(
                text,
                "let order_operation = {operation};\n{}\n{before} order_operation {after}\n",
                units[moved].text
            );
            text += &in_order(units, across + 1..units.len());
            let what = format!(
                "move: {} between {} and what follows from it",
                short(&units[moved].text),
                short(operation)
            );
            found.add(what, text);
        }
    }
    for &deleted in movable.iter().filter(|&&i| !units[i].is_result) {
        let what = format!("delete: {}", short(&units[deleted].text));
        let rest: Vec<usize> = (0..units.len()).filter(|&i| i != deleted).collect();
        if is_bound(units, &rest) {
            found.add(what, in_order(units, rest));
        }
    }
    found.changes
}

/// Returns whether moving it changes nothing, or is the same as deleting others.
fn stays(unit: &Unit) -> bool {
    unit.is_name || unit.is_jump
}

/// Returns whether one of two statements only counts, and the other takes no lock that those who read
/// the figures take, too.
fn none_minds(a: &Unit, b: &Unit) -> bool {
    a.only_counts && !b.locks || b.only_counts && !a.locks
}

/// Returns whether one of two statements only computes a local variable of others, and the other one mentions
/// none of these: then no execution differs.
fn is_apart(a: &Unit, b: &Unit) -> bool {
    (a.is_local || b.is_local) && a.words.is_disjoint(&b.words)
}

/// Returns whether each name is bound before it is used, as far as this list binds it.
fn is_bound(units: &[Unit], order: &[usize]) -> bool {
    let place = |unit: usize| order.iter().position(|&i| i == unit);
    order.iter().enumerate().all(|(at, &user)| {
        let binders =
            (0..user).filter(|&binder| !units[binder].binds.is_disjoint(&units[user].words));
        binders
            .into_iter()
            .all(|binder| place(binder).is_some_and(|place| place < at))
    })
}

/// Returns whether a text has one of these words.
fn mentions(text: &str, names: &BTreeSet<String>) -> bool {
    let is_part = |c: char| !(c.is_alphanumeric() || c == '_');
    text.split(is_part).any(|word| names.contains(word))
}

struct Found {
    seen: BTreeSet<String>,
    changes: Vec<(String, String)>,
}

impl Found {
    fn add(&mut self, what: String, text: String) {
        if self.seen.insert(normal(&text)) {
            self.changes.push((what, text));
        }
    }
}

/// The statements in another order. The value of the list stays its value, wherever it is computed.
fn in_order(units: &[Unit], order: impl IntoIterator<Item = usize>) -> String {
    let order: Vec<usize> = order.into_iter().collect();
    let mut text = String::new();
    let mut value_is_before = false;
    for (place, &i) in order.iter().enumerate() {
        let unit = &units[i];
        if unit.is_value && place + 1 < order.len() {
            value_is_before = true;
            let _ = writeln!(text, "let order_value = {};", unit.text);
        } else {
            text.push_str(&unit.text);
            text.push('\n');
        }
    }
    if value_is_before {
        text.push_str("order_value\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists_of(source: &str) -> Vec<List> {
        let file = syn::parse_file(source).unwrap();
        lists(&file, source, &Operations::of([&file].into_iter()))
    }

    fn of(body: &str) -> Vec<(String, String)> {
        let lists = lists_of(&format!("impl A {{ fn f(&self) {{ {body} }} }}"));
        lists.first().map_or(Vec::new(), changes)
    }

    /// Asserts that these are the names of all mutants of a function's outermost list.
    #[track_caller]
    fn named(body: &str, names: &[&str]) {
        let found: Vec<_> = of(body).into_iter().map(|change| change.0).collect();
        assert_eq!(found, names);
    }

    fn texts(body: &str) -> Vec<String> {
        let words =
            |change: (String, String)| Vec::from_iter(change.1.split_whitespace()).join(" ");
        of(body).into_iter().map(words).collect()
    }

    #[test]
    fn tests_have_no_mutants() {
        for gate in ["test", "all(test, unix)", "all(loom, unix)"] {
            let source = format!("#[cfg({gate})] mod m {{ fn f() {{ a(); x.lock(); }} }}");
            assert!(lists_of(&source).is_empty(), "{gate}");
        }
        assert_eq!(lists_of("mod m { fn f() { a(); x.lock(); } }").len(), 1);
        named("a(); b();", &[]);
    }

    #[test]
    fn statements_are_deleted_and_moved_across_operations() {
        let wanted = ["self.x.lock(); a();", "self.x.lock();", "a();"];
        assert_eq!(texts("a(); self.x.lock();"), wanted);
        named(
            "a(); b(); self.x.lock(); c(); d();",
            &[
                "move: a(); after self.x.lock();",
                "move: b(); after self.x.lock();",
                "move: c(); before self.x.lock();",
                "move: d(); before self.x.lock();",
                "delete: a();",
                "delete: b();",
                "delete: self.x.lock();",
                "delete: c();",
                "delete: d();",
            ],
        );
    }

    #[test]
    fn a_value_stays_the_value() {
        let swap = "self.x.swap(1, Ordering::AcqRel)";
        let kept = format!("let order_value = {swap}; a(); order_value");
        assert_eq!(texts(&format!("a(); {swap}")), [&kept, swap, "a();"]);
    }

    #[test]
    fn a_statement_comes_between_an_operation_and_its_arms() {
        let body = "link(); match self.x.swap(1, Ordering::AcqRel) { 1 => b(), _ => c() }";
        let between = "let order_operation = self.x.swap(1, Ordering::AcqRel); link(); \
                       match order_operation { 1 => b(), _ => c() }";
        assert!(texts(body).iter().any(|text| text == between));
    }

    #[test]
    fn what_stays_is_not_moved_or_deleted() {
        named(
            "debug_assert!(true); self.x.lock();",
            &["delete: self.x.lock();"],
        );
        named("self.x.lock(); self.x.lock();", &["delete: self.x.lock();"]);
        named(
            "let a = &self.a; self.x.lock(); a",
            &["delete: self.x.lock();"],
        );
        // Blocks that must not reach their end, and a statement that is all of an `if`.
        for (source, counts) in [
            (
                "fn f(x: &A) { let Some(y) = x.lock() else { a(); b(); return }; }",
                &[1, 2][..],
            ),
            (
                "fn f(x: &A) { if x.lock() { a(); } if b() { c(); d(); } }",
                &[3, 0, 2],
            ),
        ] {
            let found: Vec<_> = lists_of(source)
                .iter()
                .map(|list| changes(list).len())
                .collect();
            assert_eq!(found, counts);
        }
    }

    #[test]
    fn nothing_moves_behind_a_jump() {
        named(
            "a(); self.x.lock(); return;",
            &[
                "move: a(); after self.x.lock();",
                "delete: a();",
                "delete: self.x.lock();",
                "delete: return;",
            ],
        );
    }

    #[test]
    fn local_computations_stay_and_names_are_bound_before_they_are_used() {
        let moves = |body| {
            of(body)
                .into_iter()
                .filter(|change| change.0.starts_with("move"))
                .count()
        };
        assert_eq!(moves("let n = m + 1; self.x.lock(); a(n);"), 1);
        assert_eq!(moves("let n = m(); self.x.lock(); a(n);"), 2);
        assert_eq!(moves("let n = self.x.lock(); a(n);"), 0);
        named(
            "let n = a(); self.x.store(n, Ordering::Release);",
            &["delete: self.x.store(n, Ordering::Release);"],
        );
    }

    #[test]
    fn what_only_counts_stays_but_for_locks() {
        let source = "struct A { made: Counter }
                      fn f(x: &A) { a(); self.made.add(1); self.x.swap(1, Ordering::AcqRel); }
                      fn g(x: &A) { let _held = self.x.lock(); self.made.add(1); }";
        let lists = lists_of(source);
        let [counts, locks] = [0, 1].map(|i| changes(&lists[i]).into_iter().map(|change| change.0));
        let wanted = [
            "move: a(); after self.x.swap(1, Ordering::AcqRel);",
            "delete: a();",
            "delete: self.made.add(1);",
            "delete: self.x.swap(1, Ordering::AcqRel);",
        ];
        assert!(counts.eq(wanted));
        assert!(
            locks
                .into_iter()
                .any(|what| what == "move: self.made.add(1); before let _held = self.x.lock();")
        );
    }
}
