//! Finds cells, atomics and locks in `src/` that are not those of `src/sync`, and writes through
//! raw pointers: models do not see them.
//!
//! loom switches threads only at its own operations, so it finds a plain write on the wrong side of the
//! exchange that publishes it only if that is an access to one of loom's cells. Outside of `src/sync`,
//! `src/model` and tests this finds
//!
//! * `cell`: std's cells; `src/sync` has those that models check
//! * `plain`: std's atomics and locks, and what is built on them
//! * `raw`: writes through raw pointers, in functions that touch no cell of `src/sync` and no witness
//!
//! and fails, but for what ci/cells.txt lists with its reason. Cells need no exception.
//!
//! There are no types here, so all is found by how it is written.

use crate::command::{Outcome, read};
use crate::rust::{self, group, is_sign, is_word, line, lines_of, word};
use proc_macro2::Delimiter::{Brace, Parenthesis};
use proc_macro2::{Spacing, TokenStream, TokenTree};
use std::collections::BTreeSet;

const LIST: &str = "ci/cells.txt";

/// Functions that write through raw pointers, or parts of their names.
const RAW_WRITES: &[&str] = &[
    "write_bytes",
    "write_volatile",
    "write_unaligned",
    "copy_nonoverlapping",
    "copy_to",
    "from_raw_parts_mut",
    "drop_in_place",
];

/// Functions of the module `ptr` that write, or how their names begin.
const PTR_WRITES: &[&str] = &["copy", "write", "replace", "swap"];

const LOCKS: &[&str] = &[
    "Mutex",
    "RwLock",
    "ReentrantMutex",
    "Condvar",
    "OnceLock",
    "LazyLock",
    "DashMap",
    "mpsc",
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

/// Prints all findings, listed or not.
pub fn list() -> Outcome {
    for (file, (line, (kind, _), name)) in all()? {
        println!("{kind} {file} {name} {line}");
    }
    Ok(true)
}

pub fn check() -> Outcome {
    let complaints = complaints(&all()?, &read(LIST)?);
    complaints
        .iter()
        .for_each(|complaint| println!("{complaint}"));
    Ok(complaints.is_empty())
}

fn all() -> Result<Vec<(String, Finding)>, String> {
    let mut found = Vec::new();
    for path in rust::files("src", "rs")?
        .into_iter()
        .filter(|path| is_looked_at(path))
    {
        let all = find(rust::tokens(rust::parse(&path, &read(&path)?)?));
        found.extend(all.into_iter().map(|finding| (path.clone(), finding)));
    }
    Ok(found)
}

/// All but the door to what models see, what only models use, and tests.
fn is_looked_at(path: &str) -> bool {
    let exempt = ["src/sync", "src/model", "src/compile_fail_tests"];
    !exempt.iter().any(|start| path.starts_with(start)) && !rust::is_test_file(path)
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
    let mut search = Search {
        found: Vec::new(),
        functions: vec![Function::new("-")],
    };
    search.walk(tokens, None);
    search.leave();
    search.found.sort();
    // The type of a static and its value.
    search.found.dedup();
    search.found
}

struct Search {
    found: Vec<Finding>,
    /// The scopes around the place that is examined, the innermost last.
    functions: Vec<Function>,
}

struct Function {
    name: String,
    /// The line of the first raw write.
    raw: Option<usize>,
    /// True if it touches something that models see.
    is_checked: bool,
}

impl Function {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            raw: None,
            is_checked: false,
        }
    }
}

impl Search {
    /// At the end of a function.
    fn leave(&mut self) {
        let function = self.functions.pop().expect("one was entered");
        if let (Some(line), false) = (function.raw, function.is_checked) {
            self.found.push((line, RAW, function.name));
        }
    }

    /// Looks at all tokens; `name` is the static, field or variable that they belong to.
    fn walk(&mut self, tokens: TokenStream, name: Option<&str>) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let outside = self.functions.len();
        let mut is_use = false;
        for (i, token) in tokens.iter().enumerate() {
            let rest = &tokens[i..];
            if is_word(Some(token), "fn") {
                if let Some(name) = word(rest.get(1)) {
                    self.functions.push(Function::new(&name));
                }
            }
            is_use |= is_word(Some(token), "use");
            self.look_at(&tokens, i, name, is_use);
            if let TokenTree::Group(inner) = token {
                let name = match inner.delimiter() {
                    Brace => None,
                    _ => name_at(&tokens, i).or(name.map(str::to_owned)),
                };
                self.walk(inner.stream(), name.as_deref());
            }
            // A body, or the end of a function without one.
            let ends = group(Some(token), Brace).is_some() || is_sign(Some(token), ';');
            if ends {
                is_use = false;
                if self.functions.len() > outside {
                    self.leave();
                }
            }
        }
        while self.functions.len() > outside {
            self.leave();
        }
    }

    fn look_at(&mut self, tokens: &[TokenTree], i: usize, name: Option<&str>, is_use: bool) {
        let (before, rest) = (&tokens[..i], &tokens[i..]);
        let function = self.functions.last_mut().expect("the outermost stays");
        let at = line(&tokens[i]);
        if is_raw_write(rest) {
            function.raw.get_or_insert(at);
        }
        function.is_checked |= is_seen(before, rest);
        let paths: [(_, &[&[&str]]); 4] = [
            (CELL, &[&["std", "core"], &["cell"]]),
            (PLAIN, &[&["std", "core"], &["sync"], &["atomic"]]),
            (PLAIN, &[&["std"], &["thread"]]),
            (PLAIN, &[&["crossbeam_utils"], &["atomic"]]),
        ];
        for (kind, path) in paths {
            let found = lines_of(rest, path).into_iter();
            self.found
                .extend(found.map(|line| (line, kind, function.name.clone())));
        }
        let is_static_mut = is_word(rest.first(), "static") && is_word(rest.get(1), "mut");
        let is_local = is_word(rest.first(), "thread_local") && is_sign(rest.get(1), '!');
        if is_static_mut || is_local {
            self.found.push((at, PLAIN, function.name.clone()));
        }
        if is_lock(rest) && !is_use {
            let name = name_at(tokens, i).or(name.map(str::to_owned));
            self.found
                .push((at, PLAIN, name.unwrap_or(function.name.clone())));
        }
    }
}

