//! Lists of tests that scripts run or skip, in `ci/tests.txt`. Scripts hand the names to the test
//! program, which takes each for a part of names, and says nothing of those that fit no test. So
//! each name here must be that of a test or of a module with tests, and what scripts are given fits
//! no others.

use crate::{Outcome, read, rust};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const LISTS: &str = "ci/tests.txt";

/// Where the tests are: in the crate, and beside it.
const ROOTS: [&str; 2] = ["src/lib.rs", "tests/all/main.rs"];

/// Checks all lists.
pub fn check() -> Outcome {
    let (lists, tests) = (lists(&read(LISTS)?)?, all(".")?);
    let mut complaints = Vec::new();
    for (name, entries) in &lists {
        if let Err(found) = filters(name, entries, &tests) {
            complaints.extend(found);
        }
    }
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if complaints.is_empty() {
        println!(
            "{LISTS} names what is there, of {} tests: good",
            tests.len()
        );
    }
    Ok(complaints.is_empty())
}

/// Prints what the test program is given for the tests in these lists, a line each: parts of names;
/// or if `whole`, for its option `--exact`, the names themselves, which take less time to compare
/// where that is slow.
pub fn print(names: &[&str], whole: bool) -> Outcome {
    let (lists, tests) = (lists(&read(LISTS)?)?, all(".")?);
    let mut found = BTreeSet::new();
    for &name in names {
        let entries = lists.get(name);
        let entries = entries.ok_or_else(|| format!("{LISTS} has no list {name}"))?;
        if whole {
            let of_entry = |entry: &String| named(entry, &tests);
            found.extend(entries.iter().flat_map(of_entry).map(str::to_owned));
        } else {
            found.extend(filters(name, entries, &tests).map_err(|e| e.join("\n"))?);
        }
    }
    for name in found {
        println!("{name}");
    }
    Ok(true)
}

/// Lines of the form `LIST NAME`, by list; what follows the name says why.
fn lists(text: &str) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let lines = text.lines().enumerate();
    for (i, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some(list), Some(name)) => lists
                .entry(list.to_owned())
                .or_default()
                .push(name.to_owned()),
            _ => return Err(format!("{LISTS}:{}: no name of a test", i + 1)),
        }
    }
    Ok(lists)
}

/// Parts of names that fit the tests which are meant and no others, or what is wrong with the list.
/// A module is one where that is so, and else all its tests.
fn filters(
    list: &str,
    names: &[String],
    tests: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Vec<String>> {
    let mut complaints = Vec::new();
    let mut meant = BTreeSet::new();
    for name in names {
        let of_name = named(name, tests);
        if of_name.is_empty() {
            complaints.push(format!(
                "{LISTS}: {list} names {name}, but there is no such test"
            ));
        } else if of_name.is_subset(&meant) {
            complaints.push(format!("{LISTS}: {list} names {name} twice"));
        }
        meant.extend(of_name);
    }
    let other = |part: &str| {
        let mut others = tests.iter().filter(|test| !meant.contains(&***test));
        others.find(|test| test.contains(part))
    };
    let mut filters = BTreeSet::new();
    for name in names {
        if other(name).is_none() {
            filters.insert(name.clone());
            continue;
        }
        for part in named(name, tests) {
            if let Some(other) = other(part) {
                complaints.push(format!(
                    "{LISTS}: {list} means {part}, but that is part of the name {other}, too"
                ));
            }
            filters.insert(part.to_owned());
        }
    }
    if complaints.is_empty() {
        Ok(filters)
    } else {
        Err(complaints)
    }
}

/// The test of this name, or those of the module.
fn named<'t>(name: &str, tests: &'t BTreeSet<String>) -> BTreeSet<&'t str> {
    let is_meant = |test: &&str| match name.ends_with("::") {
        true => test.starts_with(name),
        false => *test == name,
    };
    tests.iter().map(String::as_str).filter(is_meant).collect()
}

/// The names of all tests of the project in this folder.
fn all(project: &str) -> Result<BTreeSet<String>, String> {
    let mut tests = BTreeSet::new();
    for root in ROOTS {
        let root = Path::new(project).join(root);
        let folder = root.parent().expect("it is in a folder");
        of_file(&root, folder, "", &mut tests)?;
    }
    Ok(tests)
}

/// The tests in a file and its modules, which are in `folder`.
fn of_file(
    path: &Path,
    folder: &Path,
    module: &str,
    tests: &mut BTreeSet<String>,
) -> Result<(), String> {
    let name = path.display().to_string();
    let file = rust::parse(&name, &read(&name)?)?;
    of_items(&file.items, folder, module, tests)
}

