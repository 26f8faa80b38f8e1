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

/// The local variables and fields that a statement mentions; and `self`, unless it stands only before the
/// name of a field.
pub fn names(statement: &syn::Stmt) -> BTreeSet<String> {
    let words = Words::of(statement.to_token_stream());
    let words = words.texts();
    let is_name = |at: &usize| {
        let is_variable = rust::is_name(words[*at]) && !words[*at].starts_with(char::is_uppercase);
        let is_other = match words[*at..] {
            // A function, a path, `self` before the name of a field.
            [_, "(" | "::", ..] => true,
            ["self", ".", _, next, ..] => next != "(",
            ["self", ".", _] => true,
            [word, ..] => KEYWORDS.contains(&word),
            [] => true,
        };
        is_variable && !is_other
    };
    let names = (0..words.len()).filter(is_name);
    names.map(|at| words[at].to_owned()).collect()
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

/// Returns whether a statement stays where it is.
pub fn is_fixed(statement: &syn::Stmt) -> bool {
    let is_assertion = |call: &syn::StmtMacro| {
        let name = call.mac.path.segments.last();
        name.is_some_and(|name| name.ident.to_string().starts_with("debug_assert"))
    };
    match statement {
        syn::Stmt::Item(_) => true,
        syn::Stmt::Macro(call) => is_assertion(call),
        _ => is_named_value(statement) || is_for_models(statement) || is_for_spans(statement),
    }
}

/// Returns whether a statement begins or ends a span, which does nothing without the feature `tracing`.
fn is_for_spans(statement: &syn::Stmt) -> bool {
    let text = statement.to_token_stream().to_string();
    text.starts_with("let span = ") || text.starts_with("span . end")
}

/// Returns whether a statement binds a reference to a place, a literal or a closure:
/// `let x = &self.x;`.
pub fn is_name(statement: &syn::Stmt) -> bool {
    let syn::Stmt::Local(local) = statement else {
        return false;
    };
    match local.init.as_ref().map(|init| &*init.expr) {
        Some(syn::Expr::Lit(_) | syn::Expr::Closure(_)) => true,
        Some(expr @ syn::Expr::Reference(_)) => is_place(expr),
        _ => false,
    }
}

/// Returns whether a statement is a value that is only named: `x`, `true`, `Ok(())`, `Some(x)`,
/// `ptr::null()`.
fn is_named_value(statement: &syn::Stmt) -> bool {
    let syn::Stmt::Expr(expr, None) = statement else {
        return false;
    };
    match expr {
        syn::Expr::Path(_) | syn::Expr::Lit(_) => true,
        syn::Expr::Call(call) => {
            let name = called(call);
            let is_constructor = name.starts_with(char::is_uppercase) || name.starts_with("null");
            is_constructor && call.args.iter().all(is_place_or_parts)
        }
        _ => false,
    }
}

/// The last name of the function that is called; empty if it has none.
fn called(call: &syn::ExprCall) -> String {
    match &*call.func {
        syn::Expr::Path(of) => of.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
    .unwrap_or_default()
}

/// Methods that do nothing but in models, and functions that do nothing without AddressSanitizer.
#[rustfmt::skip]
const NOTES: &[&str] = &[
    "freed", "note_read", "note_write", "note_created", "note_freed", "poison", "unpoison",
    "poison_links", "unpoison_links",
];

/// Returns whether a statement is only there for models or AddressSanitizer: a note of what happens to
/// a plain place.
fn is_for_models(statement: &syn::Stmt) -> bool {
    matches!(statement, syn::Stmt::Expr(expr, _) if is_note(expr))
}

fn is_note(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::MethodCall(call) => {
            let method = call.method.to_string();
            let is_witness = || match &*call.receiver {
                syn::Expr::Field(of) => {
                    matches!(&of.member, syn::Member::Named(name) if name == "witness" || name == "body" || name == "made")
                }
                _ => false,
            };
            let notes_each = || {
                let each = call.args.to_token_stream().to_string();
                method == "for_each" && each.starts_with("Witness ::")
            };
            notes_each()
                || call.args.is_empty()
                    && (NOTES.contains(&&*method)
                        || (method == "write" || method == "read") && is_witness())
        }
        syn::Expr::Call(call) => {
            let name = called(call);
            name.starts_with("witness_") || NOTES.contains(&&*name)
        }
        _ => false,
    }
}

/// `x`, or `S { x, y: z }`.
fn is_place_or_parts(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Struct(of) => of.fields.iter().all(|field| is_place(&field.expr)),
        _ => is_place(expr),
    }
}

fn is_place(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Path(_) | syn::Expr::Lit(_) => true,
        syn::Expr::Field(of) => is_place(&of.base),
        syn::Expr::Unary(of) => is_place(&of.expr),
        syn::Expr::Paren(of) => is_place(&of.expr),
        syn::Expr::Reference(of) => is_place(&of.expr),
        syn::Expr::Tuple(of) => of.elems.iter().all(is_place),
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
            "let x = &self.a.b; let x = &*self.0; let mut n = 0; let f = || f();",
            "let x = y; let x = &f(); x = &y;",
        );
    }

    #[test]
    fn spans_begin_and_end() {
        agrees(
            is_for_spans,
            "let span = FrameSpan::begin(n); span.end(|| n);",
            "let n = span(n);",
        );
    }

    #[test]
    fn names_are_variables_and_fields() {
        let of = |text| Vec::from_iter(names(&syn::parse_str(text).unwrap())).join(" ");
        assert_eq!(of("let n = self.list.len() + A::f(m);"), "list m n");
        assert_eq!(of("self.turn();"), "self");
    }

    #[test]
    fn values_that_are_only_named() {
        for text in "x; Ok(()); Some(x); ptr::null_mut(); Some(S { x, y: z })".split("; ") {
            agrees(is_named_value, text, "");
        }
        for text in ["Some(f(x))", "f(x)", "x.y()"] {
            agrees(is_named_value, "", text);
        }
    }

    #[test]
    fn notes_for_models() {
        agrees(
            is_for_models,
            "self.node().body.write(); self.witness.read(); head.freed(); note_write(thin); witness_write(block);
             self.links.iter().for_each(Witness::write); block_checks::unpoison(at, CHUNK_BYTES);",
            "all.iter().for_each(Chunk::write); self.stats.note_write(1); payload.write(value);
             self.body.write(1); lock.write();",
        );
    }
}