/// The static, field, parameter or variable that the token here belongs to: in `name: type`,
/// `name: value` and `let name = value`.
fn name_at(tokens: &[TokenTree], at: usize) -> Option<String> {
    for i in (0..at).rev() {
        let token = &tokens[i];
        if is_sign(Some(token), ';') || group(Some(token), Brace).is_some() {
            return None;
        }
        let is_colon = is_sign(Some(token), ':')
            && !is_sign(tokens.get(i + 1), ':')
            && !(i > 0 && is_sign(tokens.get(i - 1), ':'));
        if is_colon {
            return i.checked_sub(1).and_then(|i| word(tokens.get(i)));
        }
        if is_word(Some(token), "let") {
            let is_mut = is_word(tokens.get(i + 1), "mut");
            return word(tokens.get(i + 1 + usize::from(is_mut)));
        }
    }
    None
}

/// `Mutex<` or `Mutex::new`.
fn is_lock(tokens: &[TokenTree]) -> bool {
    let is_one = word(tokens.first()).is_some_and(|name| LOCKS.contains(&&*name));
    let is_function = is_sign(tokens.get(1), ':')
        && is_sign(tokens.get(2), ':')
        && word(tokens.get(3)).is_some_and(|name| name.starts_with(|c: char| c.is_lowercase()));
    is_one && (is_sign(tokens.get(1), '<') || is_function)
}

/// A write through a raw pointer, or a mutable reference that is made of one.
fn is_raw_write(tokens: &[TokenTree]) -> bool {
    let begins_with_star = |token| {
        let inside = group(token, Parenthesis);
        inside.is_some_and(|inside| is_sign(inside.first(), '*'))
    };
    let has_arguments = |token| group(token, Parenthesis).map(|inside| !inside.is_empty());
    let name = word(tokens.first()).unwrap_or_default();
    // `(*pointer).field = value`
    begins_with_star(tokens.first()) && is_assigned_to_field(&tokens[1..])
        // `unsafe { *pointer = value }`
        || name == "unsafe"
            && group(tokens.get(1), Brace).is_some_and(|inside| is_assignment_to_target(&inside))
        // `&raw mut (*pointer).field`
        || is_sign(tokens.first(), '&')
            && is_word(tokens.get(1), "raw")
            && is_word(tokens.get(2), "mut")
            && begins_with_star(tokens.get(3))
        // `pointer.write(value)`, `pointer.as_mut()`
        || is_sign(tokens.first(), '.')
            && (is_word(tokens.get(1), "write") && has_arguments(tokens.get(2)) == Some(true)
                || is_word(tokens.get(1), "as_mut") && has_arguments(tokens.get(2)) == Some(false))
        || RAW_WRITES.iter().any(|part| name.contains(part))
        || name == "ptr"
            && is_sign(tokens.get(1), ':')
            && word(tokens.get(3)).is_some_and(|name| PTR_WRITES.iter().any(|p| name.starts_with(p)))
        // `&mut *pointer`, but not `&mut *lock.lock()`
        || is_sign(tokens.first(), '&')
            && is_word(tokens.get(1), "mut")
            && is_sign(tokens.get(2), '*')
            && !is_guard(&tokens[3..])
}

/// `.field = value`
fn is_assigned_to_field(tokens: &[TokenTree]) -> bool {
    let fields = tokens
        .chunks(2)
        .take_while(|pair| {
            let is_field = matches!(
                pair.get(1),
                Some(TokenTree::Ident(_) | TokenTree::Literal(_))
            );
            is_sign(pair.first(), '.') && is_field
        })
        .count();
    fields > 0 && is_assignment(&tokens[2 * fields..])
}

