//! Order mutants: in every function that synchronizes with other threads, statements are swapped,
//! moved and deleted.
//!
//! Weakening an ordering does not show whether a model would notice that a statement stands on the
//! wrong side of it.
//!
//! * [`operations`]: which statements synchronize
//! * [`lists`]: the lists of statements of a file
//! * [`text`]: how mutants are named

pub mod lists;
pub mod operations;
mod text;

use super::mutant::Kind;
use super::switched::{Block, Edit, Program};
use crate::rust;
use lists::{List, Unit, lists};
use operations::Operations;
use std::collections::BTreeSet;
use std::fmt::Write;
use text::{normal, short};

const CANARIES: &[&str] = &[
    // A message that is found without its link.
    "src/thread/inbox.rs Inbox::push -- swap: message.node().next.set(next); <-> match self.head.compare_exchange_weak( head, message.0.as_pt..",
    // A message that is released before it counts.
    "src/thread/orphans.rs Orphans::adopt -- delete: self.outstanding .fetch_add(weight as usize, Ordering::Relax..",
];

/// Each survivor costs all of it: it is as long as the longest models take.
const MOST_SECONDS: f64 = 200.0;

/// Returns the order mutants of all of `src/`, but for the door to loom and what only models use.
pub fn program() -> Result<Program, String> {
    let mut program = Program::new(Kind::Order, CANARIES, MOST_SECONDS)?;
    let parse = |(path, text): &(String, String)| rust::parse(path, text);
    let files = program.sources.iter().map(parse);
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let operations = Operations::of(files.iter());
    for (source, file) in files.iter().enumerate() {
        for list in lists(file, &program.sources[source].1, &operations) {
            let edits = edits(&list);
            let block = Block {
                source,
                function: list.function,
                lines: list.lines,
                inside: list.inside,
            };
            program.add(block, edits);
        }
    }
    program.number_names();
    Ok(program)
}

