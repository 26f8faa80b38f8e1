//! Finds cells, atomics and locks in `src/` that are not those of `src/sync`, and writes through
//! raw pointers: models do not see them.
//!
//! loom switches threads only at its own operations, so it finds a plain write on the wrong side of the
//! exchange that publishes it only if that is an access to one of loom's cells. Outside of `src/sync`,
//! `src/model` and tests this finds
//!
//! * `cell`: std's cells; `src/sync` has those that models check
//! * `plain`: std's atomics, threads and locks, what is built on them, and checkers
//! * `raw`: writes through raw pointers, in functions that touch no cell of `src/sync` and no witness
//!
//! and fails, but for what ci/cells.txt lists with its reason. Cells need no exception.
//!
//! There are no types here, so all is found by how it is written.

use crate::command::{Outcome, read};
use crate::rust::{self, Words, closing, is_name};
use proc_macro2::TokenStream;
use std::collections::{BTreeMap, BTreeSet};

const LIST: &str = "ci/cells.txt";

/// Functions that write through raw pointers, or parts of their names.
#[rustfmt::skip]
const RAW_WRITES: &[&str] = &[
    "write_bytes", "write_volatile", "write_unaligned", "copy_nonoverlapping", "copy_to",
    "from_raw_parts_mut", "drop_in_place",
];

/// Functions of the module `ptr` that write, or how their names begin.
const PTR_WRITES: &[&str] = &["copy", "write", "replace", "swap"];

#[rustfmt::skip]
const LOCKS: &[&str] = &[
    "Mutex", "RwLock", "ReentrantMutex", "Condvar", "OnceLock", "LazyLock", "DashMap", "mpsc",
];

/// The kinds of findings, and what each is.
const CELL: (&str, &str) = (
    "cell",
    "a cell that models do not check: take it from crate::sync::cell",
);
const PLAIN: (&str, &str) = ("plain", "an atomic or a lock that models do not check");
const RAW: (&str, &str) = (
    "raw",
    "a raw write, and nothing in this function tells the models of it",
);

/// A line of a file with what is found there: its kind, and the static, field, local variable or function
/// that it belongs to; `-` outside of all.
type Finding = (usize, (&'static str, &'static str), String);

pub fn check() -> Outcome {
    let complaints = complaints(&all()?, &read(LIST)?);
    complaints
        .iter()
        .for_each(|complaint| println!("{complaint}"));
    Ok(complaints.is_empty())
}

fn all() -> Result<Vec<(String, Finding)>, String> {
    let mut found = Vec::new();
    for path in rust::files("src")?
        .into_iter()
        .filter(|path| rust::is_for_all(path))
    {
        let all = find(rust::tokens(rust::parse(&path, &read(&path)?)?));
        found.extend(all.into_iter().map(|finding| (path.clone(), finding)));
    }
    Ok(found)
}

/// Findings that are not in the list, and what is wrong with that.
fn complaints(found: &[(String, Finding)], list: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut listed = BTreeSet::new();
    for text in list
        .lines()
        .filter(|text| !text.is_empty() && !text.starts_with('#'))
    {
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            [kind @ ("plain" | "raw"), file, name, _, ..] => {
                listed.insert(format!("{kind} {file} {name}"));
            }
            _ => complaints.push(format!(
                "{LIST}: not plain or raw, a file, a name and a reason: {text}"
            )),
        }
    }
    let mut used = BTreeSet::new();
    for (file, (line, (kind, about), name)) in found {
        let key = format!("{kind} {file} {name}");
        if !listed.contains(&key) {
            complaints.push(format!("{file}:{line}: {name}: {about}"));
        }
        used.insert(key);
    }
    let unused = listed.difference(&used);
    complaints
        .extend(unused.map(|key| format!("{LIST}: nothing is found by this any more: {key}")));
    complaints
}

fn find(tokens: TokenStream) -> Vec<Finding> {
    let words = Words::of(tokens);
    let texts = words.texts();
    let functions = rust::items(&texts, "fn");
    let function = |at: usize| {
        functions[at]
            .map_or("-", |start| texts[start + 1])
            .to_owned()
    };
    let mut found = Vec::new();
    for (_, at, path) in rust::paths(&texts) {
        let kind = match path[..] {
            ["std" | "core", "cell", ..] => CELL,
            ["std" | "core", "sync", "atomic", ..] | ["std", "thread", ..] => PLAIN,
            ["crossbeam_utils", "atomic", ..] | ["loom" | "shuttle", _, ..] => PLAIN,
            _ => continue,
        };
        found.push((words.line(at), kind, function(at)));
    }
    // By function: the line of the first raw write, and what touches something that models see.
    let (mut raw, mut checked) = (BTreeMap::new(), BTreeSet::new());
    for (at, of) in functions.iter().enumerate() {
        let (before, rest) = texts.split_at(at);
        if is_raw_write(rest) {
            raw.entry(of).or_insert(at);
        }
        if is_seen(before, rest) {
            checked.insert(of);
        }
        match rest {
            ["static", "mut", ..] | ["thread_local", "!", ..] => {
                found.push((words.line(at), PLAIN, function(at)));
            }
            _ if is_lock(rest) => {
                let name = name_at(&texts, at).map(str::to_owned);
                found.push((words.line(at), PLAIN, name.unwrap_or_else(|| function(at))));
            }
            _ => {}
        }
    }
    let raw = raw
        .into_iter()
        .filter(|(function, _)| !checked.contains(function));
    found.extend(raw.map(|(_, at)| (words.line(at), RAW, function(at))));
    found.sort();
    // The type of a static and its value.
    found.dedup();
    found
}

