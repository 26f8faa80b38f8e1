//! Which statements synchronize with other threads.
//!
//! An *operation* is a call of a method of an atomic (one of [`ATOMIC`] with an `Ordering` among
//! its arguments), of [`FENCE`], of a lock, a parker, a sleeper, or a shared counter
//! ([`FACADE`]). A call of a function of the crate that contains one counts, too. There are no
//! types here, so such a call is found by its name; if that is a name that everything has
//! (`push`, `take`: [`COMMON`]), what it is called on must be a field, static, parameter or
//! result of a type whose method of this name contains an operation.

use super::lists::functions;
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
const STATISTIC: &[&str] = &["Counter", "Hint", "LazyTimer"];

/// Words that no statement that only counts contains.
const OTHER: &[&str] = &["{", "=", "return", "!", "?"];

/// Names that say nothing about what is called.
const COMMON: &[&str] = &[
    "new", "push", "pop", "take", "get", "set", "next", "len", "is_empty", "iter", "drop", "clone",
    "from", "default", "fmt", "replace", "swap", "insert", "remove", "append", "extend", "run",
    "free", "add", "load", "store", "write", "read", "with", "find", "deref", "map", "all", "any",
    "count", "put", "leave", "close", "begin", "end", "done", "key", "name", "build", "finish",
];

/// The names of functions that synchronize, and the types that they may be called on.
#[derive(Default)]
pub struct Operations {
    /// By the name of a function that contains an operation: the types that it belongs to; an
    /// empty one for a free function.
    functions: BTreeMap<String, BTreeSet<String>>,
    /// The types that belong to a name: those of fields, statics, parameters, results.
    types: BTreeMap<String, BTreeSet<String>>,
    /// Also of functions without an operation.
    defined: BTreeMap<String, BTreeSet<String>>,
}

impl Operations {
    pub fn of<'f>(files: impl Iterator<Item = &'f syn::File> + Clone) -> Self {
        let mut names = Names::default();
        for file in files.clone() {
            names.visit_file(file);
        }
        let mut this = Self {
            types: names.0,
            ..Self::default()
        };
        let counter = BTreeSet::from(["Counter".to_owned()]);
        this.functions.insert("take".to_owned(), counter);
        for function in files.flat_map(functions) {
            let of = function.of.unwrap_or_default();
            if this.stand_in(function.body.to_token_stream()) {
                let types = this.functions.entry(function.name.clone()).or_default();
                types.insert(of.clone());
            }
            this.defined.entry(function.name).or_default().insert(of);
        }
        this
    }

    /// Returns whether there is an operation, or a call of a function that contains one, in
    /// `tokens`, which stand in a method of `this`.
    pub fn are_in(&self, tokens: TokenStream, this: Option<&str>) -> bool {
        let words = Words::of(tokens);
        calls(&words.texts()).any(|call| is_operation(&call) || self.contains_one(&call, this))
    }

    /// Returns whether there is an operation itself in `tokens`.
    pub fn stand_in(&self, tokens: TokenStream) -> bool {
        calls(&Words::of(tokens).texts()).any(|call| is_operation(&call))
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
        let mut counts = false;
        let all = calls(&words).all(|call| match call.on {
            On::Receiver(Some(name)) if self.is_statistic(name) => {
                counts = true;
                true
            }
            On::Receiver(_) => LOOKS.contains(&call.name),
            _ => false,
        });
        all && counts
    }

    fn is_statistic(&self, name: &str) -> bool {
        let types = self.types.get(name);
        types.is_some_and(|types| {
            let is_one = |of: &String| STATISTIC.contains(&of.as_str()) || of == "CachePadded";
            !types.is_empty() && types.iter().all(is_one)
        })
    }

    fn contains_one(&self, call: &Call<'_>, this: Option<&str>) -> bool {
        let Some(owners) = self.functions.get(call.name) else {
            return false;
        };
        let is_owner = |name: &str| owners.contains(name);
        match call.on {
            On::Nothing => is_owner(""),
            On::Path("Self") => this.is_some_and(is_owner),
            // `Type::function`, or `module::function`.
            On::Path(path) => {
                is_owner(path) || is_owner("") && path.starts_with(char::is_lowercase)
            }
            On::Receiver(Some("self")) => this.is_some_and(is_owner),
            On::Receiver(on) => {
                let types = on.and_then(|name| self.types.get(name));
                if let Some(types) = types {
                    if types.iter().any(|name| is_owner(name)) {
                        return true;
                    }
                    let defined = self.defined.get(call.name);
                    let has_it = |name: &String| defined.is_some_and(|types| types.contains(name));
                    let is_known = |name: &String| has_it(name) || self.has_operations(name);
                    if types.iter().any(is_known) {
                        return false;
                    }
                }
                !COMMON.contains(&call.name) && owners.iter().any(|owner| !owner.is_empty())
            }
        }
    }

    fn has_operations(&self, name: &str) -> bool {
        self.functions.values().any(|owners| owners.contains(name))
    }
}

