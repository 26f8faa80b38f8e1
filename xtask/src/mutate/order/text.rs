//! The texts of statements, for names and to see which statements are worth moving.

use crate::rust::{self, Words};
use quote::ToTokens;
use std::collections::BTreeSet;

/// How much of a statement stands in a name.
const CUT: usize = 60;

/// A statement in a name: on one line, without `: `, which ends a name.
pub fn short(text: &str) -> String {
    let code = text.lines().map(without_comment);
    let words: Vec<&str> = code.flat_map(str::split_whitespace).collect();
    let line = words.join(" ").replace(": ", ":");
    if line.chars().count() <= CUT {
        return line;
    }
    let mut cut: String = line.chars().take(CUT).collect();
    cut.truncate(cut.trim_end().len());
    cut + ".."
}

fn without_comment(line: &str) -> &str {
    match line.find("//") {
        Some(at) if !line[..at].contains('"') => &line[..at],
        _ => line,
    }
}

/// Statements that are the same but for white space and comments have the same normal form.
pub fn normal(text: &str) -> String {
    let code = text.lines().map(without_comment);
    code.flat_map(|line| line.chars().filter(|c| !c.is_whitespace()))
        .collect()
}

/// Methods that only look at what the thread has.
#[rustfmt::skip]
pub const LOOKS: &[&str] = &[
    "len", "size", "is_null", "is_empty", "as_ptr", "as_ref", "cast", "addr", "is_some", "is_none",
    "cast_mut", "cast_const", "get", "index", "key", "checked_sub", "saturating_sub",
    "saturating_mul", "as_millis",
];

/// Methods that compute, and read nothing else.
#[rustfmt::skip]
const COMPUTES: &[&str] = &[
    "is_null", "is_some", "is_none", "cast", "cast_mut", "cast_const", "addr", "as_ptr", "min", "max",
    "checked_sub", "saturating_sub", "saturating_add", "saturating_mul", "wrapping_add", "as_millis", "null_mut",
];

/// The names of all variables, fields and functions in a statement.
pub fn words(statement: &syn::Stmt) -> BTreeSet<String> {
    let words = Words::of(statement.to_token_stream());
    let is_one = |word: &&str| {
        let is_lower = !word.starts_with(char::is_uppercase);
        rust::is_name(word) && is_lower && !KEYWORDS.contains(word) && !COMPUTES.contains(word)
    };
    let names = words.texts().into_iter().filter(is_one);
    names.map(str::to_owned).collect()
}

/// The variables that a statement binds, or assigns to.
pub fn binds(statement: &syn::Stmt) -> BTreeSet<String> {
    let words = Words::of(statement.to_token_stream());
    let words = words.texts();
    let end = match words[..] {
        ["let", ..] => words.iter().position(|word| ["=", ":"].contains(word)),
        [_, "=" | "+=" | "-=" | "|=" | "&=", ..] => Some(1),
        _ => None,
    };
    let is_variable = |word: &&&str| {
        rust::is_name(word) && word.starts_with(char::is_lowercase) && !KEYWORDS.contains(*word)
    };
    let bound = words[..end.unwrap_or(0)].iter().filter(is_variable);
    bound.map(|word| (*word).to_owned()).collect()
}

/// Returns whether a statement only computes a local variable of others: it calls, reads through, and
/// leaves nothing.
pub fn is_local(statement: &syn::Stmt) -> bool {
    let words = Words::of(statement.to_token_stream());
    let words = words.texts();
    let is_other = |word: &&str| {
        [
            "return", "break", "continue", "?", "self", "!", "[", "|", "unsafe",
        ]
        .contains(word)
    };
    let is_value = |word: &str| word.starts_with(char::is_alphanumeric) || word == ")";
    let reads = |two: &[&str]| two[1] == "*" && !is_value(two[0]);
    let calls = crate::rust::calls(&words).all(|call| COMPUTES.contains(&call.name));
    !binds(statement).is_empty()
        && calls
        && !words.iter().any(is_other)
        && !words.windows(2).any(reads)
}

const KEYWORDS: &[&str] = &[
    "as", "break", "continue", "else", "false", "for", "if", "in", "let", "loop", "match", "move",
    "mut", "ref", "return", "true", "unsafe", "while", "_",
];

/// Returns whether a statement jumps.
pub fn is_jump(statement: &syn::Stmt) -> bool {
    use syn::Expr::{Break, Continue, Return};
    matches!(
        statement,
        syn::Stmt::Expr(Return(_) | Break(_) | Continue(_), _)
    )
}

/// Methods that do nothing but in models, and functions that do nothing without AddressSanitizer.
#[rustfmt::skip]
const NOTES: &[&str] = &[
    "freed", "note_read", "note_write", "note_created", "note_freed", "poison", "unpoison",
    "poison_links", "unpoison_links",
];

/// Returns whether a statement stays where it is: an item, an assertion for debug builds, a value that is only named,
/// a span, which does nothing without the feature `tracing`, or a note for models or AddressSanitizer.
pub fn is_fixed(statement: &syn::Stmt) -> bool {
    let words = Words::of(statement.to_token_stream());
    let words = words.texts();
    match words[..] {
        _ if matches!(statement, syn::Stmt::Item(_)) => true,
        [name, "!", ..] if name.starts_with("debug_assert") => true,
        ["let", "span", "=", ..] | ["span", ".", "end", ..] => true,
        [ref note @ .., ";"] if is_note(note) => true,
        _ => is_note(&words) || is_named_value(&words),
    }
}