fn of_items(
    items: &[syn::Item],
    folder: &Path,
    module: &str,
    tests: &mut BTreeSet<String>,
) -> Result<(), String> {
    for item in items {
        match item {
            syn::Item::Fn(item) if item.attrs.iter().any(|a| a.path().is_ident("test")) => {
                tests.insert(format!("{module}{}", item.sig.ident));
            }
            syn::Item::Macro(item) if item.ident.is_none() => {
                let names = in_macro(item.mac.tokens.clone());
                tests.extend(names.iter().map(|name| format!("{module}{name}")));
            }
            syn::Item::Mod(item) => {
                let inside = format!("{module}{}::", item.ident);
                let folder_inside = folder.join(item.ident.to_string());
                match &item.content {
                    Some((_, items)) => of_items(items, &folder_inside, &inside, tests)?,
                    None => {
                        let path = file_of(item, folder)?;
                        // Modules of `x.rs` and `x/mod.rs` are in `x/`; `#[path]` has none here.
                        of_file(&path, &folder_inside, &inside, tests)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The file of a module.
fn file_of(item: &syn::ItemMod, folder: &Path) -> Result<PathBuf, String> {
    if item.attrs.iter().any(|a| a.path().is_ident("path")) {
        return Err(format!("the module {} has a path of its own", item.ident));
    }
    let candidates = [
        format!("{}.rs", item.ident),
        format!("{}/mod.rs", item.ident),
    ];
    let mut paths = candidates.iter().map(|name| folder.join(name));
    let place = folder.display();
    paths
        .find(|path| path.exists())
        .ok_or_else(|| format!("there is no file of the module {} in {place}", item.ident))
}

/// Each `#[test] ... fn name` in a macro's arguments.
fn in_macro(tokens: TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                is_test |= group.stream().to_string() == "test";
            }
            TokenTree::Ident(word) if word == "fn" => {
                if let (true, Some(name)) = (is_test, tokens.next()) {
                    names.push(name.to_string());
                }
                is_test = false;
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn filters_of(names: &[&str]) -> Result<Vec<String>, usize> {
        let tests = set(&[
            "a::one",
            "a::one_more",
            "a::b::two",
            "ba::three",
            "xa::four",
        ]);
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        match filters("list", &names, &tests) {
            Ok(found) => Ok(found.into_iter().collect()),
            Err(complaints) => Err(complaints.len()),
        }
    }

    #[test]
    fn names_are_those_of_tests_and_modules() {
        assert_eq!(filters_of(&["ba::three"]).unwrap(), ["ba::three"]);
        assert_eq!(filters_of(&["a::b::"]).unwrap(), ["a::b::"]);
        assert_eq!(filters_of(&["a::one_more"]).unwrap(), ["a::one_more"]);
    }

    #[test]
    fn a_module_whose_name_is_part_of_others_is_its_tests() {
        let found = filters_of(&["a::"]).unwrap();
        assert_eq!(found, ["a::b::two", "a::one", "a::one_more"]);
        // Unless the others are meant, too.
        let found = filters_of(&["a::", "ba::", "xa::four"]).unwrap();
        assert_eq!(found, ["a::", "ba::", "xa::four"]);
    }

    #[test]
    fn names_that_fit_nothing_or_too_much_are_told() {
        assert_eq!(filters_of(&["a::none"]), Err(1));
        assert_eq!(filters_of(&["none::"]), Err(1));
        assert_eq!(filters_of(&["three"]), Err(1), "a part of a name");
        assert_eq!(filters_of(&["ba::three", "ba::three"]), Err(1), "twice");
        assert_eq!(filters_of(&["a::one"]), Err(1), "a::one_more, too");
    }

    #[test]
    fn lists_are_read() {
        let found = lists("# x\n\none a::b why\none c::\ntwo d\n").unwrap();
        assert_eq!(found["one"], ["a::b", "c::"]);
        assert_eq!(found["two"], ["d"]);
        assert!(lists("one\n").is_err());
    }

    #[test]
    fn tests_of_the_project_are_found_in_all_its_files() {
        let tests = all(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
        for module in [
            "event::message::tests::",
            "pool::stack::chain::tests::a_scope_leaves_",
            "object::deep::",
            "random::threads::random_programs_on_threads_that_run_free",
        ] {
            assert!(
                tests.iter().any(|test| test.starts_with(module)),
                "{module}"
            );
        }
    }

    #[test]
    fn tests_are_found_in_modules_and_macros() {
        let file = syn::parse_file(
            "
            #[test] fn one() {}
            fn no() {}
            mod a { #[test] #[ignore] fn two() { #[test] fn no() {} } }
            proptest! {
                #![config(fn_x)]
                #[test]
                fn three(x in 0..1) { }
                #[inline]
                fn no() {}
            }
            macro_rules! m { () => { #[test] fn no() {} } }
            ",
        )
        .unwrap();
        let mut tests = BTreeSet::new();
        of_items(&file.items, Path::new("."), "m::", &mut tests).unwrap();
        assert_eq!(tests, set(&["m::one", "m::a::two", "m::three"]));
    }
}
