//! Logic mutants of the concurrent core, as cargo-mutants lists them: conditions, computations and
//! results are changed.
//!
//! They stand behind the switch of [`switched`](super::switched), a function's body at a time; so those
//! outside of functions, and in constant functions, are not examined.

use super::mutant::Kind;
use super::order::lists::{Function, functions};
use super::switched::{Block, Edit, Program};
use crate::command::output;
use crate::rust;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::process::Command;
use syn::spanned::Spanned;

/// Logic mutants are many, and most are noticed in a moment.
const MOST_SECONDS: f64 = 30.0;

/// A mutant that cargo-mutants lists.
struct Made {
    /// Its name of the function, if it is in one.
    function: Option<String>,
    what: String,
    /// What is replaced, in bytes.
    span: Range<usize>,
    replacement: String,
}

/// Returns the logic mutants of the files that the settings name.
pub fn program() -> Result<Program, String> {
    let mut program = Program::new(Kind::Logic, &[], MOST_SECONDS)?;
    let list = output(Command::new("cargo").args(["mutants", "--list", "--json"]))?;
    let listed: Vec<Value> =
        serde_json::from_str(&list).map_err(|e| format!("cargo mutants --list: {e}"))?;
    for (source, (path, text)) in program.sources.clone().iter().enumerate() {
        let of_file = listed.iter().filter(|made| made["file"] == **path);
        let made = of_file.map(|value| {
            Made::parse(value, text).ok_or_else(|| format!("no mutant: {}", value["name"]))
        });
        let made: Vec<Made> = made.collect::<Result<_, String>>()?;
        let parsed = rust::parse(path, text)?;
        let functions = functions(&parsed);
        // Outer functions stand before those in them.
        let mut of_functions: BTreeMap<usize, Vec<&Made>> = BTreeMap::new();
        for made in &made {
            let holds = |function: &Function<'_>| {
                let inside = inside(function.body);
                inside.start <= made.span.start && made.span.end <= inside.end
            };
            if let Some(function) = functions.iter().rposition(holds) {
                of_functions.entry(function).or_default().push(made);
            }
        }
        for (function, made) in of_functions {
            let function = &functions[function];
            let inside = inside(function.body);
            let edit = |made: &&Made| {
                let Range { start, end } = made.span.clone();
                let (before, after) = (&text[inside.start..start], &text[end..inside.end]);
                Edit {
                    what: made.what.clone(),
                    text: [before, &made.replacement, after].concat(),
                }
            };
            let name = made[0].function.clone();
            let block = Block {
                source,
                function: name.unwrap_or_else(|| function.path()),
                lines: function.lines.clone(),
                inside: inside.clone(),
            };
            program.add(block, made.iter().map(edit).collect::<Vec<_>>());
        }
    }
    Ok(program)
}

/// What is between the braces, in bytes.
fn inside(block: &syn::Block) -> Range<usize> {
    let Range { start, end } = block.span().byte_range();
    start + 1..end - 1
}

/// Returns the files that the settings of cargo-mutants name. They need not have mutants.
pub fn files() -> Result<BTreeSet<String>, String> {
    let list = output(Command::new("cargo").args(["mutants", "--list-files"]))?;
    let files = list.lines().filter(|file| !rust::is_test_file(file));
    Ok(files.map(str::to_owned).collect())
}

impl Made {
    fn parse(value: &Value, text: &str) -> Option<Self> {
        let what = value["name"].as_str()?.split_once(": ")?.1;
        let function = value["function"]["function_name"].as_str();
        // The function has a place of its own in the name.
        let what = match function {
            None => what.to_owned(),
            Some(name) => match what.strip_prefix(&format!("replace {name} ")) {
                Some(rest) => format!("replace {rest}"),
                None => what
                    .strip_suffix(&format!(" in {name}"))
                    .unwrap_or(what)
                    .to_owned(),
            },
        };
        let at = |end: &str| {
            let number = |name| Some(value["span"][end][name].as_u64()? as usize - 1);
            let lines = text.split_inclusive('\n').take(number("line")?);
            let line: usize = lines.map(str::len).sum();
            let (column, _) = text[line..].char_indices().nth(number("column")?)?;
            Some(line + column)
        };
        Some(Self {
            function: function.map(str::to_owned),
            what,
            span: at("start")?..at("end")?,
            replacement: value["replacement"].as_str()?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_no_part_of_what_is_changed_and_columns_count_characters() {
        for (name, function, what) in [
            ("replace + with - in A::c", "A::c", "replace + with -"),
            (
                "replace A::c -> bool with true",
                "A::c",
                "replace -> bool with true",
            ),
            ("replace - with +", "", "replace - with +"),
        ] {
            let function = (!function.is_empty()).then_some(function);
            let value = serde_json::json!({
                "name": format!("src/a.rs:2:3: {name}"),
                "function": function.map(|name| serde_json::json!({"function_name": name})),
                "span": {"start": {"line": 2, "column": 3}, "end": {"line": 3, "column": 1}},
                "replacement": "+",
            });
            let made = Made::parse(&value, "a\né-- b\nc\n").unwrap();
            assert_eq!((&*made.what, made.span), (what, 5..9));
            assert_eq!(made.replacement, "+");
        }
    }
}