/// The static, field, parameter or variable that the word here belongs to: in `name: type`, `name: value`
/// and `let name = value`.
fn name_at<'w>(words: &[&'w str], at: usize) -> Option<&'w str> {
    // In brackets that have ended before.
    let mut depth = 0;
    for i in (0..at).rev() {
        depth -= rust::depth_of(words[i]);
        match words[i] {
            ";" | "{" if depth <= 0 => return None,
            // The statement begins further up.
            "}" if depth <= 1 => return None,
            ":" if depth <= 0 => return i.checked_sub(1).map(|i| words[i]),
            "let" if depth <= 0 => {
                return words[i + 1..].iter().copied().find(|word| *word != "mut");
            }
            _ => depth = depth.max(0),
        }
    }
    None
}

/// `Mutex<` or `Mutex::new`.
fn is_lock(words: &[&str]) -> bool {
    match words {
        [name, "<", ..] => LOCKS.contains(name),
        [name, "::", function, ..] => {
            LOCKS.contains(name) && function.starts_with(char::is_lowercase)
        }
        _ => false,
    }
}

/// A write through a raw pointer, or a mutable reference that is made of one.
fn is_raw_write(words: &[&str]) -> bool {
    match words {
        // `(*pointer).field = value`
        ["(", "*", ..] => {
            let after = &words[words.len().min(closing(words) + 1)..];
            let is_field = |pair: &&[&str]| matches!(pair, [".", field] if *field != "(");
            let fields = after.chunks(2).take_while(is_field).count();
            fields > 0 && is_assignment(&after[2 * fields..])
        }
        // `unsafe { *pointer.field = value }`
        ["unsafe", "{", "*", place @ ..] => {
            let is_part = |word: &&&str| is_name(word) || **word == ".";
            let parts = place.iter().take_while(is_part).count();
            parts > 0 && is_assignment(&place[parts..])
        }
        // `&raw mut (*pointer).field`
        ["&", "raw", "mut", "(", "*", ..] | [".", "as_mut", "(", ")", ..] => true,
        [".", "write", "(", next, ..] => *next != ")",
        ["ptr", "::", name, ..] => PTR_WRITES.iter().any(|begin| name.starts_with(begin)),
        // `&mut *pointer`, but not `&mut *lock.lock()`
        ["&", "mut", "*", target @ ..] => !is_guard(target),
        [name, ..] => RAW_WRITES.iter().any(|part| name.contains(part)),
        [] => false,
    }
}

/// `=`, `+=` and their like.
fn is_assignment(words: &[&str]) -> bool {
    let sign = words.first().copied().unwrap_or_default();
    sign.ends_with('=') && !["==", "!=", "<=", ">=", "..="].contains(&sign)
}

/// Returns whether `lock()` is in what is left of the expression.
fn is_guard(words: &[&str]) -> bool {
    let mut depth = 0;
    for (i, word) in words.iter().enumerate() {
        match words[i..] {
            _ if depth < 0 => return false,
            ["," | ";", ..] if depth == 0 => return false,
            ["lock", "(", ")", ..] if depth == 0 => return true,
            _ => depth += rust::depth_of(word),
        }
    }
    false
}

