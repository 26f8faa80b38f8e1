//! The ABI: `abi.txt` lists it, so that nothing changes unseen.
//!
//! Not seen here: what functions do, the code of `releasepool.hpp`, which programs compile into themselves, and
//! whether Rust has the same parameters and fields.

use crate::compiler::{has, package, run, shared_library};
use releasepool_capi::embedded::rp_header_layout_get;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::process::Command;

/// Returns the declarations of the header, without comments.
fn declarations() -> Vec<String> {
    let header = fs::read_to_string(package().join("include/releasepool.h")).unwrap();
    let code: String = header
        .split("/*")
        .map(|part| part.split_once("*/").map_or(part, |(_, code)| code))
        .collect();
    let is_code = |line: &&str| !line.starts_with('#') && !["extern \"C\" {", "}"].contains(line);
    let words: Vec<_> = code
        .lines()
        .filter(is_code)
        .flat_map(str::split_whitespace)
        .collect();
    // Ends of declarations, not of the fields in them.
    let (mut found, mut open) = (vec![String::new()], 0);
    for word in words {
        open += word.matches('{').count();
        open -= word.matches('}').count();
        let last = found.last_mut().unwrap();
        *last += if last.is_empty() { "" } else { " " };
        *last += word;
        if open == 0 && word.ends_with(';') {
            found.push(String::new());
        }
    }
    assert_eq!(found.pop().as_deref(), Some(""));
    found
}

/// Returns the lines of `abi.txt`, as they are now.
fn listing() -> String {
    let symbols = run(Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(shared_library()));
    // A line has an address, a letter for the kind, and a name.
    let symbols = symbols.lines().filter_map(|line| line.split_once(' '));
    let symbols: BTreeSet<_> = symbols.map(|(_, kind_and_name)| kind_and_name).collect();
    let mut text = String::from("# Symbols of the shared library, as nm -D has them\n");
    for symbol in symbols {
        writeln!(text, "{symbol}").unwrap();
    }
    text += "# Declarations of releasepool.h\n";
    for declaration in BTreeSet::from_iter(declarations()) {
        writeln!(text, "{declaration}").unwrap();
    }
    let layout = rp_header_layout_get();
    write!(
        text,
        "# Headers of objects\nbytes {}\none strong reference {:#x}\nnew object {:#x}\nheld {:#x}\n",
        layout.header_bytes, layout.one_strong, layout.unique, layout.held
    )
    .unwrap();
    text
}

#[test]
fn listing_has_every_symbol_and_declaration() {
    if !has("nm") {
        return;
    }
    let (at, now) = (package().join("abi.txt"), listing());
    if std::env::var_os("RELEASEPOOL_RENEW_ABI").is_some() {
        fs::write(&at, &now).unwrap();
    }
    let listed = fs::read_to_string(at).unwrap();
    let listed: BTreeSet<_> = listed.lines().collect();
    let now: BTreeSet<_> = now.lines().collect();
    let gone: Vec<_> = listed.difference(&now).collect();
    let new: Vec<_> = now.difference(&listed).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "the ABI is not that of capi/abi.txt: gone {gone:#?}, new {new:#?}. If that is intended, run this test with \
         RELEASEPOOL_RENEW_ABI=1. If something is gone or has changed, programs that were compiled before break: \
         raise the number in the library's soname"
    );
}
