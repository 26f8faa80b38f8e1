//! Lists of tests that scripts run or skip, in `ci/tests.txt`. Scripts hand the names to the test
//! program, which takes each for a part of names, and says nothing of those that fit no test. So
//! each name here must be that of a test or of a module with tests, and what scripts are given fits
//! no others.

use crate::command::{Outcome, read};
use crate::rust;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

const LISTS: &str = "ci/tests.txt";

/// The folders of the tests, in the crate and beside it, each with the file of the root module.
const ROOTS: [(&str, &str); 2] = [("src", "lib"), ("tests/all", "main")];

/// Checks all lists.
pub fn check() -> Outcome {
    let (text, tests) = (read(LISTS)?, all()?);
    let lists = lists(&text)?;
    let errors = lists
        .iter()
        .map(|(name, entries)| filters(name, entries, &tests));
    let errors: Vec<String> = errors.filter_map(Result::err).flatten().collect();
    errors
        .iter()
        .for_each(|error| eprintln!("{LISTS}: {error}"));
    Ok(errors.is_empty())
}

/// Prints what the test program is given for the tests in these lists, a line each: parts of names;
/// or if `whole`, for its option `--exact`, the names themselves, which take less time to compare
/// where that is slow.
pub fn print(names: &[&str], whole: bool) -> Outcome {
    let (text, tests) = (read(LISTS)?, all()?);
    let lists = lists(&text)?;
    let mut found = BTreeSet::new();
    for &name in names {
        let entries = lists
            .get(name)
            .ok_or_else(|| format!("{LISTS} has no list {name}"))?;
        if whole {
            found.extend(
                entries
                    .iter()
                    .flat_map(|entry| named(entry, &tests))
                    .map(str::to_owned),
            );
        } else {
            found.extend(filters(name, entries, &tests).map_err(|e| e.join("\n"))?);
        }
    }
    found.iter().for_each(|name| println!("{name}"));
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

/// Returns parts of names that fit the tests which are meant and no others, or what is wrong with the list.
/// A module is one where that is so, and else all its tests.
fn filters(
    list: &str,
    names: &[&str],
    tests: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Vec<String>> {
    let (mut errors, mut meant, mut filters) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for name in names {
        let of_name = named(name, tests);
        if of_name.is_empty() {
            errors.push(format!("{list} names {name}, but there is no such test"));
        } else if of_name.is_subset(&meant) {
            errors.push(format!("{list} names {name} twice"));
        }
        meant.extend(of_name);
    }
    let other = |part: &str| {
        let mut others = tests.iter().filter(|test| !meant.contains(&***test));
        others.find(|test| test.contains(part))
    };
    for name in names {
        let parts = match other(name) {
            None => BTreeSet::from([*name]),
            Some(_) => named(name, tests),
        };
        let too_much = parts.iter().filter_map(|part| Some((part, other(part)?)));
        errors.extend(
            too_much.map(|(part, other)| {
                format!("{list} means {part}, but {other} has that name, too")
            }),
        );
        filters.extend(parts.into_iter().map(str::to_owned));
    }
    if errors.is_empty() {
        Ok(filters)
    } else {
        Err(errors)
    }
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
        for path in rust::files(folder, "rs")? {
            let name = path[folder.len() + 1..]
                .trim_end_matches(".rs")
                .trim_end_matches("/mod");
            let module = if name == root {
                String::new()
            } else {
                name.replace('/', "::") + "::"
            };
            let file: TokenStream = read(&path)?.parse().map_err(|e| format!("{path}: {e}"))?;
            find(file, &module, &mut tests);
        }
    }
    Ok(tests)
}

/// Finds each `#[test] ... fn name`, also in the arguments of macros.
fn find(tokens: TokenStream, module: &str, tests: &mut BTreeSet<String>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut is_test = false;
    for (i, token) in tokens.iter().enumerate() {
        let follows = |n: usize, word| i >= n && rust::is_word(tokens.get(i - n), word);
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                is_test |= group.stream().to_string() == "test";
            }
            TokenTree::Group(group) if follows(2, "mod") => {
                find(
                    group.stream(),
                    &format!("{module}{}::", tokens[i - 1]),
                    tests,
                );
            }
            TokenTree::Group(group) if !follows(3, "macro_rules") => {
                find(group.stream(), module, tests)
            }
            TokenTree::Ident(name) if follows(1, "fn") && std::mem::take(&mut is_test) => {
                tests.insert(format!("{module}{name}"));
            }
            _ => {}
        }
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
        let of = |names: &[&str]| match filters("list", names, &tests) {
            Ok(found) => found.into_iter().collect::<Vec<_>>().join(" "),
            Err(errors) => format!("{} errors", errors.len()),
        };
        for (names, found) in [
            (&["ba::three"][..], "ba::three"),
            (&["a::b::"], "a::b::"),
            (&["a::one_more"], "a::one_more"),
            (&["a::"], "a::b::two a::one a::one_more"),
            // The others are meant, too.
            (&["a::", "ba::", "xa::four"], "a:: ba:: xa::four"),
            (&["a::none"], "1 errors"),
            (&["none::"], "1 errors"),
            // A part of a name.
            (&["three"], "1 errors"),
            (&["ba::three", "ba::three"], "1 errors"),
            // It fits a::one_more, too.
            (&["a::one"], "1 errors"),
        ] {
            assert_eq!(of(names), found, "{names:?}");
        }
    }

    #[test]
    fn lists_are_read() {
        let found = lists("# x\n\none a::b\none c::\ntwo d\n").unwrap();
        assert_eq!(
            (&*found["one"], &*found["two"]),
            (&["a::b", "c::"][..], &["d"][..])
        );
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
        find(text.parse().unwrap(), "m::", &mut tests);
        assert_eq!(
            tests,
            ["m::one", "m::a::two", "m::three"]
                .map(str::to_owned)
                .into()
        );
    }
}
