//! Checks that models and links that the documentation names exist, and that it names every model.

use crate::{Outcome, markdown, read, rust};
use std::collections::BTreeSet;
use syn::visit::{self, Visit};

const PAGE: &str = "docs/PROOF.md";

pub fn check() -> Outcome {
    let mut complaints = links(&read("README.md")?, &read("src/readme_links.md")?);
    let models = models("loom_tests/src")?;
    let page = in_page(&read(PAGE)?)?;
    complaints.extend(unnamed(&models, &in_comments("src")?, &page));
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if complaints.is_empty() {
        println!("{} models, all named in {PAGE}: good", models.len());
    }
    Ok(complaints.is_empty())
}

/// Links of the README are on the list that leads them to these pages, too.
fn links(readme: &str, list: &str) -> Vec<String> {
    let (readme, list) = (markdown::labels(readme), markdown::labels(list));
    let missing = readme
        .difference(&list)
        .map(|label| format!("src/readme_links.md does not have the link [{label}] of README.md"));
    let gone = list
        .difference(&readme)
        .map(|label| format!("src/readme_links.md has [{label}], which README.md has not"));
    missing.chain(gone).collect()
}

/// The names of all models but for canaries.
fn models(folder: &str) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    for path in rust::files(folder, "rs")? {
        found.extend(made_in(&rust::parse(&path, &read(&path)?)?));
    }
    if found.is_empty() {
        return Err(format!("no model was found in {folder}"));
    }
    Ok(found)
}

/// The first argument of each `Model::new`, but for canaries.
fn made_in(file: &syn::File) -> Vec<String> {
    struct Made(Vec<String>);
    impl<'ast> Visit<'ast> for Made {
        fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
            if let (syn::Expr::Path(function), Some(syn::Expr::Lit(name))) =
                (&*call.func, call.args.first())
            {
                let names: Vec<_> = function.path.segments.iter().map(|s| &s.ident).collect();
                if let ([.., of, new], syn::Lit::Str(name)) = (&names[..], &name.lit) {
                    if *of == "Model" && *new == "new" {
                        self.0.push(name.value());
                    }
                }
            }
            visit::visit_expr_call(self, call);
        }
    }
    let mut made = Made(Vec::new());
    made.visit_file(file);
    made.0.retain(|name| !name.starts_with("canary_"));
    made.0
}

/// The models that comments name, and where. That a comment names the right one,
/// `ci/mutate.sh weaken` checks.
fn in_comments(folder: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for path in rust::files(folder, "rs")? {
        for (line, text) in read(&path)?.lines().enumerate() {
            let place = format!("{path}:{}", line + 1);
            found.extend(rust::models_in(text).map(|name| (name.to_owned(), place.clone())));
        }
    }
    Ok(found)
}

/// The models in the table of what they prove.
fn in_page(text: &str) -> Result<Vec<String>, String> {
    markdown::code_in_column(text, ["what cannot happen", "models"], 1)
        .ok_or_else(|| format!("{PAGE} has no table `what cannot happen | models`"))
}

fn unnamed(
    models: &BTreeSet<String>,
    comments: &[(String, String)],
    page: &[String],
) -> Vec<String> {
    let in_comments = comments.iter().map(|(name, place)| (name, &**place));
    let named = in_comments.chain(page.iter().map(|name| (name, PAGE)));
    let mut complaints: Vec<_> = named
        .filter(|(name, _)| !models.contains(*name))
        .map(|(name, place)| format!("{place}: the model {name} is named, but does not exist"))
        .collect();
    complaints.extend(
        models
            .iter()
            .filter(|name| !page.contains(name))
            .map(|name| format!("{PAGE} does not name the model {name}")),
    );
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_on_both_lists() {
        let (readme, list) = ("[a]: x\n[b]: y\n", "[b]: z\n[c]: z\n");
        assert_eq!(links(readme, readme), Vec::<String>::new());
        let found = links(readme, list);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("[a]") && found[1].contains("[c]"));
    }

    #[test]
    fn models_are_found_by_how_they_are_made() {
        let source = r#"
            pub const MODELS: &[Model] = &[
                Model::new("one", "about", &[], one).bounded(3),
                Model::new(
                    // In a line of its own.
                    "two_2",
                    "Model::new(\"no\")",
                    &["three"],
                    two,
                ),
                model::Model::new("canary_x", "about", &[], x),
                Other::new("no"),
            ];
        "#;
        assert_eq!(made_in(&syn::parse_file(source).unwrap()), ["one", "two_2"]);
    }

    #[test]
    fn the_project_has_models_and_comments_that_name_them() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let models = models(&format!("{root}/loom_tests/src")).unwrap();
        assert!(models.contains("retain_release_last") && models.len() > 50);
        let comments = in_comments(&format!("{root}/src")).unwrap();
        assert!(
            comments
                .iter()
                .any(|(_, at)| at.contains("/src/object/count.rs:"))
        );
        assert!(comments.iter().all(|(name, _)| models.contains(name)));
    }

    #[test]
    fn comments_name_models() {
        let names = |line| rust::models_in(line).collect::<Vec<_>>();
        assert_eq!(names("// Acquire: why. Model: one, two."), ["one", "two"]);
        assert_eq!(names("// Model: one"), ["one"]);
        assert_eq!(names("let x: Model = 1;"), Vec::<&str>::new());
    }

    #[test]
    fn what_does_not_exist_and_what_is_not_named_is_said() {
        let models = ["one", "two"].map(str::to_owned).into();
        let page = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
        let comment = |name: &str| [(name.to_owned(), "src/a.rs:1".to_owned())];
        let both = page(&["two", "one"]);
        assert!(unnamed(&models, &comment("one"), &both).is_empty());
        assert_eq!(unnamed(&models, &comment("three"), &both).len(), 1);
        assert_eq!(unnamed(&models, &[], &page(&["one"])).len(), 1);
        assert_eq!(
            unnamed(&models, &[], &page(&["one", "two", "three"])).len(),
            1
        );
    }

    #[test]
    fn a_page_without_the_table_is_an_error() {
        let table = "| what cannot happen | models |\n|---|---|\n| a `get_mut` | `one` |\n";
        assert_eq!(in_page(table).unwrap(), ["one"]);
        assert!(in_page("`one`").is_err());
    }
}
