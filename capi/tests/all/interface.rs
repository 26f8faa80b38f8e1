//! The header says everything about every function, and has the functions of the library, and no others.

use crate::compiler::{has, package, run, shared_library};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// The phrases by which functions say who owns what; see the beginning of the header.
const PHRASES: &[&str] = &[
    "Ownership: the caller owns the result. Give it up by ",
    "Ownership: the caller owns the result. Give it up by rp_",
    "Ownership: the result is lent. ",
    "Ownership: takes the argument.",
    "Ownership: takes the argument unless it fails.",
    "Ownership: borrows the arguments.",
    "Ownership: none.",
];

/// A function of the header: its name, and the comment before it.
pub fn functions() -> Vec<(String, String)> {
    let header = fs::read_to_string(package().join("include/releasepool.h")).unwrap();
    let mut found = Vec::new();
    for part in header.split("\n/* ").skip(1) {
        let Some((comment, code)) = part.split_once("*/\n") else {
            continue;
        };
        let declaration = code.split(';').next().unwrap();
        let is_function = !declaration.starts_with("typedef")
            && !declaration.starts_with("extern")
            && !declaration.starts_with('#');
        if let (true, Some(at)) = (is_function, declaration.find('(')) {
            let name = declaration[..at].rsplit([' ', '*', '\n']).next().unwrap();
            let comment = comment.split_whitespace().collect::<Vec<_>>().join(" ");
            found.push((name.to_owned(), comment.replace(" * ", " ")));
        }
    }
    found
}

#[test]
fn every_function_says_who_owns_what_and_which_threads_may_call_it() {
    let functions = functions();
    assert!(functions.len() > 90, "{}", functions.len());
    for (name, comment) in functions {
        let phrases = PHRASES.iter().filter(|phrase| comment.contains(**phrase));
        assert!(
            phrases.count() >= 1,
            "{name} does not say who owns what: {comment}"
        );
        assert_eq!(
            comment.matches("Ownership: ").count(),
            1,
            "{name}: {comment}"
        );
        assert_eq!(comment.matches("Threads: ").count(), 1, "{name}: {comment}");
        assert_eq!(comment.matches("Errors: ").count(), 1, "{name}: {comment}");
        let order =
            ["Ownership: ", "Threads: ", "Errors: "].map(|word| comment.find(word).unwrap());
        assert!(order.is_sorted(), "{name}: {comment}");
    }
}

#[test]
fn header_and_library_have_the_same_functions() {
    if !has("nm") {
        return;
    }
    let symbols = run(Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(shared_library()));
    let exported: BTreeSet<String> = symbols
        .lines()
        .map(|line| line.rsplit(' ').next().unwrap().to_owned())
        .collect();
    let mut declared: BTreeSet<String> = functions().into_iter().map(|(name, _)| name).collect();
    declared.insert("rp_checked".to_owned());
    let only_here: Vec<_> = declared.symmetric_difference(&exported).collect();
    assert!(
        only_here.is_empty(),
        "in one of the two only: {only_here:?}"
    );
    assert!(exported.iter().all(|name| name.starts_with("rp_")));
}

#[test]
fn shared_library_has_a_versioned_name() {
    if !has("readelf") {
        return;
    }
    let dynamic = run(Command::new("readelf").arg("-d").arg(shared_library()));
    assert!(
        dynamic.contains("soname: [libreleasepool.so.0]"),
        "{dynamic}"
    );
}

/// Every function that a test program must call is called in one.
#[test]
fn every_function_is_called_by_a_test() {
    let mut text = String::new();
    for entry in fs::read_dir(package().join("tests/programs")).unwrap() {
        text += &fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    text += &fs::read_to_string(package().join("include/releasepool.hpp")).unwrap();
    for (name, _) in functions() {
        assert!(text.contains(&format!("{name}(")), "no test calls {name}");
    }
}
