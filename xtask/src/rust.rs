//! Source files, and their words: names, signs and brackets, one after the other. Arguments of macros are
//! tokens and no more, so what is looked for everywhere is looked for in words.

use crate::command::working_files;
use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};
use quote::ToTokens;

/// The Rust files below a folder, sorted.
pub fn files(folder: &str) -> Result<Vec<String>, String> {
    let mut files = working_files()?;
    let is_below = |file: &str| {
        file.strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    files.retain(|file| is_below(file) && file.ends_with(".rs"));
    files.sort();
    Ok(files)
}

/// Returns whether a file of `src/` is a module of tests, by its name.
pub fn is_test_file(path: &str) -> bool {
    path.ends_with("_tests.rs")
}

/// Returns whether a file of `src/` is neither the door to what models see, nor for models or tests alone.
pub fn is_for_all(path: &str) -> bool {
    let apart = [
        "src/sync.rs",
        "src/sync/",
        "src/model.rs",
        "src/model/",
        "src/compile_fail_tests",
    ];
    !apart.iter().any(|start| path.starts_with(start)) && !is_test_file(path)
}

pub fn parse(path: &str, text: &str) -> Result<syn::File, String> {
    syn::parse_file(text).map_err(|e| {
        let at = e.span().start();
        format!("{path}:{}:{}: {e}", at.line, at.column + 1)
    })
}

/// The tokens of a file without its test modules.
pub fn tokens(mut file: syn::File) -> TokenStream {
    drop_tests(&mut file.items);
    file.into_token_stream()
}

fn drop_tests(items: &mut Vec<syn::Item>) {
    items.retain(|item| !matches!(item, syn::Item::Mod(item) if is_for_tests(&item.attrs)));
    for item in items {
        if let syn::Item::Mod(syn::ItemMod {
            content: Some((_, items)),
            ..
        }) = item
        {
            drop_tests(items);
        }
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    is_for("test", attributes)
}

/// `#[cfg(name)]` or `#[cfg(all(name, ...))]`.
pub fn is_for(name: &str, attributes: &[syn::Attribute]) -> bool {
    let starts = ["", "all("].map(|all| format!("cfg({all}{name}"));
    attributes.iter().any(|attribute| {
        let text = attribute
            .meta
            .to_token_stream()
            .to_string()
            .replace(' ', "");
        starts.iter().any(|start| text.starts_with(start))
    })
}

/// The names in each `Model: a, b` of these comments, each list on one line.
pub fn models_in(comments: &str) -> impl Iterator<Item = &str> {
    comments.split("Model: ").skip(1).flat_map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || "_, ".contains(c)));
        let names = &rest[..end.unwrap_or(rest.len())];
        names.split([',', ' ']).filter(|name| !name.is_empty())
    })
}

/// Signs that are one word.
const SIGNS: [&str; 21] = [
    "<<=", ">>=", "..=", "::", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "^=", "&=",
    "|=", "->", "=>", "&&", "||", "..",
];

/// The words of a source, and where each stands there.
#[derive(Default)]
pub struct Words {
    texts: Vec<String>,
    pub spans: Vec<Span>,
}

impl Words {
    pub fn of(tokens: TokenStream) -> Self {
        let mut words = Self::default();
        words.add_all(tokens);
        words
    }

    fn add_all(&mut self, tokens: TokenStream) {
        let mut signs = String::new();
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::None => {
                            self.add_all(group.stream());
                            continue;
                        }
                    };
                    self.add(open, group.span_open());
                    self.add_all(group.stream());
                    self.add(close, group.span_close());
                }
                TokenTree::Punct(sign) => {
                    signs.push(sign.as_char());
                    if sign.spacing() == Spacing::Alone || sign.as_char() == '\'' {
                        self.add_signs(&std::mem::take(&mut signs), sign.span());
                    }
                }
                other => self.add(&other.to_string(), other.span()),
            }
        }
    }

    fn add(&mut self, text: &str, at: Span) {
        self.texts.push(text.to_owned());
        self.spans.push(at);
    }

    /// Splits signs without spaces between them.
    fn add_signs(&mut self, mut signs: &str, at: Span) {
        while !signs.is_empty() {
            let known = SIGNS.iter().find(|sign| signs.starts_with(**sign));
            let (sign, rest) = signs.split_at(known.map_or(1, |sign| sign.len()));
            self.add(sign, at);
            signs = rest;
        }
    }

    pub fn texts(&self) -> Vec<&str> {
        self.texts.iter().map(String::as_str).collect()
    }

    /// The line of a word, from 1.
    pub fn line(&self, at: usize) -> usize {
        self.spans[at].start().line
    }
}

/// Returns whether a word is a name, and no sign or literal: `b'x'`.
pub fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !word.contains(['"', '\''])
}

/// The place of the bracket that closes the one at the beginning.
pub fn closing(words: &[&str]) -> usize {
    let mut depth = 0;
    let closes = |word: &&str| {
        depth += depth_of(word);
        depth == 0
    };
    words.iter().position(closes).unwrap_or(words.len())
}

/// How much deeper in brackets what follows a word is.
pub fn depth_of(word: &str) -> isize {
    match word {
        "(" | "[" | "{" => 1,
        ")" | "]" | "}" => -1,
        _ => 0,
    }
}

