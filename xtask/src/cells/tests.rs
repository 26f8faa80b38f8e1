//! Tests which code the check finds, and which it leaves alone.

use super::*;

/// Kind, name and line of what is found.
fn found(text: &str) -> Vec<String> {
    let found = find("a.rs", text).unwrap();
    let key = |f: &Finding| format!("{} {} {}", f.kind.name(), f.name, f.line);
    found.iter().map(key).collect()
}

fn of_body(body: &str) -> Vec<String> {
    found(&format!("fn f() {{ {body} }}"))
}

#[test]
fn cells_and_atomics_of_std_are_found_however_they_are_named() {
    assert_eq!(found("use std::cell::Cell;"), ["cell - 1"]);
    assert_eq!(
        found("use std::{\n    rc::Rc,\n    cell::{Cell, RefCell},\n};"),
        ["cell - 3"]
    );
    assert_eq!(
        found("fn f(x: &core::cell::Cell<u8>) {}\nfn g() {}"),
        ["cell f 1"]
    );
    assert_eq!(
        found("use std::sync::{Arc, atomic::AtomicBool};"),
        ["plain - 1"]
    );
    assert_eq!(
        found("use crossbeam_utils::atomic::AtomicCell;"),
        ["plain - 1"]
    );
    assert_eq!(found("static mut X: u8 = 1;"), ["plain - 1"]);
    assert_eq!(
        of_body("thread_local! { static X: u8 = 1; }"),
        ["plain f 1"]
    );
    for fine in [
        "use crate::sync::cell::Cell;",
        "use std::sync::Arc;",
        "// std::cell::Cell\n/// std::cell::Cell\nfn f() {}",
        "#[cfg(test)]\nmod tests { use std::cell::Cell; }",
        "mod a { #[cfg(all(test, not(loom)))] mod tests { use std::cell::Cell; } }",
    ] {
        assert!(found(fine).is_empty(), "{fine}");
    }
}

#[test]
fn locks_go_by_the_name_of_what_has_them() {
    for (text, wanted) in [
        ("static A: Mutex<u8> = Mutex::new(1);", vec!["plain A 1"]),
        ("struct S { a: u8, b: Arc<RwLock<u8>> }", vec!["plain b 1"]),
        (
            "global! { static A: CachePadded<Mutex<u8>> = X; }",
            vec!["plain A 1"],
        ),
        ("fn f() { let mut a = Mutex::new(1); }", vec!["plain a 1"]),
        (
            "fn f() { let a = Arc::new(Mutex::new(1)); }",
            vec!["plain a 1"],
        ),
        (
            "fn f() -> S { S { b: CachePadded::new(Mutex::new(1)) } }",
            vec!["plain b 1"],
        ),
        ("fn f() { g(); mpsc::channel() }", vec!["plain f 1"]),
        ("use std::sync::Mutex;", vec![]),
        ("fn f(a: Mutex) {}", vec![]),
    ] {
        assert_eq!(found(text), wanted, "{text}");
    }
}

#[test]
fn raw_writes_are_found() {
    for body in [
        "unsafe { (*p).a = 1 };",
        "unsafe { (*p).a.b |= 1 };",
        "unsafe { (*self.p).0 += 1 };",
        "unsafe { p.write(1) };",
        "p.write(\n1,\n);",
        "unsafe { *p = 1 };",
        "unsafe {\n *self.p += 1;\n}",
        "let q = unsafe { &raw mut (*p).a };",
        "unsafe { p.as_mut() }.f();",
        "unsafe { ptr::copy(a, b, 1) };",
        "unsafe { ptr::write_unaligned(a, 1) };",
        "unsafe { std::ptr::drop_in_place(a) };",
        "unsafe { slice::from_raw_parts_mut(a, 1) };",
        "assert!(unsafe { f(&mut *p) });",
    ] {
        assert_eq!(of_body(body).len(), 1, "{body}");
    }
    for body in [
        "unsafe { (*p).a == 1 };",
        "unsafe { (*p).a <= 1 };",
        "match unsafe { (*p).a } { x => x }",
        "self.a = 1;",
        "p.write();",
        "p.as_mut(1);",
        "unsafe { *p == 1 };",
        "let q = &raw const (*p).a;",
        "swap(&mut *a.lock(), b);",
        "let x = &mut y;",
        "ptr::eq(a, b);",
    ] {
        assert!(of_body(body).is_empty(), "{body}");
    }
}

#[test]
fn a_function_that_tells_the_models_may_write() {
    for tells in [
        "witness_write(p);",
        "unsafe { (*p).witness.write() };",
        "unsafe { note_write(p) };",
        "self.node().body.write();",
        "Page::touch(p);",
        "a.with_mut(|x| x);",
        "head.freed();",
    ] {
        let body = format!("p.write(1); {tells}");
        assert!(of_body(&body).is_empty(), "{tells}");
    }
    for tells_nothing in ["a.write();", "unnote_write(p);", "a.freed(1);", "touch(p);"] {
        let body = format!("p.write(1); {tells_nothing}");
        assert_eq!(of_body(&body).len(), 1, "{tells_nothing}");
    }
}

#[test]
fn each_function_tells_for_itself() {
    let text = "
        impl A {
            fn a(&self) { witness(); }
            fn b(&self) { p.write(1); p.write(2); fn c() { witness(); } }
            fn d(&self);
        }
        fn e() { fn g() { p.write(1); } witness(); }
    ";
    assert_eq!(found(text), ["raw b 4", "raw g 7"]);
}

#[test]
fn the_name_of_a_function_in_a_macro_is_no_function_around_it() {
    assert_eq!(of_body("m!(fn a) + p.write(1)"), ["raw f 1"]);
}

#[test]
fn all_files_are_looked_at_but_those_that_models_use_and_tests() {
    assert!(is_looked_at("src/slot.rs") && is_looked_at("src/pool/sync.rs"));
    for path in [
        "src/sync.rs",
        "src/sync/bits.rs",
        "src/model.rs",
        "src/pool/chain_tests.rs",
    ] {
        assert!(!is_looked_at(path), "{path}");
    }
}

#[test]
fn what_is_listed_may_be_and_must_be() {
    let findings = find("a.rs", "fn f() { p.write(1); }").unwrap();
    let said = |list| complaints(&findings, list);
    assert!(said("# why\n\nraw a.rs f it is ours").is_empty());
    assert!(said("")[0].contains("a.rs:1: f: a raw write, and nothing"));
    assert!(said("raw a.rs f")[0].contains("ci/cells.txt:1: no reason"));
    assert!(said("raw a.rs f so\nplain a.rs f so")[0].contains("ci/cells.txt:2: nothing"));
    assert_eq!(said("raw a.rs f so\ncell a.rs f so").len(), 1);
    let cell = find("a.rs", "use std::cell::Cell;").unwrap();
    assert!(complaints(&cell, "cell a.rs - so").len() == 2);
}
