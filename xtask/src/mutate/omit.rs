//! Mutants that leave something out, in all functions: the bugs that a reviewer looks for by hand.
//!
//! * a term of a sum, a test of a conjunction, a filter, a bound;
//! * all but the first of several: managers, stacks, threads, turns of a loop;
//! * reading anew: what each turn of a loop reads is read once before it;
//! * one lock for one decision: it is given up and taken again in between.

use super::mutant::Kind;
use super::order::text::{short, words};
use super::places::{Place, functions, innermost, places, replaced};
use super::switched::{Edit, Program};
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Methods whose receiver is more without them.
const PARTS: &[&str] = &[
    "chain",
    "filter",
    "max",
    "min",
    "saturating_add",
    "wrapping_add",
    "saturating_sub",
];

/// Methods that go through several.
#[rustfmt::skip]
const THROUGH: &[&str] = &[
    "all", "any", "count", "extend", "filter", "filter_map", "find", "find_map", "flat_map", "fold",
    "for_each", "inspect", "map", "position", "sum",
];

/// Adds the mutants of this kind of all files.
pub fn add(program: &mut Program) {
    for source in 0..program.sources.len() {
        let file = &program.sources[source];
        let places = places(&file.parsed);
        let mut found = Found {
            text: &file.text,
            changes: Vec::new(),
        };
        for function in functions(&file.parsed) {
            found.visit_block(function.body);
        }
        found.in_tables(&file.parsed);
        let edit = |(span, what, with): (Range<usize>, String, String)| {
            let Place {
                function,
                lines,
                inside,
            } = innermost(&places, &span)?;
            let edit = Edit {
                kind: Kind::Omit,
                function: function.clone(),
                lines: lines.clone(),
                what,
                text: replaced(&file.text, inside, &span, &with),
            };
            Some((inside.clone(), edit))
        };
        let edits: Vec<_> = found.changes.into_iter().filter_map(edit).collect();
        for (inside, edit) in edits {
            program.add(source, inside, edit);
        }
    }
}

struct Found<'s> {
    text: &'s str,
    /// What is replaced, in bytes; the change; and what stands there instead.
    changes: Vec<(Range<usize>, String, String)>,
}

impl Found<'_> {
    fn of(&self, part: &impl Spanned) -> &str {
        &self.text[part.span().byte_range()]
    }

    fn change(&mut self, part: &impl Spanned, what: String, with: String) {
        self.changes.push((part.span().byte_range(), what, with));
    }

    /// Closures of tables; those in functions are found there.
    fn in_tables(&mut self, file: &syn::File) {
        struct Tables<'f, 's>(&'f mut Found<'s>);
        impl<'ast> Visit<'ast> for Tables<'_, '_> {
            fn visit_block(&mut self, _: &'ast syn::Block) {}
            fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
                self.0.visit_expr(&closure.body);
            }
        }
        Tables(self).visit_file(file);
    }

    fn binary(&mut self, expr: &syn::ExprBinary) {
        use syn::BinOp::{Add, AddAssign, And, BitOr, BitOrAssign, Or};
        let [left, right] = [&expr.left, &expr.right].map(|side| self.of(side).to_owned());
        let sign = self.of(&expr.op).to_owned();
        let binds = |side: &syn::Expr| matches!(side, syn::Expr::Let(_));
        match expr.op {
            And(_) | Or(_) | Add(_) | BitOr(_) => {
                if !binds(&expr.right) {
                    let what = format!("leave out: {sign} {}", short(&right));
                    self.change(expr, what, left.clone());
                }
                if !binds(&expr.left) && !has_binding(&expr.left) {
                    let what = format!("leave out: {} {sign}", short(&left));
                    self.change(expr, what, right);
                }
            }
            AddAssign(_) | BitOrAssign(_) => {
                let what = format!("leave out: {}", short(self.of(expr)));
                self.change(expr, what, "()".to_owned());
            }
            _ => {}
        }
    }

    fn method(&mut self, call: &syn::ExprMethodCall) {
        let method = call.method.to_string();
        let receiver = self.of(&call.receiver).to_owned();
        if PARTS.contains(&&*method) && call.args.len() == 1 {
            let argument = short(self.of(&call.args));
            let what = format!("leave out: {method}({argument})");
            self.change(call, what, receiver.clone());
        }
        let is_through = |expr: &syn::Expr| matches!(expr, syn::Expr::MethodCall(of) if THROUGH.contains(&&*of.method.to_string()));
        if THROUGH.contains(&&*method) && !is_through(&call.receiver) {
            if method != "extend" {
                self.only_first(&call.receiver, "");
            } else if let Some(argument) = call.args.first() {
                self.only_first(argument, ".into_iter()");
            }
        }
    }

    /// This does not compile for an `Option`, which has no second one.
    fn only_first(&mut self, several: &syn::Expr, iterated: &str) {
        let text = self.of(several);
        let what = format!("only the first: {}", short(text));
        let with = format!("crate::mutants::Several::only_first(({text}){iterated})");
        self.change(several, what, with);
    }

    /// What each turn of a loop names is read once, before it.
    fn hoists(&mut self, whole: &syn::Expr, body: &syn::Block) {
        let is_read = |statement: &&syn::Stmt| {
            let syn::Stmt::Local(of) = statement else {
                return false;
            };
            let reads = of.init.as_ref().is_some_and(|init| init.diverge.is_none());
            reads && !super::order::text::is_name(statement)
        };
        let loops = self.of(whole).to_owned();
        let start = whole.span().byte_range().start;
        for read in body.stmts.iter().filter(is_read) {
            let range = read.span().byte_range();
            let rest = [&loops[..range.start - start], &loops[range.end - start..]].concat();
            let text = self.of(read).to_owned();
            let what = format!("hoist: {} out of its loop", short(&text));
            self.change(whole, what, format!("{{ {text}\n{rest} }}"));
        }
    }

    /// A lock that a statement holds is given up before a later one that uses it, and taken again.
    fn locks(&mut self, block: &syn::Block) {
        for (i, statement) in block.stmts.iter().enumerate() {
            let text = self.of(statement).to_owned();
            let syn::Stmt::Local(local) = statement else {
                continue;
            };
            let syn::Pat::Ident(name) = &local.pat else {
                continue;
            };
            let name = name.ident.to_string();
            let Some(init) = &local.init else { continue };
            let value = self.of(&init.expr);
            let is_lock = [".lock()", "_locked()"]
                .iter()
                .any(|call| value.ends_with(call));
            if !is_lock {
                continue;
            }
            let uses = block.stmts[i + 1..]
                .iter()
                .filter(|later| words(later).contains(&name));
            // The first use is in the same moment.
            for later in uses.skip(1) {
                let use_of_it = self.of(later).to_owned();
                let what = format!(
                    "two locks: {} again before {}",
                    short(&text),
                    short(&use_of_it)
                );
                self.change(later, what, format!("drop({name});\n{text}\n{use_of_it}"));
            }
        }
    }
}

