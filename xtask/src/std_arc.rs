//! The tests and examples of the standard library's `Arc` and `Weak`, with `Ref` in their place.
//!
//! They are read from the sources that come with the nightly toolchain, changed as a user would
//! change a program (imports, `unsize!`, `T: 'static`), and run as a package in `target/arc`.

use crate::command::{Outcome, output, step};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package that is made.
const PACKAGE: &str = "target/arc";

/// Tests that cannot be written for `Ref`, and what only they use.
const IMPOSSIBLE: &[&str] = &[
    // They compare addresses first, by specialization.
    "fn eq(",
    "fn eq_unsized(",
    // Its values borrow.
    "fn weak_may_dangle(",
    // They use allocators and `UniqueArc`, which are unstable.
    "fn panic_no_leak(",
    "fn arc_doesnt_leak_allocator(",
    "fn test_unique_arc_weak(",
    "struct AllocCanary<'a>",
    "impl<'a> AllocCanary<'a>",
    "unsafe impl Allocator for AllocCanary",
    "impl Clone for AllocCanary",
    "impl Drop for AllocCanary",
];

/// The changes that a user makes by hand, besides imports and `let` statements that coerce: unstable traits and
/// parameters, which the tests only name; casts that coerce, and arguments; and `T: 'static`.
const BY_HAND: &str = r"
unsafe impl TrustedLen for Iter {} ==>
type Rc<T, A = std::alloc::Global> = Arc<T, A>; ==> type Rc<T> = Arc<T>;
Pin<Arc<dyn MyTrait>> {\n        arg\n ==> Pin<Arc<dyn MyTrait>> {\n        unsize!(arg => dyn MyTrait)\n
    pub fn pin_unique_arc(arg: Pin<UniqueArc<String>>) -> Pin<UniqueArc<dyn MyTrait>> {\n        arg\n    }\n ==>
Arc::<TestEq<[u8; 3]>>::new(TestEq(RefCell::new(0), [0, 1, 2])) as Arc<TestEq<[u8]>> ==> unsize!(Arc::new(TestEq(RefCell::new(0), [0, 1, 2])) => TestEq<[u8]>)
print_if_string(Arc::new(my_string)); ==> print_if_string(unsize!(Arc::new(my_string) => dyn Any + Send + Sync));
print_if_string(Arc::new(0i8)); ==> print_if_string(unsize!(Arc::new(0i8) => dyn Any + Send + Sync));
struct LinkedList<T> ==> struct LinkedList<T: 'static>
struct Node<T> ==> struct Node<T: 'static>
impl<T> Drop for LinkedList<T> ==> impl<T: 'static> Drop for LinkedList<T>
";

fn changed_by_hand(text: &str) -> String {
    let mut text = text.to_owned();
    for line in BY_HAND.lines().filter(|line| !line.is_empty()) {
        let line = line.replace(r"\n", "\n");
        let (from, to) = line.split_once(" ==>").expect("a change");
        text = text.replace(from, to.strip_prefix(' ').unwrap_or(to));
    }
    text
}

/// The beginning of each file.
const HEAD: &str = "//! Made by `cargo xtask std-arc`.\n#![allow(warnings)]\n";
const IMPORT: &str = "use releasepool::{Ref as Arc, Weak, unsize};";

pub fn check() -> Outcome {
    let sysroot = output(Command::new("rustc").args(["+nightly", "--print", "sysroot"]))?;
    let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
    let read = |path: &str| {
        let path: PathBuf = library.join(path);
        fs::read_to_string(&path).map_err(|e| format!("{} cannot be read: {e}", path.display()))
    };
    let package = Path::new(PACKAGE);
    let write = |path: &str, text: &str| {
        let path = package.join(path);
        fs::create_dir_all(path.parent().expect("in the package"))
            .and_then(|()| fs::write(&path, text))
            .map_err(|e| format!("{} cannot be written: {e}", path.display()))
    };
    write(
        "Cargo.toml",
        "[workspace]\n[package]\nname = \"arc\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\nreleasepool = { path = \"../..\" }\n",
    )?;
    write("src/lib.rs", "")?;
    let mut made = 0;
    for (to, text) in [
        ("arc", tests(&read("alloctests/tests/arc.rs")?)),
        ("sync", tests(&read("alloctests/tests/sync.rs")?)),
        ("examples", examples(&read("alloc/src/sync.rs")?)),
    ] {
        made += text.matches("#[test]\n").count();
        write(&format!("tests/{to}.rs"), &text)?;
    }
    // Far fewer than there are today: the files are others than this was written for.
    if made < 100 {
        return Err(format!("only {made} tests and examples were found"));
    }
    println!("{made} tests and examples");
    let status = step(Command::new("cargo").args([
        "test",
        "--quiet",
        "--manifest-path",
        &format!("{PACKAGE}/Cargo.toml"),
        "--tests",
    ]))?;
    Ok(status.success())
}

/// Returns a file of tests with its imports and coercions changed.
fn tests(text: &str) -> String {
    let mut text = text.to_owned();
    for item in IMPOSSIBLE {
        remove(&mut text, item);
    }
    text = changed_by_hand(&text);
    let mut changed = format!("{HEAD}{IMPORT}\n");
    if text.contains("TrustedLen") {
        changed.push_str("trait TrustedLen {}\nimpl<T> TrustedLen for T {}\n");
    }
    for line in text.lines() {
        let is_unstable = [
            "TrustedLen;",
            "{AllocError, Allocator",
            "std::option::Option::None",
        ];
        let is_import = line.trim_start().starts_with("use ");
        if is_import && is_unstable.iter().any(|name| line.contains(name)) {
            continue;
        }
        let is_of_arc = line.contains("alloc::sync") || line.contains("std::sync::{Arc");
        if is_import && is_of_arc {
            // A module has imports of its own.
            if line.starts_with(' ') {
                changed.push_str(IMPORT);
            }
        } else {
            changed.push_str(&coerced(line));
        }
        changed.push('\n');
    }
    changed
}

/// Removes the item that begins with `head` at the beginning of a line, with what is above it up to
/// an empty line.
fn remove(text: &mut String, head: &str) {
    let Some(at) = text.find(&format!("\n{head}")) else {
        return;
    };
    let start = text[..=at].rfind("\n\n").map_or(0, |blank| blank + 2);
    let length = text[at..]
        .find("\n}\n")
        .map_or(text.len() - at, |end| end + 2);
    text.replace_range(start..at + length, "");
}

/// Writes out the coercion of a `let` statement, if it has one.
fn coerced(line: &str) -> String {
    let with_macro = || {
        let (binding, rest) = line.trim_start().strip_prefix("let ")?.split_once(": ")?;
        let (of, value) = rest.split_once(" = ")?;
        let (handle, target) = of.strip_suffix('>')?.split_once('<')?;
        let is_unsized = target.starts_with("dyn ") || target.starts_with('[');
        let (value, comment) = value.rsplit_once(';')?;
        let coerces = value.starts_with("Arc::new(") || comment.contains("Unsizing");
        (["Arc", "Weak"].contains(&handle) && is_unsized && !target.contains(';') && coerces)
            .then(|| format!("let {binding}: {of} = unsize!({value} => {target});"))
    };
    with_macro().unwrap_or_else(|| line.to_owned())
}

/// Returns the examples in the documentation of `Arc` and `Weak`, each as a test; those that need
/// what is unstable are left out.
fn examples(source: &str) -> String {
    let mut changed = HEAD.to_owned();
    let mut example: Option<Vec<String>> = None;
    for (number, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let Some(line) = line.strip_prefix("///").or(line.strip_prefix("//!")) else {
            continue;
        };
        let line = line.strip_prefix(' ').unwrap_or(line);
        if !line.starts_with("```") {
            if let Some(lines) = &mut example {
                lines.push(line.strip_prefix("# ").unwrap_or(line).to_owned());
            }
        } else if let Some(lines) = example.take() {
            changed.push_str(&as_test(number, &lines.join("\n")).unwrap_or_default());
        } else {
            example = Some(Vec::new());
        }
    }
    changed
}

/// Returns an example as a test, if it is one of `Arc` on stable Rust.
fn as_test(number: usize, example: &str) -> Option<String> {
    let is_of_arc = example.contains("std::sync::Arc") || example.contains("std::sync::{");
    if !is_of_arc || example.contains("#![feature") || example.contains("Rc<") {
        return None;
    }
    let example = changed_by_hand(example);
    let mut test = format!("\n#[test]\nfn line_{number}() {{\n{IMPORT}\n");
    let is_no_attribute = |line: &&str| !line.starts_with("#![");
    for line in example.lines().filter(is_no_attribute) {
        let imports = line.trim().strip_prefix("use std::sync::");
        let imports = imports.filter(|names| !names.contains("::"));
        let names = imports.map(|names| names.trim_matches(['{', '}', ';']).split(", "));
        match names {
            Some(names) => names
                .filter(|name| !["Arc", "Weak"].contains(name))
                .for_each(|name| test.push_str(&format!("use std::sync::{name};"))),
            None => test.push_str(&coerced(line)),
        }
        test.push('\n');
    }
    if example.contains("fn main()") {
        test.push_str("main();\n");
    }
    test.push_str("}\n");
    Some(test)
}
