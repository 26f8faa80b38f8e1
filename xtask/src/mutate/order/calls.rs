//! The calls in a list of words: those in the arguments of macros are found as well.

use crate::rust::{closing, depth_of, is_name};

/// A call: `receiver.name(arguments)`, `qualifier::name(arguments)` or `name(arguments)`.
#[derive(Debug, PartialEq, Eq)]
pub struct Call<'w> {
    pub name: &'w str,
    /// The place of the name.
    pub at: usize,
    pub on: On<'w>,
    pub arguments: Vec<&'w str>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum On<'w> {
    /// A method; of what it is called on, the last name that is written.
    Receiver(Option<&'w str>),
    Path(&'w str),
    Nothing,
}

pub fn calls<'a, 'w>(words: &'a [&'w str]) -> impl Iterator<Item = Call<'w>> + 'a {
    (0..words.len()).filter_map(|at| call(words, at))
}

fn call<'w>(words: &[&'w str], at: usize) -> Option<Call<'w>> {
    let name = words[at];
    let open = after_generics(words, at + 1);
    if !is_name(name) || words.get(open) != Some(&"(") {
        return None;
    }
    let on = match at.checked_sub(1).map(|before| words[before]) {
        Some(".") => On::Receiver(last_name(&words[..at - 1])),
        Some("::") => On::Path(last_name(&words[..at - 1])?),
        Some("fn") => return None,
        _ => On::Nothing,
    };
    let arguments = words[open + 1..open + closing(&words[open..])].to_vec();
    Some(Call {
        name,
        at,
        on,
        arguments,
    })
}

/// Past `::<...>`, if that is there.
fn after_generics(words: &[&str], at: usize) -> usize {
    if !matches!(words.get(at..), Some(["::", "<", ..])) {
        return at;
    }
    let mut depth = 0;
    let closes = |word: &&str| {
        depth += isize::from(*word == "<") - isize::from(*word == ">");
        depth == 0
    };
    let end = words[at + 1..].iter().position(closes);
    end.map_or(at, |end| at + end + 2)
}

/// The last name in an expression: of `a.b`, `a.b()`, `b[i]` and `b()?` it is `b`.
fn last_name<'w>(words: &[&'w str]) -> Option<&'w str> {
    let mut depth = 0;
    for &word in words.iter().rev() {
        depth -= depth_of(word);
        match word {
            _ if depth < 0 => return None,
            "?" | ">" | "<" | "::" | ":" | ")" | "]" | "}" | "(" | "[" | "{" => {}
            _ if depth > 0 => {}
            name if is_name(name) => return Some(name),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rust::Words;

    #[test]
    fn calls_are_found_with_what_they_are_called_on() {
        for (text, wanted) in [
            ("self.shared.inbox.push(f(x))", "inbox.push, f"),
            ("a.inbox()?.take()", "a.inbox, inbox.take"),
            ("Queue::new()", "Queue::new"),
            ("v[1].load(y)", "v.load"),
            ("assert!(a.load(Ordering::Relaxed) == 0)", "a.load"),
            ("b.cast::<Vec<T>>()", "b.cast"),
            ("fn f() { (g)(); }", ""),
        ] {
            let words = Words::of(text.parse().unwrap());
            let name = |call: Call<'_>| match call.on {
                On::Receiver(on) => format!("{}.{}", on.unwrap_or_default(), call.name),
                On::Path(on) => format!("{on}::{}", call.name),
                On::Nothing => call.name.to_owned(),
            };
            let found: Vec<_> = calls(&words.texts()).map(name).collect();
            assert_eq!(found.join(", "), wanted);
        }
    }
}
