//! The lists of statements of a file.

use super::super::places::{functions, inside};
use super::operations::{Operations, stand_in};
use super::text;
use quote::ToTokens;
use std::collections::BTreeSet;
use std::ops::Range;
use std::ptr;
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
/// their own body.
pub fn lists(file: &syn::File, source: &str, operations: &Operations) -> Vec<List> {
    let units = Units { source, operations };
    let mut lists = Vec::new();
    let mut all = functions(file);
    all.retain(|function| stand_in(function.body.to_token_stream()));
    for function in &all {
        let returns = !matches!(function.signature.output, syn::ReturnType::Default);
        let mut kept = Kept(BTreeSet::new());
        kept.visit_block(function.body);
        lists.extend(function.blocks().into_iter().map(|block| {
            let mut units = units.of(block);
            if let Some(last) = units.last_mut() {
                last.is_result = returns && last.is_value && ptr::eq(block, function.body);
                last.is_fixed |= kept.0.contains(&ptr::from_ref(block));
            }
            List {
                function: function.path(),
                lines: function.lines.clone(),
                inside: inside(block),
                units,
            }
        }));
    }
    lists
}

struct Units<'f> {
    source: &'f str,
    operations: &'f Operations,
}

impl Units<'_> {
    fn of(&self, block: &syn::Block) -> Vec<Unit> {
        let last = block.stmts.len().saturating_sub(1);
        let unit = |(i, statement)| self.unit(statement, i == last);
        block.stmts.iter().enumerate().map(unit).collect()
    }

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

/// The blocks whose last statement stays where it is.
struct Kept(BTreeSet<*const syn::Block>);

impl<'ast> Visit<'ast> for Kept {
    /// The block after an `else` must not get to its end.
    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let Some(init) = &local.init
            && let Some((_, otherwise)) = &init.diverge
            && let syn::Expr::Block(otherwise) = &**otherwise
        {
            self.0.insert(&otherwise.block);
        }
        visit::visit_local(self, local);
    }

    /// The only statement of an `if` is deleted with the `if`.
    fn visit_expr_if(&mut self, expr: &'ast syn::ExprIf) {
        if expr.else_branch.is_none() && expr.then_branch.stmts.len() == 1 {
            self.0.insert(&expr.then_branch);
        }
        visit::visit_expr_if(self, expr);
    }

    /// A block of one `unsafe` statement keeps it, too.
    fn visit_expr_unsafe(&mut self, expr: &'ast syn::ExprUnsafe) {
        if expr.block.stmts.len() == 1 {
            self.0.insert(&expr.block);
        }
        visit::visit_expr_unsafe(self, expr);
    }
}
