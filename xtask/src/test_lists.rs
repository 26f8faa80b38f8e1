//! Lists of tests that scripts run or skip, in `ci/tests.txt`. Scripts hand the names to the test
//! program, which takes each for a part of names, and says nothing of those that fit no test. So
//! each name here must be that of a test or of a module with tests, and fit no others.

use crate::command::{Outcome, read};
use crate::rust::{self, Words};
use proc_macro2::TokenStream;
use std::collections::{BTreeMap, BTreeSet};

const LISTS: &str = "ci/tests.txt";

/// The folders of the tests, in the crate and beside it, each with the file of the root module.
const ROOTS: [(&str, &str); 2] = [("src", "lib"), ("tests/all", "main")];

/// Checks all lists.
pub fn check() -> Outcome {
    let (text, tests) = (read(LISTS)?, all()?);
    let errors: Vec<String> = errors(&lists(&text)?, &tests);
    errors
        .iter()
        .for_each(|error| eprintln!("{LISTS}: {error}"));
    Ok(errors.is_empty())
}

/// Prints the whole names of the tests in a list, which take less time to compare than parts of names where that
/// is slow.
pub fn print(list: &str) -> Outcome {
    let (text, tests) = (read(LISTS)?, all()?);
    let lists = lists(&text)?;
    let entries = lists.get(list).ok_or("there is no such list")?;
    for test in entries.iter().flat_map(|entry| named(entry, &tests)) {
        println!("{test}");
    }
    Ok(true)
}

/// Reads lines of the form `LIST NAME`, by list; what follows the name says why.
fn lists(text: &str) -> Result<BTreeMap<&str, Vec<&str>>, String> {
    let mut lists: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            [list, name, ..] => lists.entry(list).or_default().push(name),
            _ => return Err(format!("{LISTS}: no list and name of a test: {line}")),
        }
    }
    Ok(lists)
}

/// Returns what is wrong with lists.
fn errors(lists: &BTreeMap<&str, Vec<&str>>, tests: &BTreeSet<String>) -> Vec<String> {
    let mut errors = Vec::new();
    for (list, names) in lists {
        let mut meant = BTreeSet::new();
        for name in names {
            let of_name = named(name, tests);
            if of_name.is_empty() {
                errors.push(format!("{list} names {name}, but there is no such test"));
            } else if of_name.is_subset(&meant) {
                errors.push(format!("{list} names {name} twice"));
            }
            meant.extend(of_name);
        }
        for name in names {
            let mut others = tests.iter().filter(|test| !meant.contains(&***test));
            if let Some(other) = others.find(|test| test.contains(name)) {
                errors.push(format!(
                    "{list} means {name}, but {other} has that name, too"
                ));
            }
        }
    }
    errors
}

/// Returns the test of this name, or those of the module.
fn named<'t>(name: &str, tests: &'t BTreeSet<String>) -> BTreeSet<&'t str> {
    let is_meant = |test: &&str| match name.ends_with("::") {
        true => test.starts_with(name),
        false => *test == name,
    };
    tests.iter().map(String::as_str).filter(is_meant).collect()
}

/// Returns the names of all tests of the project. Modules have the names of their files.
fn all() -> Result<BTreeSet<String>, String> {
    let mut tests = BTreeSet::new();
    for (folder, root) in ROOTS {
        for path in rust::files(folder)? {
            let name = path[folder.len() + 1..]
                .trim_end_matches(".rs")
                .trim_end_matches("/mod");
            let module = name
                .split('/')
                .filter(|part| *part != root)
                .collect::<Vec<_>>();
            let file: TokenStream = read(&path)?.parse().map_err(|e| format!("{path}: {e}"))?;
            find(file, &module, &mut tests);
        }
    }
    Ok(tests)
}

/// Finds each `#[test] ... fn name`, also in the arguments of macros.
fn find(tokens: TokenStream, module: &[&str], tests: &mut BTreeSet<String>) {
    let words = Words::of(tokens);
    let texts = words.texts();
    let mods = rust::items(&texts, "mod");
    let (mut at, mut is_test) = (0, false);
    while at < texts.len() {
        match texts[at..] {
            // A macro may make tests; they are not found.
            ["macro_rules", "!", _, ref body @ ..] => at += 3 + rust::closing(body),
            ["[", "test", "]", ..] => is_test = true,
            ["fn", name, ..] if std::mem::take(&mut is_test) => {
                let inner = rust::modules(&texts, &mods, at);
                let names = module.iter().map(|name| (*name).to_owned());
                let names: Vec<String> = names.chain(inner).chain([name.to_owned()]).collect();
                tests.insert(names.join("::"));
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_tests_and_modules_and_fit_no_others() {
        let tests = [
            "a::one",
            "a::one_more",
            "a::b::two",
            "ba::three",
            "xa::four",
        ];
        let tests = tests.map(str::to_owned).into();
        let errors_of = |list: &str| errors(&lists(list).unwrap(), &tests).len();
        for list in [
            "# x\n\nlist ba::three why",
            "list a::b::\nother xa::four",
            "list a::one_more",
            // The others are meant, too.
            "list a::\nlist ba::\nlist xa::four",
        ] {
            assert_eq!(errors_of(list), 0, "{list}");
        }
        for list in [
            "list a::none",
            "list none::",
            // A part of a name.
            "list three",
            "list ba::three\nlist ba::three",
            // The first name fits a::one_more, too; the second one, ba::three.
            "list a::one",
            "list a::",
        ] {
            assert!(errors_of(list) > 0, "{list}");
        }
        assert!(lists("one\n").is_err());
    }

    #[test]
    fn tests_are_found_in_modules_and_macros() {
        let text = "
            #[test] fn one() {}
            fn no() {}
            mod a { #[test] #[ignore] fn two() { } }
            proptest! {
                #![config(fn_x)]
                #[test]
                fn three(x in 0..1) { }
                #[inline]
                fn no() {}
            }
            macro_rules! m { () => { #[test] fn no() {} } }
        ";
        let mut tests = BTreeSet::new();
        find(text.parse().unwrap(), &["m"], &mut tests);
        let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
        assert_eq!(tests, ["m::a::two", "m::one", "m::three"]);
    }
}
