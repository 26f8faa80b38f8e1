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

use crate::rust::{self, group, is_sign, is_word, line, lines_of, word};
use crate::{Outcome, read};
use proc_macro2::Delimiter::{Brace, Parenthesis};
use proc_macro2::{Spacing, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Cell,
    Plain,
    Raw,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Cell => "cell",
            Self::Plain => "plain",
            Self::Raw => "raw",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Cell => "a cell that models do not check: take it from crate::sync::cell",
            Self::Plain => "an atomic or a lock that models do not check",
            Self::Raw => "a raw write, and nothing in this function tells the models of it",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    file: String,
    line: usize,
    kind: Kind,
    /// A static, field, local variable or function; `-` outside of all.
    name: String,
}

impl Finding {
    /// As it stands in the list.
    fn key(&self) -> String {
        format!("{} {} {}", self.kind.name(), self.file, self.name)
    }
}

/// Prints all findings, listed or not.
pub fn list() -> Outcome {
    for finding in all()? {
        println!("{} {}", finding.key(), finding.line);
    }
    Ok(true)
}

pub fn check() -> Outcome {
    let complaints = complaints(&all()?, &read(LIST)?);
    for complaint in &complaints {
        println!("{complaint}");
    }
    Ok(complaints.is_empty())
}

fn all() -> Result<Vec<Finding>, String> {
    let mut found = Vec::new();
    for path in rust::files("src", "rs")? {
        if is_looked_at(&path) {
            found.extend(find(&path, &read(&path)?)?);
        }
    }
    Ok(found)
}

/// All but the door to what models see, what only models use, and tests.
fn is_looked_at(path: &str) -> bool {
    let exempt = ["src/sync", "src/model", "src/compile_fail_tests"];
    !exempt.iter().any(|start| path.starts_with(start)) && !rust::is_test_file(path)
}

/// Findings that are not in the list, and what is wrong with that.
fn complaints(found: &[Finding], list: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut listed = BTreeMap::new();
    for (i, text) in list.lines().enumerate() {
        let place = format!("{LIST}:{}", i + 1);
        let words: Vec<_> = text.split_whitespace().collect();
        match words[..] {
            [] => {}
            [first, ..] if first.starts_with('#') => {}
            [kind @ ("plain" | "raw"), file, name, ref reason @ ..] => {
                if reason.is_empty() {
                    complaints.push(format!("{place}: no reason is given"));
                }
                listed.insert(format!("{kind} {file} {name}"), place);
            }
            _ => complaints.push(format!("{place}: neither plain nor raw, a file and a name")),
        }
    }
    let mut used = BTreeSet::new();
    for finding in found {
        let key = finding.key();
        if !listed.contains_key(&key) {
            let Finding {
                file, line, name, ..
            } = finding;
            complaints.push(format!("{file}:{line}: {name}: {}", finding.kind.about()));
        }
        used.insert(key);
    }
    let unused = listed.iter().filter(|(key, _)| !used.contains(*key));
    complaints.extend(unused.map(|(_, at)| format!("{at}: nothing is found by this any more")));
    complaints
}

fn find(path: &str, text: &str) -> Result<Vec<Finding>, String> {
    let mut search = Search {
        file: path.to_owned(),
        found: Vec::new(),
        functions: vec![Function::new("-")],
    };
    search.walk(rust::tokens(rust::parse(path, text)?), None);
    search.leave();
    search.found.sort();
    // The type of a static and its value.
    search.found.dedup();
    Ok(search.found)
}

struct Search {
    file: String,
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
    fn add(&mut self, kind: Kind, name: String, line: usize) {
        let file = self.file.clone();
        self.found.push(Finding {
            file,
            line,
            kind,
            name,
        });
    }

    fn function(&mut self) -> &mut Function {
        self.functions.last_mut().expect("the outermost stays")
    }

    /// At the end of a function.
    fn leave(&mut self) {
        let function = self.functions.pop().expect("one was entered");
        if let (Some(line), false) = (function.raw, function.is_checked) {
            self.add(Kind::Raw, function.name, line);
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
        let at = line(&tokens[i]);
        let in_function = self.function().name.clone();
        for line in lines_of(rest, &[&["std", "core"], &["cell"]]) {
            self.add(Kind::Cell, in_function.clone(), line);
        }
        let atomics: [&[&[&str]]; 2] = [
            &[&["std", "core"], &["sync"], &["atomic"]],
            &[&["crossbeam_utils"], &["atomic"]],
        ];
        for line in atomics.iter().flat_map(|path| lines_of(rest, path)) {
            self.add(Kind::Plain, in_function.clone(), line);
        }
        let is_static_mut = is_word(rest.first(), "static") && is_word(rest.get(1), "mut");
        let is_local = is_word(rest.first(), "thread_local") && is_sign(rest.get(1), '!');
        if is_static_mut || is_local {
            self.add(Kind::Plain, in_function.clone(), at);
        }
        if is_lock(rest) && !is_use {
            let name = name_at(tokens, i).or(name.map(str::to_owned));
            self.add(Kind::Plain, name.unwrap_or(in_function), at);
        }
        let function = self.function();
        if is_raw_write(rest) {
            function.raw.get_or_insert(at);
        }
        function.is_checked |= is_seen(before, rest);
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
mod tests;
