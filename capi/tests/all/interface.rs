//! releasepool.h says everything about every function. Reads that header, also for other tests.

use crate::compiler::package;
use std::fs;

/// The phrases by which functions say who owns what; see the beginning of releasepool.h.
const PHRASES: &[&str] = &[
    "Ownership: the caller owns the result. Give it up by ",
    "Ownership: the result is lent. ",
    "Ownership: takes the argument.",
    "Ownership: takes the argument unless it fails.",
    "Ownership: borrows the arguments.",
    "Ownership: none.",
];

/// A function of releasepool.h, in words of C.
pub struct Function {
    /// The comment before it.
    pub comment: String,
    /// The type of the result.
    pub result: String,
    pub name: String,
    pub parameters: Vec<Parameter>,
}

pub struct Parameter {
    /// The type; for a pointer to a function, the part before the name.
    pub of: String,
    pub name: String,
}

/// Returns the declarations of releasepool.h on one line each, with the comments before them.
pub fn declarations() -> Vec<(String, String)> {
    let header = fs::read_to_string(package().join("include/releasepool.h")).unwrap();
    let (mut found, mut declaration, mut above, mut open) = (Vec::new(), String::new(), "", 0);
    for part in header.split("/*") {
        let (comment, code) = part.split_once("*/").unwrap_or(("", part));
        if declaration.is_empty() {
            above = comment;
        }
        let is_code =
            |line: &&str| !line.starts_with('#') && !["extern \"C\" {", "}"].contains(line);
        for word in code.lines().filter(is_code).flat_map(str::split_whitespace) {
            open += word.matches('{').count();
            open -= word.matches('}').count();
            declaration += if declaration.is_empty() { "" } else { " " };
            declaration += word;
            // The end of a declaration, not of a field in it.
            if open == 0 && word.ends_with(';') {
                let comment = Vec::from_iter(above.split_whitespace()).join(" ");
                found.push((
                    comment.replace(" * ", " "),
                    std::mem::take(&mut declaration),
                ));
                above = "";
            }
        }
    }
    assert_eq!(declaration, "");
    found
}

/// Splits a signature into name and parameters, and what comes after them.
pub fn parts(signature: &str) -> (&str, Vec<&str>, &str) {
    let (name, rest) = signature.split_once('(').unwrap();
    let (mut parameters, mut begin, mut open) = (Vec::new(), 0, 0);
    for (at, letter) in rest.char_indices() {
        match letter {
            '(' | '<' => open += 1,
            ')' if open == 0 => {
                parameters.push(rest[begin..at].trim());
                parameters.retain(|parameter| !["", "void"].contains(parameter));
                return (name, parameters, &rest[at + 1..]);
            }
            ')' | '>' => open -= 1,
            ',' if open == 0 => {
                parameters.push(rest[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    panic!("no end of the parameters: {signature}")
}

/// Splits a declaration into type and name; pointers to functions have the name inside.
fn split(declaration: &str) -> (&str, &str) {
    let end = match declaration.split_once("(*") {
        Some((_, rest)) => declaration.len() - rest.len() + rest.find(')').unwrap(),
        None => declaration.len(),
    };
    let begin = declaration[..end].rfind([' ', '*']).unwrap() + 1;
    (declaration[..begin].trim(), &declaration[begin..end])
}

/// Returns the functions of releasepool.h.
pub fn functions() -> Vec<Function> {
    let mut found = Vec::new();
    for (comment, declaration) in declarations() {
        if declaration.starts_with("typedef") || declaration.starts_with("extern") {
            continue;
        }
        let (before, parameters, _) = parts(&declaration);
        let (result, name) = split(before);
        let parameter = |text| {
            let (of, name) = split(text);
            let (of, name) = (of.to_owned(), name.to_owned());
            Parameter { of, name }
        };
        found.push(Function {
            comment,
            result: result.to_owned(),
            name: name.to_owned(),
            parameters: parameters.into_iter().map(parameter).collect(),
        });
    }
    assert!(found.len() > 90, "{}", found.len());
    found
}

#[test]
fn every_function_says_who_owns_what_and_which_threads_may_call_it() {
    for Function { name, comment, .. } in functions() {
        let says = |phrase: &&str| comment.contains(*phrase);
        assert!(
            PHRASES.iter().any(says),
            "{name} does not say who owns what: {comment}"
        );
        let order = ["Ownership: ", "Threads: ", "Errors: "].map(|word| {
            assert_eq!(comment.matches(word).count(), 1, "{name}: {comment}");
            comment.find(word)
        });
        assert!(order.is_sorted(), "{name}: {comment}");
    }
}

/// Every function of releasepool.h is called by a test program or by releasepool.hpp.
#[test]
fn every_function_is_called_by_a_test() {
    let mut text = String::new();
    for entry in fs::read_dir(package().join("tests/programs")).unwrap() {
        text += &fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    text += &fs::read_to_string(package().join("include/releasepool.hpp")).unwrap();
    for Function { name, .. } in functions() {
        assert!(text.contains(&format!("{name}(")), "no test calls {name}");
    }
}