fn is_operation(call: &Call<'_>) -> bool {
    match call.on {
        _ if FOREIGN.contains(&call.name) => true,
        On::Receiver(_) if FACADE.contains(&call.name) => true,
        On::Receiver(_) => ATOMIC.contains(&call.name) && call.arguments.contains(&"Ordering"),
        _ => call.name == FENCE,
    }
}

/// Names and the types that belong to them.
#[derive(Default)]
struct Names(BTreeMap<String, BTreeSet<String>>);

impl Names {
    fn add(&mut self, name: &str, of: &impl ToTokens) {
        let types = self.0.entry(name.to_owned()).or_default();
        let words = Words::of(of.to_token_stream());
        let is_type = |word: &&str| word.starts_with(char::is_uppercase);
        types.extend(words.texts().into_iter().filter(is_type).map(str::to_owned));
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            self.add(&name.to_string(), &field.ty);
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        if let syn::ReturnType::Type(_, of) = &signature.output {
            self.add(&signature.ident.to_string(), of);
        }
        for input in &signature.inputs {
            if let syn::FnArg::Typed(input) = input {
                if let syn::Pat::Ident(name) = &*input.pat {
                    self.add(&name.ident.to_string(), &input.ty);
                }
            }
        }
    }

    /// `global! { static NAME: Type = ...; }`
    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if let Ok(item) = syn::parse2::<syn::ItemStatic>(item.mac.tokens.clone()) {
            self.add(&item.ident.to_string(), &item.ty);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        global! { static ORPHANS: Inbox = Inbox::new(); }
        struct Inbox { head: AtomicPtr<Node> }
        struct Owner { inbox: CachePadded<Inbox>, list: Vec<u8>, lamp: Lamp }
        impl Lamp { fn is_armed(&self) -> bool { true } }
        impl Inbox {
            fn push(&self) { self.head.swap(x, Ordering::Release); }
            fn is_armed(&self) -> bool { self.head.load(Ordering::Relaxed) == idle() }
            fn len(&self) -> usize { 0 }
        }
        fn ring(&self) { self.parker.unpark(); }
    ";

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
    fn operations_are_known_by_what_they_are_called_on() {
        let operations = operations_of(SOURCE);
        let is_one = |text: &str| operations.are_in(text.parse().unwrap(), Some("Inbox"));
        let yes = "a.store(1, Ordering::Release); fence(Ordering::Acquire); let guard = self.state.lock();
                   owner.inbox.push(x); ORPHANS.push(x); self.push(x); Self::push(y, x); Inbox::push(y, x);
                   assert!(other.is_armed()); ring();";
        assert_eq!(yes.split_inclusive(';').find(|text| !is_one(text)), None);
        let no = "vec.push(1); owner.list.push(x); map.swap(1, 2); owner.inbox.len(); owner.lamp.is_armed();
                  Vec::push(y, x); let push = 1;";
        assert_eq!(no.split_inclusive(';').find(|text| is_one(text)), None);
    }
}
