//! The atomic operations that are written in a source file: calls of an operation's name with an
//! `Ordering::` among the arguments. Those in macros' arguments are found as well, so tokens are
//! looked at, of which all but the tests are left.

use super::order::operations::{ATOMIC, FENCE};
use crate::rust;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// One atomic operation, as it stands in the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Written {
    /// From the root of the package, with slashes.
    pub file: String,
    pub line: usize,
    /// Of the operation's name, from 1: what `#[track_caller]` gives.
    pub column: usize,
    /// The function that it is in.
    pub function: String,
    pub operation: String,
    /// One, or those of success and failure.
    pub orderings: Vec<String>,
    /// The models that the comment above it names.
    pub models: Vec<String>,
}

/// The atomic operations in one file, in the order in which they stand there.
///
/// # Errors
/// If it is no Rust.
pub fn written(file: &str, text: &str) -> Result<Vec<Written>, String> {
    let parsed = rust::parse(file, text)?;
    let mut search = Search {
        file,
        text,
        after_last: 0,
        found: Vec::new(),
    };
    search.walk(rust::tokens(parsed), "");
    Ok(search.found)
}

struct Search<'s> {
    file: &'s str,
    text: &'s str,
    /// Where the last operation or function begins: comments are read from there on.
    after_last: usize,
    found: Vec<Written>,
}

impl Search<'_> {
    fn walk(&mut self, tokens: TokenStream, function: &str) {
        let outside = function;
        let mut function = function.to_owned();
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) if word == "fn" => {
                    if let Some(TokenTree::Ident(name)) = tokens.peek() {
                        function = name.to_string();
                        self.after_last = name.span().byte_range().start;
                    }
                }
                TokenTree::Ident(word) => {
                    if let Some(arguments) = arguments(&word, tokens.peek()) {
                        self.add(&word, &function, orderings(&arguments));
                    }
                }
                TokenTree::Group(group) => {
                    self.walk(group.stream(), &function);
                    if group.delimiter() == Delimiter::Brace {
                        function = outside.to_owned();
                    }
                }
                TokenTree::Punct(sign) if sign.as_char() == ';' => function = outside.to_owned(),
                _ => {}
            }
        }
    }

    fn add(&mut self, operation: &Ident, function: &str, orderings: Vec<String>) {
        if orderings.is_empty() {
            return;
        }
        let (at, start) = (
            operation.span().start(),
            operation.span().byte_range().start,
        );
        self.found.push(Written {
            file: self.file.to_owned(),
            line: at.line,
            column: at.column + 1,
            function: function.to_owned(),
            operation: operation.to_string(),
            orderings,
            models: models(&self.text[self.after_last..start]),
        });
        self.after_last = start;
    }
}

/// The arguments, if `word` is the name of an operation and `next` are its arguments.
fn arguments(word: &Ident, next: Option<&TokenTree>) -> Option<Vec<TokenTree>> {
    let is_operation = word == FENCE || ATOMIC.iter().any(|name| word == name);
    rust::group(next, Delimiter::Parenthesis).filter(|_| is_operation)
}

/// The names behind `Ordering::`, but for those of operations among the arguments.
fn orderings(arguments_of: &[TokenTree]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = arguments_of.get(at) {
        at += 1;
        match token {
            TokenTree::Ident(word) if word == "Ordering" => {
                let is_colon = |i| rust::is_sign(arguments_of.get(i), ':');
                if is_colon(at) && is_colon(at + 1) {
                    found.extend(rust::word(arguments_of.get(at + 2)));
                }
            }
            TokenTree::Ident(word) if arguments(word, arguments_of.get(at)).is_some() => at += 1,
            TokenTree::Group(group) => {
                found.extend(orderings(&group.stream().into_iter().collect::<Vec<_>>()));
            }
            _ => {}
        }
    }
    found
}

/// The names in the last `Model: a, b.` of these lines.
fn models(text: &str) -> Vec<String> {
    let Some((_, rest)) = text.rsplit_once("Model: ") else {
        return Vec::new();
    };
    let names = rest.lines().next().unwrap_or("").trim_end_matches('.');
    names.split(", ").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line and column that `#[track_caller]` gives.
    #[track_caller]
    fn load(_: std::sync::atomic::Ordering) -> (usize, usize) {
        let at = std::panic::Location::caller();
        (at.line() as usize, at.column() as usize)
    }

    #[test]
    fn places_are_those_that_track_caller_gives() {
        use std::sync::atomic::Ordering;
        #[rustfmt::skip]
        let given = [
            load(Ordering::Relaxed),
            /* ≥ 1 */ load(Ordering::Acquire),
            Some(Ordering::SeqCst).map(|_| load(Ordering::SeqCst)).unwrap(),
        ];
        // So that these tests are not left out.
        let text = include_str!("written.rs").replace("#[cfg(test)]", "            ");
        let all = written("written.rs", &text).unwrap().into_iter();
        let of_this = all.filter(|w| w.function == "places_are_those_that_track_caller_gives");
        assert!(of_this.map(|w| (w.line, w.column)).eq(given));
    }

    #[test]
    fn operations_are_found_wherever_they_stand() {
        for (text, wanted) in [
            (
                "fn a() { x.compare_exchange(1, f(2), Ordering::AcqRel, a::Ordering::Acquire); }",
                "a compare_exchange AcqRel Acquire",
            ),
            (
                "fn a() { fn b() { fence(Ordering::Release); } assert!(x.load(Ordering::Relaxed)); }",
                "b fence Release, a load Relaxed",
            ),
            (
                "impl A { fn c(&self) -> [u8; 2]; fn d(&self) { x.swap(1, Ordering::AcqRel) } }",
                "d swap AcqRel",
            ),
            (
                "global! { static X: A = y.load(Ordering::Relaxed); }",
                " load Relaxed",
            ),
            // Each has its own orderings.
            (
                "fn f() { a.store(b.load(Ordering::Acquire), Ordering::Release); }",
                "f store Release, f load Acquire",
            ),
            // These only look like operations.
            ("fn f() { v.swap(1, 2); file.load(path); }", ""),
            (
                "fn f() { other(Ordering::Relaxed); let load = Ordering::Relaxed; }",
                "",
            ),
            (
                "// x.load(Ordering::Relaxed)\nfn f() { \"x.load(Ordering::Relaxed)\"; }",
                "",
            ),
            (
                "#[cfg(test)]\nmod tests { fn f() { x.load(Ordering::Relaxed); } }",
                "",
            ),
            (
                "#[cfg(all(test, not(loom)))]\nmod m { fn f() { x.load(Ordering::Relaxed); } }",
                "",
            ),
        ] {
            let found = written("a.rs", text).unwrap().into_iter();
            let found =
                found.map(|w| format!("{} {} {}", w.function, w.operation, w.orderings.join(" ")));
            assert_eq!(found.collect::<Vec<_>>().join(", "), wanted);
        }
    }

    #[test]
    fn models_are_those_of_the_comment_above() {
        let text = "
            // Model: none.
            fn f() {
                // Acquire: why. Model: one, two.
                x.load(Ordering::Acquire);
                x.load(Ordering::Acquire);
            }
            fn g() { x.load(Ordering::Acquire); }
        ";
        let models = written("a.rs", text).unwrap().into_iter().map(|w| w.models);
        assert!(models.eq([vec!["one", "two"], vec![], vec![]]));
    }
}
