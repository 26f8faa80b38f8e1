//! Functions, and the places in a file that can be switched.

use crate::rust;
use proc_macro2::Span;
use quote::ToTokens;
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

    /// What is between its braces, in bytes.
    pub fn inside(&self) -> Range<usize> {
        inside(self.body)
    }

    /// Its blocks, outer ones before those in them; not the outermost one if it returns `impl Trait`, as that
    /// has one type only.
    pub fn blocks(&self) -> Vec<&syn::Block> {
        let mut blocks = Blocks(Vec::new());
        blocks.visit_block(self.body);
        let output = self.signature.output.to_token_stream().to_string();
        let is_opaque = output.split(' ').any(|word| word == "impl");
        blocks.0.split_off(usize::from(is_opaque))
    }
}

/// What is between the braces of a block, in bytes.
pub fn inside(block: &syn::Block) -> Range<usize> {
    let Range { start, end } = block.span().byte_range();
    start + 1..end - 1
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
    ["test", "loom", "any(releasepool_shuttle"]
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

/// A place that can be switched: the statements between two braces, or what a closure outside of functions
/// evaluates to.
pub struct Place {
    pub function: String,
    /// The lines of the function.
    pub lines: Range<usize>,
    /// What is switched, in bytes.
    pub inside: Range<usize>,
}

/// Returns all places of a file, outer ones before those in them.
pub fn places(file: &syn::File) -> Vec<Place> {
    let mut found = Vec::new();
    for function in &functions(file) {
        found.extend(function.blocks().into_iter().map(|block| Place {
            function: function.path(),
            lines: function.lines.clone(),
            inside: inside(block),
        }));
    }
    let mut closures = Closures(Vec::new());
    closures.visit_file(file);
    found.append(&mut closures.0);
    found
}

/// Returns the innermost place that holds a span.
pub fn innermost<'p>(places: &'p [Place], span: &Range<usize>) -> Option<&'p Place> {
    let holds = |place: &&Place| place.inside.start <= span.start && span.end <= place.inside.end;
    places
        .iter()
        .filter(holds)
        .min_by_key(|place| place.inside.len())
}

/// Returns the text of a place in which something else stands instead of `span`.
pub fn replaced(text: &str, place: &Range<usize>, span: &Range<usize>, with: &str) -> String {
    [
        &text[place.start..span.start],
        with,
        &text[span.end..place.end],
    ]
    .concat()
}

struct Blocks<'f>(Vec<&'f syn::Block>);

impl<'ast> Visit<'ast> for Blocks<'ast> {
    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.0.push(block);
        visit::visit_block(self, block);
    }

    /// Functions in it are looked at by themselves, and constants cannot be switched.
    fn visit_item(&mut self, _: &'ast syn::Item) {}

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
}

/// Closures in constants and statics.
struct Closures(Vec<Place>);

impl<'ast> Visit<'ast> for Closures {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_checks(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    /// Those in functions stand in their blocks.
    fn visit_block(&mut self, _: &'ast syn::Block) {}

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        let span = closure.body.span();
        self.0.push(Place {
            function: "-".to_owned(),
            lines: span.start().line..span.end().line + 1,
            inside: span.byte_range(),
        });
    }
}