/// Something that models see: a cell of `src/sync`, or a witness.
fn is_seen(before: &[&str], words: &[&str]) -> bool {
    match (before, words) {
        (_, ["note_write", "(", ..] | ["Page", "::", "touch", "(", ..]) => true,
        ([.., ".", "body" | "payload" | "made", "."], ["write", "(", ")", ..]) => true,
        ([.., "."], ["freed", "(", ")", ..] | ["with_mut", "(", ..]) => true,
        (_, [name, ..]) => name.contains("witness"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kind and the name of what is found.
    fn found(text: &str) -> Vec<String> {
        let tokens = rust::tokens(syn::parse_str(text).unwrap());
        find(tokens)
            .iter()
            .map(|(_, (kind, _), name)| format!("{kind} {name}"))
            .collect()
    }

    fn of_body(body: &str) -> Vec<String> {
        found(&format!("fn f() {{ {body} }}"))
    }

    #[test]
    fn cells_atomics_and_locks_are_found_however_they_are_named() {
        // Locks go by the name of what has them.
        for line in "
            cell - | use std::cell::Cell;
            cell - | use std::{ rc::Rc, cell::{Cell, RefCell} };
            cell f | fn f(x: &core::cell::Cell<u8>) {} fn g() {}
            plain - | use std::sync::{Arc, atomic::AtomicBool};
            plain - | use crossbeam_utils::atomic::AtomicCell;
            plain - | use std::{fmt, thread};
            plain f | fn f() { loom::thread::yield_now() }
            plain - | static mut X: u8 = 1;
            plain f | fn f() { thread_local! { static X: u8 = 1; } }
            plain A | static A: Mutex<u8> = Mutex::new(1);
            plain b | struct S { a: u8, b: Arc<RwLock<u8>> }
            plain A | global! { static A: CachePadded<Mutex<u8>> = X; }
            plain a | fn f() { let mut a = Mutex::new(1); }
            plain a | fn f() { let a = Arc::new(Mutex::new(1)); }
            plain b | fn f() -> S { S { b: CachePadded::new(Mutex::new(1)) } }
            plain f | fn f() { g(); mpsc::channel() }
            | use std::sync::Mutex;
            | fn f(a: Mutex) {}
            | use crate::sync::cell::Cell;
            | use std::sync::Arc;
            | /// std::cell::Cell
            | #[cfg(test)] mod tests { use std::cell::Cell; }
            | mod a { #[cfg(all(test, not(loom)))] mod tests { use std::cell::Cell; } }"
            .lines()
            .skip(1)
        {
            let (wanted, text) = line.split_once("| ").unwrap();
            assert_eq!(
                found(&format!("{text}\nfn end() {{}}")).join(", "),
                wanted.trim(),
                "{text}"
            );
        }
    }

    #[test]
    fn raw_writes_are_found() {
        let writes = "
            unsafe { (*p).a = 1 };
            unsafe { (*p).a.b |= 1 };
            unsafe { (*self.p).0 += 1 };
            unsafe { p.write(1) };
            p.write(1,);
            unsafe { *p = 1 };
            unsafe { *self.p += 1; }
            let q = unsafe { &raw mut (*p).a };
            unsafe { p.as_mut() }.f();
            unsafe { ptr::copy(a, b, 1) };
            unsafe { ptr::write_unaligned(a, 1) };
            unsafe { std::ptr::drop_in_place(a) };
            unsafe { slice::from_raw_parts_mut(a, 1) };
            assert!(unsafe { f(&mut *p) });";
        for body in writes.lines().skip(1) {
            assert_eq!(of_body(body), ["raw f"], "{body}");
        }
        let others = "unsafe { (*p).a == 1 }; unsafe { (*p).a <= 1 }; match unsafe { (*p).a } { x => x }
                      self.a = 1; p.write(); p.as_mut(1); unsafe { *p == 1 }; let q = &raw const (*p).a;
                      swap(&mut *a.lock(), b); let x = &mut y; ptr::eq(a, b);";
        assert!(of_body(others).is_empty());
    }

    #[test]
    fn a_function_that_tells_the_models_may_write() {
        for tells in "witness_write(p); unsafe { (*p).witness.write() }; unsafe { note_write(p) };
            self.node().body.write(); Page::touch(p); a.with_mut(|x| x); head.freed();"
            .split_inclusive(';')
        {
            assert!(
                of_body(&format!("p.write(1); {tells}")).is_empty(),
                "{tells}"
            );
        }
        let others = "p.write(1); a.write(); unnote_write(p); a.freed(1); touch(p);";
        assert_eq!(of_body(others), ["raw f"]);
        // Each function for itself; one in a macro's arguments is none around the write.
        let text = "
            impl A {
                fn a(&self) { witness(); }
                fn b(&self) { p.write(1); p.write(2); fn c() { witness(); } }
                fn d(&self);
            }
            fn e() { fn g() { p.write(1); } witness(); }
        ";
        assert_eq!(found(text), ["raw b", "raw g"]);
        assert_eq!(of_body("m!(fn a) + p.write(1)"), ["raw f"]);
    }

    #[test]
    fn what_is_listed_may_be_and_must_be() {
        let of = |text| find(syn::parse_str::<TokenStream>(text).unwrap()).remove(0);
        let said = |text, list| complaints(&[("a.rs".to_owned(), of(text))], list);
        let raw = "fn f() { p.write(1); }";
        assert!(said(raw, "# why\n\nraw a.rs f it is ours").is_empty());
        assert!(said(raw, "")[0].contains("a.rs:1: f: a raw write, and nothing"));
        assert!(said(raw, "raw a.rs f")[0].contains("and a reason"));
        assert!(said(raw, "raw a.rs f so\nplain a.rs f so")[0].contains("nothing is found"));
        assert_eq!(said(raw, "raw a.rs f so\ncell a.rs f so").len(), 1);
        assert_eq!(said("use std::cell::Cell;", "cell a.rs - so").len(), 2);
    }
}