/// All mutants of `list` that differ from it, and from each other.
fn edits(list: &List) -> Vec<Edit> {
    let units = &list.units;
    let movable: Vec<usize> = (0..units.len()).filter(|&i| !units[i].is_fixed).collect();
    let mut found = Found {
        seen: BTreeSet::from([normal(&in_order(units, 0..units.len()))]),
        edits: Vec::new(),
    };
    // Where nothing synchronizes, no other thread sees the order of two statements.
    let synchronizes = movable.iter().any(|&i| units[i].synchronizes);
    for pair in movable.windows(2).filter(|_| synchronizes) {
        let (a, b) = (pair[0], pair[1]);
        let (first, second) = (&units[a], &units[b]);
        let is_same = !first.synchronizes && !second.synchronizes && share_nothing(first, second);
        if is_same || stays(first) || stays(second) || none_minds(first, second) {
            continue;
        }
        let mut order: Vec<usize> = (0..units.len()).collect();
        order.swap(a, b);
        let what = format!(
            "swap: {} <-> {}",
            short(&units[a].text),
            short(&units[b].text)
        );
        found.add(what, in_order(units, order));
    }
    for &across in movable.iter().filter(|&&i| units[i].synchronizes) {
        for &moved in movable
            .iter()
            .filter(|&&i| i != across && !stays(&units[i]))
            .filter(|&&i| !none_minds(&units[i], &units[across]))
        {
            let side = if moved < across { "after" } else { "before" };
            let mut order: Vec<usize> = (0..units.len()).filter(|&i| i != moved).collect();
            let at = order.iter().position(|&i| i == across).unwrap_or(0);
            order.insert(at + usize::from(moved < across), moved);
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
        let may_move = |i: usize| i < across && !stays(&units[i]) && !units[i].only_counts;
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
    // Read once, where each turn of a loop reads anew.
    for &at in &movable {
        for [read, rest] in &units[at].hoists {
            let mut text = in_order(units, 0..at);
            let _ = write!(text, "{read}\n{rest}\n");
            text += &in_order(units, at + 1..units.len());
            found.add(format!("hoist: {} out of its loop", short(read)), text);
        }
    }
    for &deleted in &movable {
        let what = format!("delete: {}", short(&units[deleted].text));
        let rest = (0..units.len()).filter(|&i| i != deleted);
        found.add(what, in_order(units, rest));
    }
    found.edits
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

/// Returns whether no variable or field stands in both.
fn share_nothing(a: &Unit, b: &Unit) -> bool {
    let all_of = |a: &Unit, b: &Unit| a.names.contains("self") && b.text.contains("self");
    a.names.is_disjoint(&b.names) && !all_of(a, b) && !all_of(b, a)
}

struct Found {
    seen: BTreeSet<String>,
    edits: Vec<Edit>,
}

impl Found {
    fn add(&mut self, what: String, text: String) {
        if self.seen.insert(normal(&text)) {
            self.edits.push(Edit { what, text });
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

    fn of(body: &str) -> Vec<Edit> {
        let lists = lists_of(&format!("impl A {{ fn f(&self) {{ {body} }} }}"));
        lists.first().map_or(Vec::new(), edits)
    }

    /// Asserts that these are the names of all mutants of a function's outermost list.
    #[track_caller]
    fn named(body: &str, names: &[&str]) {
        let found: Vec<_> = of(body).into_iter().map(|edit| edit.what).collect();
        assert_eq!(found, names);
    }

    fn texts(body: &str) -> Vec<String> {
        let words = |edit: Edit| Vec::from_iter(edit.text.split_whitespace()).join(" ");
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
    fn statements_are_swapped_deleted_and_moved_across_operations() {
        let wanted = ["self.x.lock(); a();", "self.x.lock();", "a();"];
        assert_eq!(texts("a(); self.x.lock();"), wanted);
        named(
            "a(); b(); self.x.lock(); c(); d();",
            &[
                "swap: b(); <-> self.x.lock();",
                "swap: self.x.lock(); <-> c();",
                "move: a(); after self.x.lock();",
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
    fn reads_are_hoisted_out_of_loops() {
        let body = "a(); loop { let x = self.x.load(Ordering::Acquire); let y = 1; b(x, y); } c();";
        let hoisted = "a(); let x = self.x.load(Ordering::Acquire); \
                       loop { let y = 1; b(x, y); } c();";
        let texts = texts(body).into_iter();
        let hoists: Vec<_> = texts
            .filter(|text| text.contains("; loop { let y"))
            .collect();
        assert_eq!(hoists, [hoisted]);
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
            &["delete: let a = &self.a;", "delete: self.x.lock();"],
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
                .map(|list| edits(list).len())
                .collect();
            assert_eq!(found, counts);
        }
    }

    #[test]
    fn nothing_moves_behind_a_jump() {
        named(
            "a(); self.x.lock(); return;",
            &[
                "swap: a(); <-> self.x.lock();",
                "delete: a();",
                "delete: self.x.lock();",
                "delete: return;",
            ],
        );
    }

    #[test]
    fn what_shares_nothing_stays() {
        let swap = |body| of(body).remove(0).what;
        // A method of self may use any field.
        let method = swap("a(self.a); self.b(); self.x.lock();");
        assert_eq!(method, "swap: a(self.a); <-> self.b();");
        let fields = swap("a(self.a); c(self.c); self.x.lock();");
        assert_eq!(fields, "swap: c(self.c); <-> self.x.lock();");
    }

    #[test]
    fn what_only_counts_stays_but_for_locks() {
        let source = "struct A { made: Counter }
                      fn f(x: &A) { a(); self.made.add(1); self.x.swap(1, Ordering::AcqRel); }
                      fn g(x: &A) { let _held = self.x.lock(); self.made.add(1); }";
        let lists = lists_of(source);
        let [counts, locks] = [0, 1].map(|i| edits(&lists[i]).into_iter().map(|edit| edit.what));
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
                .any(|what| what == "swap: let _held = self.x.lock(); <-> self.made.add(1);")
        );
    }
}
