//! Checks that the packages that `docs/CHECKING.md` shows exist word for word, except for paths.

use crate::{Outcome, markdown, read, rust};
use toml_edit::{DocumentMut, Item, TableLike, Value};

const PAGE: &str = "docs/CHECKING.md";

/// The package whose tests run in Miri. The page shows some of its lines.
const MIRI_PACKAGE: &str = "loom_tests/miri";

/// Checks the page against the package in this folder and that for Miri; the first command that it shows has
/// these parts.
pub fn check(package: &str, parts: &[&str]) -> Outcome {
    let manifest = without_paths(&read(&format!("{package}/Cargo.toml"))?)
        .map_err(|e| format!("{package}/Cargo.toml: {e}"))?;
    let mut sources = String::new();
    for package in [package, MIRI_PACKAGE] {
        for folder in ["src", "tests"] {
            for path in rust::files(&format!("{package}/{folder}"), "rs")? {
                sources.push_str(&read(&path)?);
            }
        }
    }
    let page = read(PAGE)?;
    let missing = missing(&page, &manifest, &sources, parts);
    for complaint in &missing {
        eprintln!("{complaint}");
    }
    if missing.is_empty() {
        let count = markdown::blocks(&page, "rust,ignore").len();
        println!("{PAGE} shows what is there, in {count} examples: good");
    }
    Ok(missing.is_empty())
}

fn missing(page: &str, manifest: &str, sources: &str, parts: &[&str]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut is_in = |what: &str, all: &str, name: &str| {
        let what = what.trim_end();
        if what.is_empty() || !all.contains(what) {
            complaints.push(format!("{PAGE} shows what is not in {name}:\n{what}"));
        }
    };
    let first = |language| {
        let blocks = markdown::blocks(page, language);
        blocks.into_iter().next().unwrap_or_default()
    };
    is_in(&first("toml"), manifest, "Cargo.toml");
    let examples = markdown::blocks(page, "rust,ignore");
    for example in &examples {
        is_in(example, sources, "the package");
    }
    let command = first("console");
    for part in parts {
        is_in(part, &command, "the command");
    }
    if examples.is_empty() {
        complaints.push(format!("{PAGE} has no example"));
    }
    complaints
}

/// The manifest as that of a package elsewhere: dependencies have no path.
fn without_paths(manifest: &str) -> Result<String, toml_edit::TomlError> {
    let mut manifest: DocumentMut = manifest.parse()?;
    drop_paths(manifest.as_table_mut());
    Ok(manifest.to_string())
}

fn drop_paths(table: &mut dyn TableLike) {
    for (key, item) in table.iter_mut() {
        if !key.get().ends_with("dependencies") {
            // `target.'cfg(...)'.dependencies`
            if let Item::Table(table) = item {
                drop_paths(table);
            }
            continue;
        }
        let Some(dependencies) = item.as_table_mut() else {
            continue;
        };
        for (_, dependency) in dependencies.iter_mut() {
            let Some(inline) = dependency.as_inline_table_mut() else {
                continue;
            };
            if inline.remove("path").is_none() {
                continue;
            }
            inline.fmt();
            if inline.len() == 1 {
                if let Some(Value::String(version)) = inline.remove("version") {
                    *dependency = Item::Value(Value::from(version.into_value()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_have_no_path() {
        let manifest = "\
[features]
models = [] # why

[dependencies]
a = { version = \"0.1\", path = \"../..\" }
b = { version = \"1\", features = [\"x\"] }
c = \"2\"

[target.'cfg(loom)'.dependencies]
a = { version = \"0.1\", path = \"../..\", features = [\"loom\"] }

[[test]]
path = \"tests/x.rs\"
";
        let expected = "\
[features]
models = [] # why

[dependencies]
a = \"0.1\"
b = { version = \"1\", features = [\"x\"] }
c = \"2\"

[target.'cfg(loom)'.dependencies]
a = { version = \"0.1\", features = [\"loom\"] }

[[test]]
path = \"tests/x.rs\"
";
        assert_eq!(without_paths(manifest).unwrap(), expected);
    }

    const PAGE: &str = "```toml\n[dependencies]\na = \"1\"\n```\n```rust,ignore\nfn f() {}\n```\n\
                        ```console\n$ cargo test --x\n```\n";

    #[test]
    fn what_is_there_may_be_shown() {
        let found = |manifest, sources, parts: &[&str]| missing(PAGE, manifest, sources, parts);
        let (manifest, sources) = ("[dependencies]\na = \"1\"\nb = \"2\"\n", "fn f() {}\n");
        assert!(found(manifest, sources, &["--x", "test"]).is_empty());
        assert_eq!(found("[dependencies]\n", sources, &["--x"]).len(), 1);
        assert_eq!(found(manifest, "fn g() {}", &["--x"]).len(), 1);
        assert_eq!(found(manifest, sources, &["--y"]).len(), 1);
    }

    #[test]
    fn a_page_that_shows_nothing_fails() {
        assert_eq!(missing("", "x", "x", &["--x"]).len(), 3);
    }
}
