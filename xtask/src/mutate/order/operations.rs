//! Which statements synchronize with other threads.
//!
//! An *operation* is a call of a method of an atomic (one of [`ATOMIC`] with an `Ordering` among
//! its arguments), of [`FENCE`], of a lock, a parker, a sleeper, or a shared counter
//! ([`FACADE`]), or of foreign code. A call of a function that contains one counts, too: there are no
//! types here, so it is found by its name, unless everything has that ([`COMMON`]).

use super::super::places::functions;
use super::text::LOOKS;
use crate::rust::{Call, On, Words, calls};
use proc_macro2::TokenStream;
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;

/// Methods of atomics: operations, if an `Ordering` is among the arguments.
#[rustfmt::skip]
pub const ATOMIC: &[&str] = &[
    "load", "store", "swap", "compare_exchange", "compare_exchange_weak", "fetch_add", "fetch_sub",
    "fetch_and", "fetch_or", "fetch_xor", "fetch_max", "fetch_min", "fetch_update",
];

pub const FENCE: &str = "fence";

#[rustfmt::skip]
const FACADE: &[&str] = &[
    "lock", "park", "unpark", "sleep", "wake", "add_shared", "subtract_shared", "replace_if",
    "raise_shared",
];

/// Functions that run foreign code: it sees what was done before it, and what was not.
#[rustfmt::skip]
const FOREIGN: &[&str] = &[
    "catch", "catch_unwind", "destroy", "destroy_alike", "destroy_dead", "destroy_in_turn",
    "destroy_last", "destroy_unique", "drop_in_place", "release", "release_all", "release_few",
    "release_rest", "release_shared", "run_message", "settle", "settle_all", "settle_scope",
];

/// The types of the façade that decide nothing but what a report says, or when optional work is done.
const STATISTIC: &[&str] = &["Counter", "Hint", "LazyTimer", "CachePadded"];

/// Words that no statement that only counts contains.
const OTHER: &[&str] = &["{", "=", "return", "!", "?"];

/// Names that say nothing about what is called.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "new", "pop", "take", "get", "set", "next", "len", "is_empty", "iter", "drop", "clone", "from",
    "default", "fmt", "replace", "swap", "insert", "remove", "append", "extend", "run", "free", "add",
    "load", "store", "write", "read", "with", "find", "deref", "map", "all", "any", "count", "put",
    "leave", "close", "begin", "end", "done", "key", "name", "build", "finish",
];

#[derive(Default)]
pub struct Operations {
    /// The names of functions that contain an operation.
    functions: BTreeSet<String>,
    /// The names of fields, and whether all of them are statistics.
    fields: BTreeMap<String, bool>,
}

impl Operations {
    pub fn of<'f>(files: impl Iterator<Item = &'f syn::File>) -> Self {
        let mut this = Self::default();
        for file in files {
            this.visit_file(file);
            let all = functions(file).into_iter();
            let with_one = all.filter(|function| stand_in(function.body.to_token_stream()));
            this.functions
                .extend(with_one.map(|function| function.name));
        }
        this.functions.retain(|name| !COMMON.contains(&&**name));
        this
    }

    /// Returns whether there is an operation, or a call of a function that contains one, in `tokens`.
    pub fn are_in(&self, tokens: TokenStream) -> bool {
        let words = Words::of(tokens);
        calls(&words.texts()).any(|call| is_operation(&call) || self.functions.contains(call.name))
    }

    /// Returns whether a statement does nothing but count: every call in it is one of a method of a
    /// [`STATISTIC`], or only looks at something. Reports and hints are correct wherever it stands.
    pub fn only_count(&self, statement: &syn::Stmt) -> bool {
        let words = Words::of(statement.to_token_stream());
        let words = words.texts();
        let value = match words[..] {
            ["let", _, "=", ref value @ ..] => value,
            _ => &words,
        };
        // A value that only counts consists of calls of methods and arithmetic.
        if value.iter().any(|word| OTHER.contains(word)) {
            return false;
        }
        let counts = |call: &Call<'_>| match call.on {
            On::Receiver(Some(name)) => self.fields.get(name) == Some(&true),
            _ => false,
        };
        let looks =
            |call: &Call<'_>| matches!(call.on, On::Receiver(_)) && LOOKS.contains(&call.name);
        let others = calls(&words).filter(|call| !counts(call));
        others.into_iter().all(|call| looks(&call)) && calls(&words).any(|call| counts(&call))
    }
}

/// Returns whether there is an operation itself in `tokens`.
pub fn stand_in(tokens: TokenStream) -> bool {
    calls(&Words::of(tokens).texts()).any(|call| is_operation(&call))
}

fn is_operation(call: &Call<'_>) -> bool {
    match call.on {
        _ if FOREIGN.contains(&call.name) => true,
        On::Receiver(_) if FACADE.contains(&call.name) => true,
        On::Receiver(_) => ATOMIC.contains(&call.name) && call.arguments.contains(&"Ordering"),
        _ => call.name == FENCE,
    }
}

impl<'ast> Visit<'ast> for Operations {
    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            let words = Words::of(field.ty.to_token_stream());
            let words = words.texts().into_iter();
            let mut types = words.filter(|word| word.starts_with(char::is_uppercase));
            let is_one = types.all(|of| STATISTIC.contains(&of));
            *self.fields.entry(name.to_string()).or_insert(true) &= is_one;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations_of(source: &str) -> Operations {
        let file = syn::parse_file(source).unwrap();
        Operations::of([&file].into_iter())
    }

    #[test]
    fn statements_that_only_count() {
        let source = "struct A { made: Counter, seen: Hint, size: AtomicU64, both: Counter }
                      struct B { both: AtomicU64 }";
        let operations = operations_of(source);
        let only_counts = |text: &&str| operations.only_count(&syn::parse_str(text).unwrap());
        let yes =
            "self.made.add(1); A.made.add_shared(self.made.take()); self.seen.set(list.len());
                   let n = self.made.get(); self.made.get() + self.seen.get();";
        assert_eq!(
            yes.split_inclusive(';').find(|text| !only_counts(text)),
            None
        );
        let no = "self.made.add(f()); self.size.store(1, Ordering::Relaxed); self.both.add(1); list.len();";
        assert_eq!(no.split_inclusive(';').find(only_counts), None);
        assert!(!only_counts(
            &"let Some(n) = self.made.get() else { return };"
        ));
    }

    #[test]
    fn operations_are_known_by_their_names() {
        let source = "impl Inbox {
                fn push(&self) { self.head.swap(x, Ordering::Release); }
                fn take(&self) { self.head.swap(x, Ordering::Acquire); }
                fn len(&self) -> usize { 0 }
            }
            fn ring(&self) { self.parker.unpark(); }";
        let operations = operations_of(source);
        let is_one = |text: &str| operations.are_in(text.parse().unwrap());
        let yes = "a.store(1, Ordering::Release); fence(Ordering::Acquire); let guard = self.state.lock();
                   owner.inbox.push(x); Self::push(y, x); assert!(ring());";
        assert_eq!(yes.split_inclusive(';').find(|text| !is_one(text)), None);
        let no = "map.swap(1, 2); owner.inbox.len(); list.take(); let push = 1;";
        assert_eq!(no.split_inclusive(';').find(|text| is_one(text)), None);
    }
}
