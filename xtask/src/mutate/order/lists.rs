//! The lists of statements of a file.

use super::operations::Operations;
use super::text;
use crate::rust;
use proc_macro2::Span;
use quote::ToTokens;
use std::collections::BTreeSet;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A function with a body.
pub struct Function<'f> {
    pub name: String,
    /// The type whose `impl` it stands in.
    pub of: Option<String>,
    pub signature: &'f syn::Signature,
    pub body: &'f syn::Block,
    /// Its lines, from 1.
    pub lines: Range<usize>,
}

impl Function<'_> {
    pub fn path(&self) -> String {
        match &self.of {
            Some(of) => format!("{of}::{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The functions of a file, those in functions included; without those in macros, tests and what only
/// models use.
pub fn functions(file: &syn::File) -> Vec<Function<'_>> {
    let mut found = Functions {
        of: None,
        found: Vec::new(),
    };
    found.visit_file(file);
    found.found
}

struct Functions<'f> {
    of: Option<String>,
    found: Vec<Function<'f>>,
}

impl<'f> Functions<'f> {
    fn add(
        &mut self,
        signature: &'f syn::Signature,
        body: &'f syn::Block,
        attributes: &[syn::Attribute],
        whole: Span,
    ) {
        if !is_for_checks(attributes) {
            self.found.push(Function {
                name: signature.ident.to_string(),
                of: self.of.clone(),
                signature,
                body,
                lines: whole.start().line..whole.end().line + 1,
            });
        }
    }

    fn with(&mut self, of: Option<String>, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.of, of);
        visit(self);
        self.of = before;
    }
}

/// For tests or models alone.
fn is_for_checks(attributes: &[syn::Attribute]) -> bool {
    ["test", "loom"]
        .iter()
        .any(|name| rust::is_for(name, attributes))
}

impl<'ast> Visit<'ast> for Functions<'ast> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_checks(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if is_for_checks(&item.attrs) {
            return;
        }
        let of = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
            _ => None,
        };
        self.with(of, |this| visit::visit_item_impl(this, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let of = Some(item.ident.to_string());
        self.with(of, |this| visit::visit_item_trait(this, item));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block, &item.attrs, item.span());
        self.with(None, |this| visit::visit_item_fn(this, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block, &item.attrs, item.span());
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.add(&item.sig, body, &item.attrs, item.span());
        }
        visit::visit_trait_item_fn(self, item);
    }
}

/// A statement of a list.
#[derive(Clone, Debug)]
pub struct Unit {
    /// As it is written.
    pub text: String,
    /// True if it synchronizes with other threads.
    pub synchronizes: bool,
    /// True if it is the expression that the list evaluates to.
    pub is_value: bool,
    /// True if it stays where it is: an assertion for debug builds, an item, a value that is
    /// only named, a note for models alone.
    pub is_fixed: bool,
    /// True if it binds a reference or a literal: it may stand wherever it compiles.
    pub is_name: bool,
    /// The variables and fields that it mentions; `self`, if it may be any field.
    pub names: BTreeSet<String>,
    /// True if it only counts, for reports and hints.
    pub only_counts: bool,
    /// True if it takes or gives back a lock: what is counted under it is seen at once.
    pub locks: bool,
    /// True if nothing after it runs: what is moved behind it is deleted.
    pub is_jump: bool,
    /// If it is a `match` or an `if` that looks at an operation: what is before that, the
    /// operation, and what is after it.
    pub split: Option<[String; 3]>,
    /// If it is a loop: each value that its body names, and the loop without it.
    pub hoists: Vec<[String; 2]>,
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
/// their own body. Constant functions are left out, and the outermost list of one that returns `impl Trait`, as it
/// has one type only.
pub fn lists(file: &syn::File, source: &str, operations: &Operations) -> Vec<List> {
    let mut lists = Vec::new();
    for function in &functions(file) {
        let Function {
            signature, body, ..
        } = function;
        if signature.constness.is_some() || !operations.stand_in(body.to_token_stream()) {
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
        let this = self.function.of.as_deref();
        self.operations.are_in(of.to_token_stream(), this)
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
            is_fixed: text::is_fixed(statement),
            is_name,
            names: text::names(statement),
            is_jump: text::is_jump(statement),
            split: self.split(statement, &text),
            hoists: self.hoists(statement, &text),
            text,
        }
    }

    /// See [`Unit::hoists`].
    fn hoists(&self, statement: &syn::Stmt, text: &str) -> Vec<[String; 2]> {
        let body = match statement {
            syn::Stmt::Expr(syn::Expr::Loop(of), _) => &of.body,
            syn::Stmt::Expr(syn::Expr::While(of), _) => &of.body,
            syn::Stmt::Expr(syn::Expr::ForLoop(of), _) => &of.body,
            _ => return Vec::new(),
        };
        let start = statement.span().byte_range().start;
        let is_read = |statement: &&syn::Stmt| {
            matches!(statement, syn::Stmt::Local(of) if of.init.as_ref().is_some_and(|i| i.diverge.is_none()))
                && !text::is_name(statement)
        };
        let reads = body.stmts.iter().filter(is_read);
        let hoist = |read: &syn::Stmt| {
            let range = read.span().byte_range();
            let rest = [&text[..range.start - start], &text[range.end - start..]].concat();
            [self.text(read), rest]
        };
        reads.map(hoist).collect()
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
