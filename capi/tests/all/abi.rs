//! The ABI: `abi.txt` lists it, so that nothing changes unseen, and the functions of the library
//! have the signatures of releasepool.h.
//!
//! Not seen here: what functions do, the code of `releasepool.hpp`, which programs compile into
//! themselves, and whether the fields of a struct are the same in Rust.

use crate::compiler::{has, package, run, shared_library};
use crate::interface::{Function, declarations, functions, parts};
use releasepool_capi::embedded::rp_header_layout_get;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::process::Command;

/// Returns the lines of `abi.txt`, as they are now.
fn listing() -> String {
    let symbols = run(Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(shared_library()));
    // A line has an address, a letter for the kind, and a name.
    let symbols = symbols.lines().filter_map(|line| line.split_once(' '));
    let symbols: BTreeSet<_> = symbols.map(|(_, kind_and_name)| kind_and_name).collect();
    let exported = symbols
        .iter()
        .map(|symbol| symbol.split_once(' ').unwrap().1.to_owned());
    let mut declared: BTreeSet<_> = functions()
        .into_iter()
        .map(|function| function.name)
        .collect();
    declared.insert("rp_checked".to_owned());
    assert_eq!(
        declared,
        exported.collect(),
        "header and library have other functions"
    );
    let mut text = String::from("# Symbols of the shared library, as nm -D has them\n");
    for symbol in symbols {
        writeln!(text, "{symbol}").unwrap();
    }
    text += "# Declarations of releasepool.h\n";
    let declarations = declarations()
        .into_iter()
        .map(|(_, declaration)| declaration);
    for declaration in declarations.collect::<BTreeSet<_>>() {
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

/// Returns one name, Rust's, for the types of C and of Rust that are passed alike.
fn kind(of: &str) -> &str {
    match of.trim() {
        "rp_text_fn" => "pointer",
        pointer if pointer.contains('*') || pointer.starts_with("Option<") => "pointer",
        "size_t" => "usize",
        "uint32_t" => "u32",
        "uint64_t" => "u64",
        "rp_status" => "Status",
        "rp_pool_token" => "Token",
        "rp_header_layout" => "HeaderLayout",
        "!" | "" => "void",
        other => other,
    }
}

fn signature<'a>(name: &str, parameters: impl Iterator<Item = &'a str>, result: &str) -> String {
    let parameters: Vec<_> = parameters.map(kind).collect();
    format!("{name}({}) -> {}", parameters.join(", "), kind(result))
}

/// Returns the signatures of the functions of releasepool.h.
fn functions_of_c() -> BTreeSet<String> {
    let signature = |function: &Function| {
        let types = function.parameters.iter().map(|parameter| &*parameter.of);
        signature(&function.name, types, &function.result)
    };
    functions().iter().map(signature).collect()
}

/// Returns the functions in the sources of the library.
fn functions_of_rust() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(package().join("src")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for part in text.split("#[unsafe(no_mangle)]").skip(1) {
            let declaration = part.split(['{', '=']).next().unwrap();
            let Some((_, function)) = declaration.split_once(" extern \"C\" fn ") else {
                assert!(declaration.contains(" static "), "{declaration}");
                continue;
            };
            let (name, parameters, result) = parts(function);
            let types = parameters
                .iter()
                .map(|parameter| parameter.split_once(": ").unwrap().1);
            let result = result.trim().trim_start_matches("->");
            found.insert(signature(name, types, result));
        }
    }
    found
}

#[test]
fn functions_take_and_return_what_the_header_says() {
    let (c, rust) = (functions_of_c(), functions_of_rust());
    let only_c: Vec<_> = c.difference(&rust).collect();
    let only_rust: Vec<_> = rust.difference(&c).collect();
    assert!(
        only_c.is_empty() && only_rust.is_empty(),
        "only in the header: {only_c:#?}, only in the library: {only_rust:#?}"
    );
}