/// Returns for each word the item of this kind (`fn`, `mod`) that it stands in: the innermost, by the
/// place of the word `kind`, which the item's name follows.
pub fn items(words: &[&str], kind: &str) -> Vec<Option<usize>> {
    let (mut depth, mut open, mut found) = (0, Vec::<(usize, isize)>::new(), Vec::new());
    for (i, word) in words.iter().enumerate() {
        found.push(open.last().map(|&(start, _)| start));
        if *word == kind && words.get(i + 1).is_some_and(|name| is_name(name)) {
            open.push((i, depth));
        }
        depth += depth_of(word);
        // Its body ends, it has none, or what is around it ends.
        let ends =
            |&(_, of): &(usize, isize)| depth < of || depth == of && ["}", ";"].contains(word);
        while open.pop_if(|item| ends(item)).is_some() {}
    }
    found
}

/// Returns the names of the modules in this file that a word stands in; `mods` are its [`items`].
pub fn modules(words: &[&str], mods: &[Option<usize>], at: usize) -> Vec<String> {
    let Some(start) = mods[at] else {
        return Vec::new();
    };
    let around = modules(words, mods, start);
    around
        .into_iter()
        .chain([words[start + 1].to_owned()])
        .collect()
}

/// Returns all paths, `a::{b, c}` as two, each with the places of its first word and its last.
pub fn paths<'w>(words: &[&'w str]) -> Vec<(usize, usize, Vec<&'w str>)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < words.len() {
        at = if is_name(words[at]) {
            follow(words, (at, at), Vec::new(), &mut found)
        } else {
            at + 1
        };
    }
    found
}

/// Follows a path from its part at `at.1`; returns where it ends.
fn follow<'w>(
    words: &[&'w str],
    at: (usize, usize),
    mut path: Vec<&'w str>,
    found: &mut Vec<(usize, usize, Vec<&'w str>)>,
) -> usize {
    let (first, last) = at;
    match words.get(last) {
        Some(&"{") if !path.is_empty() => {
            let end = last + closing(&words[last..]);
            let mut part = last + 1;
            while part < end {
                part = match words[part] {
                    "," => part + 1,
                    _ => follow(words, (first, part), path.clone(), found),
                };
            }
            end + 1
        }
        Some(word) if is_name(word) => {
            path.push(word);
            match words.get(last + 1) {
                Some(&"::") => follow(words, (first, last + 2), path, found),
                _ => {
                    found.push((first, last, path));
                    last + 1
                }
            }
        }
        // `*`, or `<` before generic arguments.
        _ => {
            found.push((first, last.min(words.len() - 1), path));
            last + 1
        }
    }
}

/// A call: `receiver.name(arguments)`, `qualifier::name(arguments)` or `name(arguments)`.
#[derive(Debug, PartialEq, Eq)]
pub struct Call<'w> {
    pub name: &'w str,
    /// The place of the name.
    pub at: usize,
    pub on: On<'w>,
    pub arguments: Vec<&'w str>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum On<'w> {
    /// A method; of what it is called on, the last name that is written.
    Receiver(Option<&'w str>),
    Path(&'w str),
    Nothing,
}

pub fn calls<'a, 'w>(words: &'a [&'w str]) -> impl Iterator<Item = Call<'w>> + 'a {
    (0..words.len()).filter_map(|at| call(words, at))
}

fn call<'w>(words: &[&'w str], at: usize) -> Option<Call<'w>> {
    let name = words[at];
    let open = after_generics(words, at + 1);
    if !is_name(name) || words.get(open) != Some(&"(") {
        return None;
    }
    let on = match at.checked_sub(1).map(|before| words[before]) {
        Some(".") => On::Receiver(last_name(&words[..at - 1])),
        Some("::") => On::Path(last_name(&words[..at - 1])?),
        Some("fn") => return None,
        _ => On::Nothing,
    };
    let arguments = words[open + 1..open + closing(&words[open..])].to_vec();
    Some(Call {
        name,
        at,
        on,
        arguments,
    })
}

/// Past `::<...>`, if that is there.
fn after_generics(words: &[&str], at: usize) -> usize {
    if !matches!(words.get(at..), Some(["::", "<", ..])) {
        return at;
    }
    let mut depth = 0;
    let closes = |word: &&str| {
        depth += isize::from(*word == "<") - isize::from(*word == ">");
        depth == 0
    };
    let end = words[at + 1..].iter().position(closes);
    end.map_or(at, |end| at + end + 2)
}

/// The last name in an expression: of `a.b`, `a.b()`, `b[i]` and `b()?` it is `b`.
fn last_name<'w>(words: &[&'w str]) -> Option<&'w str> {
    let mut depth = 0;
    for &word in words.iter().rev() {
        depth -= depth_of(word);
        match word {
            _ if depth < 0 => return None,
            "?" | ">" | "<" | "::" | ":" | ")" | "]" | "}" | "(" | "[" | "{" => {}
            _ if depth > 0 => {}
            name if is_name(name) => return Some(name),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_with_what_they_are_called_on() {
        for (text, wanted) in [
            ("self.shared.inbox.push(f(x))", "inbox.push, f"),
            ("a.inbox()?.take()", "a.inbox, inbox.take"),
            ("Queue::new()", "Queue::new"),
            ("v[1].load(y)", "v.load"),
            ("assert!(a.load(Ordering::Relaxed) == 0)", "a.load"),
            ("b.cast::<Vec<T>>()", "b.cast"),
            ("fn f() { (g)(); }", ""),
        ] {
            let words = Words::of(text.parse().unwrap());
            let name = |call: Call<'_>| match call.on {
                On::Receiver(on) => format!("{}.{}", on.unwrap_or_default(), call.name),
                On::Path(on) => format!("{on}::{}", call.name),
                On::Nothing => call.name.to_owned(),
            };
            let found: Vec<_> = calls(&words.texts()).map(name).collect();
            assert_eq!(found.join(", "), wanted);
        }
    }
}
