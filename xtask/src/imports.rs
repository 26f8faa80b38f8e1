//! Only the door to atomics and threads, `src/sync`, may name them.

use crate::rust::{self, lines_of};
use crate::{Outcome, read};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

const PATHS: [&[&[&str]]; 3] = [
    &[&["std", "core"], &["sync"], &["atomic"]],
    &[&["std"], &["thread", "thread_local"]],
    &[&["loom", "shuttle"]],
];

pub fn check() -> Outcome {
    let mut found = Vec::new();
    for path in rust::files("src", "rs")? {
        if !is_door(&path) {
            let file = rust::parse(&path, &read(&path)?)?;
            let lines = lines(file.into_token_stream());
            found.extend(lines.iter().map(|line| format!("{path}:{line}")));
        }
    }
    for place in &found {
        eprintln!("{place}: an atomic, a thread or a checker is named outside of src/sync");
    }
    Ok(found.is_empty())
}

fn is_door(path: &str) -> bool {
    let doors = ["src/sync.rs", "src/sync/", "src/compile_fail_tests"];
    doors.iter().any(|start| path.starts_with(start))
}

/// The lines where these are named.
fn lines(tokens: TokenStream) -> Vec<usize> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut found = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let rest = &tokens[i..];
        // `loom` is the name of a flag and of a feature, too.
        let is_path = rust::is_sign(rest.get(1), ':') && rust::is_sign(rest.get(2), ':');
        if is_path {
            found.extend(PATHS.iter().flat_map(|path| lines_of(rest, path)));
        }
        if let TokenTree::Group(group) = token {
            found.extend(lines(group.stream()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        lines(text.parse().unwrap())
    }

    #[test]
    fn atomics_threads_and_loom_are_found() {
        assert_eq!(found("use std::sync::atomic::AtomicU8;"), [1]);
        assert_eq!(
            found("use std::{\nrc::Rc, sync::{Arc, atomic},\nthread};"),
            [2, 3]
        );
        assert_eq!(found("fn f() { assert!(std::thread::panicking()) }"), [1]);
        assert_eq!(found("fn f() { loom::model(g) }"), [1]);
        assert_eq!(found("use shuttle::thread;"), [1]);
        assert_eq!(found("std::thread_local! {}"), [1]);
    }

    #[test]
    fn the_door_may_name_them() {
        assert!(is_door("src/sync.rs") && is_door("src/sync/parker.rs"));
        assert!(!is_door("src/slot.rs") && !is_door("src/syncs.rs"));
    }

    #[test]
    fn other_names_are_not() {
        for text in [
            "#[cfg(loom)] use crate::thread::Thread;",
            "use std::sync::Arc; // std::thread",
            "/// `std::thread`\nfn f() {}",
            "use crate::sync::atomic::AtomicU8;",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }
}
