//! Logic mutants: conditions, computations and results are changed, as cargo-mutants lists them; and
//! constants.

use super::mutant::Kind;
use super::places::{innermost, places, replaced};
use super::switched::{Edit, Program};
use crate::command::{output, read};
use crate::rust;
use proc_macro2::Span;
use quote::ToTokens;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// The folder that cargo-mutants reads.
const LISTED: &str = "target/mutate/listed";

/// What it lists, but changes nothing, or is there only in models: bits are joined that have none in
/// common.
const LEFT_OUT: &[&str] = &["replace | with ^", "HomelessObjects::take"];

/// A mutant that cargo-mutants lists.
struct Made {
    /// Its name of the function, if it is in one.
    function: Option<String>,
    what: String,
    /// What is replaced, in bytes.
    span: Range<usize>,
    replacement: String,
}

/// Adds the logic mutants of all files.
pub fn add(program: &mut Program) -> Result<(), String> {
    let listed = list()?;
    for source in 0..program.sources.len() {
        let file = &program.sources[source];
        let of_file = listed.iter().filter(|made| made["file"] == *file.path);
        let mut found = Vec::new();
        let places = places(&file.parsed);
        for value in of_file {
            let made = Made::parse(value, &file.text);
            let made = made.ok_or_else(|| format!("no mutant: {}", value["name"]))?;
            let Some(place) = innermost(&places, &made.span) else {
                continue;
            };
            let edit = Edit {
                kind: Kind::Logic,
                function: made.function.unwrap_or_else(|| place.function.clone()),
                lines: place.lines.clone(),
                what: made.what,
                text: replaced(&file.text, &place.inside, &made.span, &made.replacement),
            };
            found.push((place.inside.clone(), edit));
        }
        // What a table's closure returns.
        for place in places.iter().filter(|place| place.function == "-") {
            for value in ["true", "Default::default()"] {
                let edit = Edit {
                    kind: Kind::Logic,
                    function: "-".to_owned(),
                    lines: place.lines.clone(),
                    what: format!("replace a closure with {value}"),
                    text: value.to_owned(),
                };
                found.push((place.inside.clone(), edit));
            }
        }
        for (inside, edit) in found {
            program.add(source, inside, edit);
        }
    }
    add_constants(program);
    Ok(())
}

/// Returns what cargo-mutants lists. It leaves out unsafe functions, so it is shown them as safe ones.
fn list() -> Result<Vec<Value>, String> {
    let write = |file: &str, text: &str| {
        let path = Path::new(LISTED).join(file);
        let parent = path.parent().unwrap_or(Path::new("."));
        let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
        written.map_err(|e| format!("{}: {e}", path.display()))
    };
    let manifest = "[package]\nname = \"releasepool\"\nedition = \"2024\"\n[workspace]\n";
    write("Cargo.toml", manifest)?;
    write(
        "Cargo.lock",
        "version = 4\n[[package]]\nname = \"releasepool\"\nversion = \"0.0.0\"\n",
    )?;
    for file in rust::files("src")? {
        let safe = read(&file)?.replace("unsafe fn", "       fn");
        write(&file, &safe.replace("unsafe extern", "       extern"))?;
    }
    let mut command = Command::new("cargo");
    command.args([
        "mutants",
        "--list",
        "--json",
        "--dir",
        LISTED,
        "--no-config",
    ]);
    let list = output(&mut command)?;
    let mut all: Vec<Value> =
        serde_json::from_str(&list).map_err(|e| format!("cargo mutants --list: {e}"))?;
    let is_left_out = |made: &Value| {
        let name = made["name"].as_str().unwrap_or_default();
        LEFT_OUT.iter().any(|part| name.contains(part))
    };
    all.retain(|made| !is_left_out(made));
    Ok(all)
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

/// Types of constants that can be changed.
#[rustfmt::skip]
const CHANGEABLE: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i32", "i64", "isize", "Duration",
];

/// Adds each constant of a number or a time, changed wherever a function uses it.
fn add_constants(program: &mut Program) {
    let mut constants = Vec::new();
    for (source, file) in program.sources.iter().enumerate() {
        let mut found = Constants(Vec::new());
        found.visit_file(&file.parsed);
        constants.extend(found.0.into_iter().map(|constant| (source, constant)));
    }
    let mut uses: BTreeMap<usize, Vec<(usize, Range<usize>)>> = BTreeMap::new();
    for (source, file) in program.sources.iter().enumerate() {
        let places = places(&file.parsed);
        let mut found = Uses(Vec::new());
        found.visit_file(&file.parsed);
        for (name, range) in found.0 {
            // Of several constants of a name, the file's own; or none.
            let is_it = |&n: &usize| constants[n].1.0 == name;
            let of_name: Vec<usize> = (0..constants.len()).filter(is_it).collect();
            let own = of_name.iter().find(|&&n| constants[n].0 == source);
            let constant = own.or(of_name.first().filter(|_| of_name.len() == 1));
            if let (Some(&constant), Some(_)) = (constant, innermost(&places, &range)) {
                uses.entry(constant).or_default().push((source, range));
            }
        }
    }
    for (n, uses) in uses {
        let (source, (name, lines)) = &constants[n];
        let edit = Edit {
            kind: Kind::Logic,
            function: "-".to_owned(),
            lines: lines.clone(),
            what: format!("replace {name} with 2 * {name} + 1"),
            text: String::new(),
        };
        program.add_constant(&uses, *source, edit);
    }
}

/// Names and lines of constants.
struct Constants(Vec<(String, Range<usize>)>);

impl Constants {
    fn add(&mut self, name: &syn::Ident, of: &syn::Type, value: &syn::Expr, whole: Span) {
        // Twice the greatest number, plus one, is that number again.
        let is_greatest = value.to_token_stream().to_string().ends_with(":: MAX");
        if !is_greatest && CHANGEABLE.contains(&&*of.to_token_stream().to_string()) {
            let lines = whole.start().line..whole.end().line + 1;
            self.0.push((name.to_string(), lines));
        }
    }
}

impl<'ast> Visit<'ast> for Constants {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.add(&item.ident, &item.ty, &item.expr, item.span());
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.add(&item.ident, &item.ty, &item.expr, item.span());
    }
}

/// Names in expressions that could be those of constants, and where they stand.
struct Uses(Vec<(String, Range<usize>)>);

impl<'ast> Visit<'ast> for Uses {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        if let syn::Expr::Path(path) = expr {
            if let Some(last) = path.path.segments.last() {
                self.0
                    .push((last.ident.to_string(), expr.span().byte_range()));
            }
        }
        visit::visit_expr(self, expr);
    }

    // Where only a constant may stand.
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_expr_repeat(&mut self, _: &'ast syn::ExprRepeat) {}

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}

    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
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

    #[test]
    fn constants_are_changed_where_they_need_not_be_constant() {
        let file = "const A: u8 = B; fn f(x: [u8; A]) { if let A = x { g(m::A, [0; A]) } }";
        let file = syn::parse_file(file).unwrap();
        let (mut constants, mut uses) = (Constants(Vec::new()), Uses(Vec::new()));
        constants.visit_file(&file);
        uses.visit_file(&file);
        assert_eq!(constants.0[0].0, "A");
        assert_eq!(uses.0.iter().filter(|(name, _)| name == "A").count(), 1);
    }
}