/// Returns whether a statement binds a reference to a place, a literal or a closure:
/// `let x = &self.x;`.
pub fn is_name(statement: &syn::Stmt) -> bool {
    let words = Words::of(statement.to_token_stream());
    let words = words.texts();
    let equals = words.iter().position(|word| *word == "=");
    match words[equals.map_or(words.len(), |at| at + 1)..] {
        _ if words[0] != "let" => false,
        ["|" | "||", ..] | ["move", "|" | "||", ..] => true,
        [literal, ";"] => !rust::is_name(literal) || ["true", "false"].contains(&literal),
        ["&", ref place @ .., ";"] | ["(", "&", ref place @ .., ")", ";"] => {
            is_place(place) && !place.windows(2).any(|two| two[0] == "," && two[1] != "&")
        }
        _ => false,
    }
}

/// A place, or several in parentheses: no calls, indices, casts or operators.
fn is_place(words: &[&str]) -> bool {
    let is_part = |word: &&str| !["as", "raw", "const", "[", "{", "+", "-"].contains(word);
    let is_call = |two: &[&str]| rust::is_name(two[0]) && two[1] == "(";
    words.iter().all(is_part) && !words.windows(2).any(is_call)
}

/// `x`, `true`, `Ok(())`, `Some(x)`, `Some(S { x, y: z })`, `ptr::null()`.
fn is_named_value(words: &[&str]) -> bool {
    let open = words
        .iter()
        .position(|word| *word == "(")
        .unwrap_or(words.len());
    let (path, arguments) = words.split_at(open);
    if path
        .iter()
        .any(|word| !rust::is_name(word) && *word != "::")
    {
        return words.len() == 1;
    }
    let name = path.last().copied().unwrap_or_default();
    let parts: Vec<_> = arguments
        .iter()
        .filter(|word| **word != "{")
        .copied()
        .collect();
    let is_constructor = name.starts_with(char::is_uppercase) || name.starts_with("null");
    arguments.is_empty() || is_constructor && arguments.ends_with(&[")"]) && is_place(&parts)
}

/// Returns whether an expression is a note of what happens to a plain place.
fn is_note(words: &[&str]) -> bool {
    match words {
        ["let" | "if" | "match" | "while", ..] => false,
        [
            ..,
            ".",
            "witness" | "body" | "made",
            ".",
            "write" | "read",
            "(",
            ")",
        ] => true,
        [.., ".", method, "(", ")"] => NOTES.contains(method),
        [.., "for_each", "(", "Witness", "::", _, ")"] => true,
        [name, "(", ..] | [_, "::", name, "(", ..] => {
            name.starts_with("witness_") || NOTES.contains(name)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a property of each statement of two blocks: those that have it, and those that have it not.
    #[track_caller]
    fn agrees(property: impl Fn(&syn::Stmt) -> bool, with: &str, without: &str) {
        for (text, has_it) in [(with, true), (without, false)] {
            let block: syn::Block = syn::parse_str(&format!("{{ {text} }}")).unwrap();
            for statement in &block.stmts {
                let text = statement.to_token_stream().to_string();
                assert_eq!(property(statement), has_it, "{text}");
            }
        }
    }

    #[test]
    fn a_name_has_no_colon_and_a_bounded_length() {
        assert_eq!(short("let x: u8 =\n    1; // why: so"), "let x:u8 = 1;");
        let long = short(&"abc ".repeat(30));
        assert!(long.len() <= CUT + 2 && long.ends_with(".."), "{long}");
    }

    #[test]
    fn names_are_references_and_literals() {
        agrees(
            is_name,
            "let x = &self.a.b; let x = &*self.0; let mut n = 0; let f = || f(); let (x, y) = (&self.a, &mut b);",
            "let x = y; let x = &f(); x = &y; let (x, y) = (&a, b);",
        );
    }

    #[test]
    fn spans_begin_and_end() {
        agrees(
            is_fixed,
            "let span = FrameSpan::begin(n); span.end(|| n);",
            "let n = span(n);",
        );
    }

    #[test]
    fn local_statements_compute() {
        agrees(
            is_local,
            "let n = m.min(3) + 1; any = true; n += 2 * m; let x = y.z;",
            "let n = f(m); self.n = 1; let n = *m; let n = m?; return; let n = m[1];",
        );
        let of = |text| Vec::from_iter(binds(&syn::parse_str(text).unwrap())).join(" ");
        assert_eq!(
            of("let Some(A { mut n, m }) = f(x) else { return };"),
            "m n"
        );
        assert_eq!(of("n += m;"), "n");
    }

    #[test]
    fn values_that_are_only_named() {
        for text in "x; Ok(()); Some(x); ptr::null_mut(); Some(S { x, y: z })".split("; ") {
            agrees(is_fixed, text, "");
        }
        for text in ["Some(f(x))", "f(x)", "x.y()"] {
            agrees(is_fixed, "", text);
        }
    }

    #[test]
    fn notes_for_models() {
        agrees(
            is_fixed,
            "self.node().body.write(); self.witness.read(); head.freed(); note_write(thin); witness_write(block);
             self.links.iter().for_each(Witness::write); block_checks::unpoison(at, CHUNK_BYTES);",
            "all.iter().for_each(Chunk::write); self.stats.note_write(1); payload.write(value);
             self.body.write(1); lock.write();",
        );
    }
}
