//! Every function of releasepool.h takes NULL for every pointer, as the beginning of that file
//! says.
//!
//! The functions and their arguments are read from releasepool.h. Arguments that are not NULL are
//! from `tests/programs/nulls.c`, which does not compile if it has none for an argument of a new
//! function.

use crate::compiler::{compile, has, place, run, source, static_library};
use crate::interface::{Function, Parameter, functions};
use std::fmt::Write;
use std::process::Command;

/// The functions that abort by their contract, whatever the argument.
const ABORT: &[&str] = &["rp_abort_retain"];

/// Returns the arguments of which a comment says that they may be NULL.
fn optional(comment: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let occurrences = comment.match_indices("may be NULL");
    for (at, _) in occurrences {
        let mut before = comment[..at].trim_end();
        before = before.strip_suffix(", which").unwrap_or(before);
        while let Some(name) = before.strip_suffix('`') {
            let begin = name.rfind('`').unwrap();
            found.push(&name[begin + 1..]);
            before = name[..begin].trim_end_matches(" and ");
        }
        assert!(
            !found.is_empty(),
            "no argument before \"may be NULL\": {comment}"
        );
    }
    found
}

fn is_pointer(parameter: &Parameter) -> bool {
    parameter.of.contains('*') || parameter.of == "rp_text_fn"
}

/// Returns the functions of releasepool.h that take pointers.
fn functions_with_pointers() -> Vec<Function> {
    let mut functions = functions();
    for Function {
        name,
        comment,
        parameters,
        ..
    } in &functions
    {
        for optional in optional(comment) {
            let is_it = |parameter: &Parameter| parameter.name == optional && is_pointer(parameter);
            let is_known = parameters.iter().any(is_it);
            assert!(is_known, "{name} has no argument `{optional}`");
        }
    }
    functions.retain(|function| function.parameters.iter().any(is_pointer));
    functions
}

/// Returns an argument of C that is not NULL.
fn some(parameter: &Parameter) -> String {
    let pointee = parameter
        .of
        .trim_start_matches("const ")
        .trim_end_matches([' ', '*']);
    match (parameter.of.as_str(), parameter.name.as_str()) {
        ("bool", _) => "true".into(),
        ("size_t" | "uint64_t", "align") => "8".into(),
        ("size_t" | "uint64_t", _) => "32".into(),
        ("rp_text_fn", _) => "no_text".into(),
        (function, "to") if function.starts_with("void (") => "no_leak".into(),
        (function, "name") if function.starts_with("void (") => "no_name".into(),
        (function, _) if function.starts_with("void (") => "nothing".into(),
        (_, name) if ["void", "char"].contains(&pointee) => format!("some_{name}()"),
        _ => format!("some_{pointee}()"),
    }
}

/// A call with some arguments that are NULL.
struct Call<'f> {
    function: &'f Function,
    /// The positions of the arguments that are NULL.
    nulls: Vec<usize>,
}

impl Call<'_> {
    fn title(&self) -> String {
        format!("{} {:?}", self.function.name, self.nulls)
    }

    /// Returns the call in C, which sets `result`, to 0 for NULL; without a result, it stays 0.
    fn code(&self) -> String {
        let arguments: Vec<_> = (self.function.parameters.iter().enumerate())
            .map(|(at, parameter)| match self.nulls.contains(&at) {
                true => "NULL".into(),
                false => some(parameter),
            })
            .collect();
        let call = format!("{}({})", self.function.name, arguments.join(", "));
        match self.function.result.as_str() {
            "void" | "rp_pool_token" => call,
            pointer if pointer.contains('*') => format!("result = {call} != NULL"),
            _ => format!("result = (long){call}"),
        }
    }

    /// Returns the arguments that must not be NULL and are; the message must name one of them.
    fn refused(&self) -> Vec<&str> {
        let optional = optional(&self.function.comment);
        let may_be_null = |parameter: &Parameter| {
            let name = &*parameter.name;
            name == "data" || parameter.of == "const rp_manager *" || optional.contains(&name)
        };
        let nulls = self.nulls.iter().map(|at| &self.function.parameters[*at]);
        nulls
            .filter(|parameter| !may_be_null(parameter))
            .map(|parameter| parameter.name.as_str())
            .collect()
    }

    /// Returns whether the result and the message are those that releasepool.h promises.
    fn is_right(&self, result: &str, message: &str) -> bool {
        let Function {
            name, result: of, ..
        } = self.function;
        if ABORT.contains(&name.as_str()) {
            return (result, message) == ("ended", "6");
        }
        let refused = self.refused();
        if refused.is_empty() {
            return result != "ended" && !message.contains(" is null");
        }
        let says =
            |argument: &&str| message == format!("{name}: the argument `{argument}` is null");
        let expected = if of == "rp_status" { "1" } else { "0" };
        result == expected && refused.iter().any(says)
    }
}

#[test]
fn every_function_takes_null_for_every_pointer() {
    if !has("gcc") {
        return;
    }
    let functions = functions_with_pointers();
    assert!(functions.len() > 90, "{}", functions.len());
    let mut calls = Vec::new();
    for function in &functions {
        let pointers = function.parameters.iter().enumerate();
        let pointers: Vec<_> = pointers
            .filter(|(_, parameter)| is_pointer(parameter))
            .map(|(at, _)| at)
            .collect();
        let one_each = pointers.iter().map(|at| vec![*at]);
        let all = (pointers.len() > 1).then(|| pointers.clone());
        calls.extend(one_each.chain(all).map(|nulls| Call { function, nulls }));
    }
    let mut code = String::new();
    for call in &calls {
        writeln!(code, "CALL(\"{}\", {})", call.title(), call.code()).unwrap();
    }
    let (written, to) = (place("nulls").join("calls.h"), place("nulls").join("nulls"));
    std::fs::write(&written, code).unwrap();
    let mut command = compile("gcc", &source("nulls.c"));
    command
        .arg(format!("-DCALLS=\"{}\"", written.display()))
        .arg("-o")
        .arg(&to);
    run(command
        .arg(static_library())
        .args(["-pthread", "-ldl", "-lm"]));
    let printed = run(&mut Command::new(&to));
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines.len(), calls.len());
    let wrong: Vec<_> = lines
        .iter()
        .zip(&calls)
        .filter(|(line, call)| {
            let [title, result, message] = line.splitn(3, '|').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            assert_eq!(title, call.title());
            !call.is_right(result, message)
        })
        .map(|(line, _)| line)
        .collect();
    assert!(wrong.is_empty(), "not what the header says: {wrong:#?}");
}