/// Returns whether a chain of conditions binds something.
fn has_binding(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(of) => has_binding(&of.left) || has_binding(&of.right),
        _ => false,
    }
}

/// Returns whether a loop may be left, or begun anew, from within.
fn jumps(text: &str) -> bool {
    text.contains("break") || text.contains("continue")
}

impl<'ast> Visit<'ast> for Found<'_> {
    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        self.binary(expr);
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.method(call);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        match expr {
            syn::Expr::ForLoop(of) => {
                self.only_first(&of.expr, ".into_iter()");
                self.hoists(expr, &of.body);
            }
            syn::Expr::While(of) => {
                let text = self.of(of).to_owned();
                if of.label.is_none() && !jumps(&text) {
                    let what = format!("only the first turn: {}", short(&text));
                    self.change(of, what, text.replacen("while", "if", 1));
                }
                self.hoists(expr, &of.body);
            }
            syn::Expr::Loop(of) => self.hoists(expr, &of.body),
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.locks(block);
        visit::visit_block(self, block);
    }

    /// Functions in it are looked at by themselves, and constants cannot be switched.
    fn visit_item(&mut self, _: &'ast syn::Item) {}

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that these are the mutants of a function with this body: what stands instead of what.
    #[track_caller]
    fn becomes(body: &str, wanted: &[(&str, &str)]) {
        let text = format!("fn f() {{ {body} }}");
        let file = syn::parse_file(&text).unwrap();
        let mut found = Found {
            text: &text,
            changes: Vec::new(),
        };
        found.visit_block(functions(&file)[0].body);
        let changes = found.changes.iter();
        let pairs: Vec<_> = changes
            .map(|(range, _, with)| {
                (
                    &text[range.clone()],
                    with.lines().collect::<Vec<_>>().join(" "),
                )
            })
            .collect();
        let pairs: Vec<_> = pairs.iter().map(|(from, to)| (*from, &**to)).collect();
        assert_eq!(pairs, wanted);
    }

    #[test]
    fn terms_and_tests_are_left_out() {
        becomes("a + b;", &[("a + b", "a"), ("a + b", "b")]);
        becomes("x += a();", &[("x += a()", "()")]);
        becomes(
            "if let Some(x) = y && z {}",
            &[("let Some(x) = y && z", "let Some(x) = y")],
        );
        becomes("a.chain(b);", &[("a.chain(b)", "a")]);
    }

    #[test]
    fn only_the_first_of_several_is_left() {
        let first = |of: &str| format!("crate::mutants::Several::only_first({of})");
        let listed = first("(all).into_iter()");
        becomes("for x in all {}", &[("all", &listed)]);
        becomes("a.extend(all);", &[("all", &listed)]);
        let chained = first("(a.iter())");
        becomes("a.iter().map(f).sum();", &[("a.iter()", &chained)]);
        becomes(
            "while a() { b(); }",
            &[("while a() { b(); }", "if a() { b(); }")],
        );
        becomes("while a() { break; }", &[]);
    }

    #[test]
    fn reads_are_hoisted_out_of_loops() {
        becomes(
            "loop { let x = list(); let y = 1; b(x, y); }",
            &[(
                "loop { let x = list(); let y = 1; b(x, y); }",
                "{ let x = list(); loop {  let y = 1; b(x, y); } }",
            )],
        );
    }

    #[test]
    fn a_lock_is_given_up_between_two_uses() {
        becomes(
            "let a = x.lock(); f(&a); g(); h(&a);",
            &[("h(&a);", "drop(a); let a = x.lock(); h(&a);")],
        );
    }
}