/// `*a.b = value`
fn is_assignment_to_target(tokens: &[TokenTree]) -> bool {
    let is_place =
        |token: &&TokenTree| matches!(token, TokenTree::Ident(_)) || is_sign(Some(token), '.');
    let place = tokens.iter().skip(1).take_while(is_place).count();
    is_sign(tokens.first(), '*') && place > 0 && is_assignment(&tokens[1 + place..])
}

/// `=`, `+=` and their like.
fn is_assignment(tokens: &[TokenTree]) -> bool {
    let mut sign = String::new();
    for token in tokens {
        let TokenTree::Punct(part) = token else { break };
        sign.push(part.as_char());
        if part.spacing() == Spacing::Alone {
            break;
        }
    }
    sign.ends_with('=') && !["==", "!=", "<=", ">="].contains(&&*sign)
}

/// Returns whether `lock()` is in what is left of the expression.
fn is_guard(tokens: &[TokenTree]) -> bool {
    let is_end = |token: &&TokenTree| is_sign(Some(token), ',') || is_sign(Some(token), ';');
    let end = tokens.iter().position(|t| is_end(&t));
    let expression = &tokens[..end.unwrap_or(tokens.len())];
    expression.windows(2).any(|pair| {
        is_word(pair.first(), "lock")
            && group(pair.get(1), Parenthesis).is_some_and(|inside| inside.is_empty())
    })
}

/// Something that models see: a cell of `src/sync`, or a witness.
fn is_seen(before: &[TokenTree], tokens: &[TokenTree]) -> bool {
    let name = word(tokens.first()).unwrap_or_default();
    let is_called = group(tokens.get(1), Parenthesis);
    let is_called_with_nothing = is_called.as_ref().is_some_and(Vec::is_empty);
    let is_method = is_sign(before.last(), '.');
    let on = before
        .len()
        .checked_sub(2)
        .and_then(|i| word(before.get(i)));
    match &*name {
        "note_write" => is_called.is_some(),
        "write" => {
            let is_cell = on.is_some_and(|on| ["body", "payload", "made"].contains(&&*on));
            let is_field = before.len() >= 3 && is_sign(before.get(before.len() - 3), '.');
            is_method && is_called_with_nothing && is_cell && is_field
        }
        "freed" => is_method && is_called_with_nothing,
        "with_mut" => is_method && is_called.is_some(),
        "Page" => is_word(tokens.get(3), "touch") && group(tokens.get(4), Parenthesis).is_some(),
        _ => name.contains("witness"),
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
        for (text, wanted) in [
            ("use std::cell::Cell;", &["cell -"][..]),
            ("use std::{ rc::Rc, cell::{Cell, RefCell} };", &["cell -"]),
            ("fn f(x: &core::cell::Cell<u8>) {} fn g() {}", &["cell f"]),
            ("use std::sync::{Arc, atomic::AtomicBool};", &["plain -"]),
            ("use crossbeam_utils::atomic::AtomicCell;", &["plain -"]),
            ("use std::{fmt, thread};", &["plain -"]),
            ("static mut X: u8 = 1;", &["plain -"]),
            (
                "fn f() { thread_local! { static X: u8 = 1; } }",
                &["plain f"],
            ),
            // Locks go by the name of what has them.
            ("static A: Mutex<u8> = Mutex::new(1);", &["plain A"]),
            ("struct S { a: u8, b: Arc<RwLock<u8>> }", &["plain b"]),
            (
                "global! { static A: CachePadded<Mutex<u8>> = X; }",
                &["plain A"],
            ),
            ("fn f() { let mut a = Mutex::new(1); }", &["plain a"]),
            ("fn f() { let a = Arc::new(Mutex::new(1)); }", &["plain a"]),
            (
                "fn f() -> S { S { b: CachePadded::new(Mutex::new(1)) } }",
                &["plain b"],
            ),
            ("fn f() { g(); mpsc::channel() }", &["plain f"]),
            ("use std::sync::Mutex;", &[]),
            ("fn f(a: Mutex) {}", &[]),
            ("use crate::sync::cell::Cell;", &[]),
            ("use std::sync::Arc;", &[]),
            ("// std::cell::Cell\n/// std::cell::Cell\nfn f() {}", &[]),
            ("#[cfg(test)]\nmod tests { use std::cell::Cell; }", &[]),
            (
                "mod a { #[cfg(all(test, not(loom)))] mod tests { use std::cell::Cell; } }",
                &[],
            ),
        ] {
            assert_eq!(found(text), wanted, "{text}");
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
        for (tells, found) in [
            ("witness_write(p);", &[][..]),
            ("unsafe { (*p).witness.write() };", &[]),
            ("unsafe { note_write(p) };", &[]),
            ("self.node().body.write();", &[]),
            ("Page::touch(p);", &[]),
            ("a.with_mut(|x| x);", &[]),
            ("head.freed();", &[]),
            (
                "a.write(); unnote_write(p); a.freed(1); touch(p);",
                &["raw f"],
            ),
        ] {
            assert_eq!(of_body(&format!("p.write(1); {tells}")), found, "{tells}");
        }
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
