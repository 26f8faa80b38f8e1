//! The list of mutants that may survive, each with its reason.

use super::mutant::{Kind, Mutant};
use crate::read;
use std::collections::BTreeMap;

pub const FILE: &str = "ci/mutate/reasons.txt";

/// Reasons, by the kind and the name of a mutant.
#[derive(Default)]
pub struct Reasons(BTreeMap<(Kind, String), String>);

impl Reasons {
    pub fn read() -> Result<Self, String> {
        Self::parse(&read(FILE)?)
    }

    /// Parses lines of the form `KIND FILE FUNCTION -- MUTANT -- REASON`; a `#` starts a comment.
    fn parse(text: &str) -> Result<Self, String> {
        let mut found = BTreeMap::new();
        let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
        for line in text.lines().filter(is_entry) {
            let parse = || {
                let (kind, rest) = line.split_once(' ')?;
                let (at, separator) = rest.match_indices(" -- ").nth(1)?;
                let reason = rest[at + separator.len()..].trim();
                (!reason.is_empty()).then_some((Kind::from_name(kind)?, &rest[..at], reason))
            };
            let (kind, name, reason) =
                parse().ok_or_else(|| format!("{FILE}: no mutant with a reason: {line}"))?;
            if found
                .insert((kind, name.to_owned()), reason.to_owned())
                .is_some()
            {
                return Err(format!("{FILE} lists a mutant twice: {line}"));
            }
        }
        Ok(Self(found))
    }

    pub fn reason(&self, kind: Kind, mutant: &Mutant) -> Option<&str> {
        self.0.get(&(kind, mutant.name())).map(String::as_str)
    }

    /// Returns the names of the listed mutants of a kind.
    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let of_kind = self.0.keys().filter(move |(of, _)| *of == kind);
        of_kind.map(|(_, name)| &**name)
    }
}

/// Returns the file and the function in the name of a mutant.
pub fn place(name: &str) -> (&str, &str) {
    let place = name.split(" -- ").next().unwrap_or(name);
    place.split_once(' ').unwrap_or((place, ""))
}

/// Returns whether the text of a file has a function: `name`, `Type::name`, `<impl Trait for
/// Type>::name`.
pub fn has_function(text: &str, function: &str) -> bool {
    let name = function.rsplit("::").next().unwrap_or(function);
    let starts = |end| text.contains(&format!("fn {name}{end}"));
    let of = function.rsplit_once("::").map_or("", |(of, _)| of);
    let of = of.rsplit(" for ").next().unwrap_or(of);
    let of = of.split(['<', '>']).next().unwrap_or(of);
    function == "-" || (starts('(') || starts('<')) && text.contains(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_found_by_kind_and_name() {
        let list = "# why\n\nlogic src/a.rs A::f -- replace + with - -- a -- b\norder src/a.rs f -- delete: g(); -- c\n";
        let reasons = Reasons::parse(list).unwrap();
        let mutant = |function: &str, what: &str| Mutant {
            file: "src/a.rs".to_owned(),
            function: function.to_owned(),
            what: what.to_owned(),
            lines: 1..2,
        };
        let plus = mutant("A::f", "replace + with -");
        assert_eq!(reasons.reason(Kind::Logic, &plus), Some("a -- b"));
        assert_eq!(reasons.reason(Kind::Order, &plus), None);
        let deleted = mutant("f", "delete: g();");
        assert_eq!(reasons.reason(Kind::Order, &deleted), Some("c"));
        let names: Vec<_> = reasons.names(Kind::Order).collect();
        assert_eq!(names, ["src/a.rs f -- delete: g();"]);
        assert_eq!(place(names[0]), ("src/a.rs", "f"));
        for wrong in [
            "logic src/a.rs f -- x",
            "logic src/a.rs f -- x -- ",
            "other src/a.rs f -- x -- y",
            "order src/a.rs f -- x -- y\norder src/a.rs f -- x -- z",
        ] {
            assert!(Reasons::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn functions_are_found_in_the_text() {
        let text = "impl Drop for A<T> { fn drop(&mut self) {} } fn f<T>(x: T) {}";
        for (function, is_there) in [
            ("f", true),
            ("A::drop", true),
            ("<impl Drop for A<T>>::drop", true),
            ("-", true),
            ("B::drop", false),
            ("dro", false),
        ] {
            assert_eq!(has_function(text, function), is_there, "{function}");
        }
    }
}
