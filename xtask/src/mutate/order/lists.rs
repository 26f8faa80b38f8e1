//! The lists of statements of a file.

use super::super::places::{Function, functions};
use super::operations::{Operations, stand_in};
use super::text;
use quote::ToTokens;
use std::collections::BTreeSet;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A statement of a list.
#[derive(Clone, Debug)]
pub struct Unit {
    /// As it is written.
    pub text: String,
    /// True if it synchronizes with other threads.
    pub synchronizes: bool,
    /// True if it is the expression that the list evaluates to.
    pub is_value: bool,
    /// True if the function evaluates to it.
    pub is_result: bool,
    /// True if it stays where it is: an assertion for debug builds, an item, a value that is
    /// only named, a note for models alone.
    pub is_fixed: bool,
    /// True if it binds a reference or a literal: it may stand wherever it compiles.
    pub is_name: bool,
    /// True if it only counts, for reports and hints.
    pub only_counts: bool,
    /// True if it takes or gives back a lock: what is counted under it is seen at once.
    pub locks: bool,
    /// True if nothing after it runs: what is moved behind it is deleted.
    pub is_jump: bool,
    /// If it is a `match` or an `if` that looks at an operation: what is before that, the
    /// operation, and what is after it.
    pub split: Option<[String; 3]>,
    /// True if it only computes a local variable of others.
    pub is_local: bool,
    /// The variables that it binds or assigns to.
    pub binds: BTreeSet<String>,
    /// All names in it.
    pub words: BTreeSet<String>,
}

/// A list of statements in a function that synchronizes.
#[derive(Clone, Debug)]
pub struct List {
    /// The function.
    pub function: String,
    /// Its lines.
    pub lines: Range<usize>,
    /// Where the statements stand in the file's text, in bytes: what is between the braces.
    pub inside: Range<usize>,
    pub units: Vec<Unit>,
}

/// Returns the lists of statements of a file, outer ones before those in them, of functions with an operation in
/// their own body. The outermost list of one that returns `impl Trait`, as it
/// has one type only.
pub fn lists(file: &syn::File, source: &str, operations: &Operations) -> Vec<List> {
    let mut lists = Vec::new();
    for function in &functions(file) {
        let Function {
            signature, body, ..
        } = function;
        if !stand_in(body.to_token_stream()) {
            continue;
        }
        let mut blocks = Blocks {
            function,
            source,
            operations,
            found: Vec::new(),
            keeps_last: false,
        };
        let output = signature.output.to_token_stream().to_string();
        if output.split(' ').any(|word| word == "impl") {
            visit::visit_block(&mut blocks, body);
        } else {
            blocks.visit_block(body);
        }
        lists.append(&mut blocks.found);
    }
    lists
}

struct Blocks<'f> {
    function: &'f Function<'f>,
    source: &'f str,
    operations: &'f Operations,
    found: Vec<List>,
    /// True if the last statement of the next block stays where it is.
    keeps_last: bool,
}

impl Blocks<'_> {
    fn text(&self, of: &impl Spanned) -> String {
        self.source[of.span().byte_range()].to_owned()
    }

    fn synchronizes(&self, of: &impl ToTokens) -> bool {
        self.operations.are_in(of.to_token_stream())
    }

    fn unit(&self, statement: &syn::Stmt, is_last: bool) -> Unit {
        let text = self.text(statement);
        let is_value = match statement {
            syn::Stmt::Expr(_, semicolon) => semicolon.is_none(),
            syn::Stmt::Macro(call) => call.semi_token.is_none(),
            _ => false,
        };
        let only_counts = self.operations.only_count(statement);
        let is_name = text::is_name(statement);
        Unit {
            synchronizes: !only_counts && !is_name && self.synchronizes(statement),
            only_counts,
            locks: text.contains(".lock(") || text.contains("_locked("),
            is_value: is_value && is_last,
            is_result: false,
            is_fixed: text::is_fixed(statement),
            is_name,
            is_jump: text::is_jump(statement),
            split: self.split(statement, &text),
            is_local: text::is_local(statement),
            binds: text::binds(statement),
            words: text::words(statement),
            text,
        }
    }

    /// See [`Unit::split`].
    fn split(&self, statement: &syn::Stmt, text: &str) -> Option<[String; 3]> {
        let syn::Stmt::Expr(expr, _) = statement else {
            return None;
        };
        let looked_at = match expr {
            syn::Expr::Match(expr) => &expr.expr,
            syn::Expr::If(expr) => match &*expr.cond {
                syn::Expr::Let(condition) => &condition.expr,
                _ => &expr.cond,
            },
            _ => return None,
        };
        if !self.synchronizes(looked_at) {
            return None;
        }
        let start = statement.span().byte_range().start;
        let range = looked_at.span().byte_range();
        let (from, to) = (range.start - start, range.end - start);
        Some([&text[..from], &text[from..to], &text[to..]].map(str::to_owned))
    }
}

impl<'ast> Visit<'ast> for Blocks<'_> {
    fn visit_block(&mut self, block: &'ast syn::Block) {
        let last = block.stmts.len().saturating_sub(1);
        let mut units: Vec<_> = block
            .stmts
            .iter()
            .enumerate()
            .map(|(i, statement)| self.unit(statement, i == last))
            .collect();
        let returns = !matches!(self.function.signature.output, syn::ReturnType::Default);
        if let (true, true, Some(last)) = (self.found.is_empty(), returns, units.last_mut()) {
            last.is_result = last.is_value;
        }
        if let (true, Some(last)) = (std::mem::take(&mut self.keeps_last), units.last_mut()) {
            last.is_fixed = true;
        }
        let braces = block.brace_token.span;
        self.found.push(List {
            function: self.function.path(),
            lines: self.function.lines.clone(),
            inside: braces.open().byte_range().end..braces.close().byte_range().start,
            units,
        });
        visit::visit_block(self, block);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let Some(init) = &local.init else { return };
        self.visit_expr(&init.expr);
        if let Some((_, otherwise)) = &init.diverge {
            // It must not get to its end.
            self.keeps_last = true;
            self.visit_expr(otherwise);
        }
    }

    /// The only statement of an `if` is deleted with the `if`.
    fn visit_expr_if(&mut self, expr: &'ast syn::ExprIf) {
        self.visit_expr(&expr.cond);
        self.keeps_last = expr.else_branch.is_none() && expr.then_branch.stmts.len() == 1;
        self.visit_block(&expr.then_branch);
        if let Some((_, otherwise)) = &expr.else_branch {
            self.visit_expr(otherwise);
        }
    }

    /// A block of one `unsafe` statement keeps it, too.
    fn visit_expr_unsafe(&mut self, expr: &'ast syn::ExprUnsafe) {
        self.keeps_last = expr.block.stmts.len() == 1;
        self.visit_block(&expr.block);
    }

    /// Functions in it are looked at by themselves, and constants cannot be switched.
    fn visit_item(&mut self, _: &'ast syn::Item) {}

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
}
