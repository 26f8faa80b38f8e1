//! The headers compile without warnings, whatever the compiler, the standard and the flags.

use crate::compiler::{WARNINGS, command, has, output, package, place, run, texts};

const USE: &str = r#"
#include "releasepool.hpp"
struct Node : rp::Object { rp::Ref<Node> next; rp::Weak<Node> back; int value = 0; };
struct Point { double x, y; };
int use() {
    rp::AutoreleasePool pool("name");
    rp::CallbackScope callback;
    rp::Ref<Node> node = rp::make<Node>();
    rp::Ref<const Node> constant = node;
    rp::Slot<Node> slot(node);
    slot.store(nullptr);
    rp::HomeRef<Node> home(node);
    const rp::Thread thread = rp::Thread::current();
    thread.release(node);
    thread.post([] {});
    rp::Weak<Node> weak(node);
    const bool same = slot.compare_exchange(node.get(), weak.lock());
    return rp::create<Node>()->value + static_cast<int>(rp::create<Point>(Point{1, 2})->x)
        + (slot.load(pool) != nullptr) + (slot.swap(node) == node) + (home.get() != nullptr) + same
        + static_cast<int>(pool.drain() + pool.size() + rp::run_inbox() + pool.dump().size())
        + pool.contains(node.get()) + static_cast<int>(pool.drain_within(1, 0).released);
}
"#;

/// Standards and flags.
const WAYS: &[&[&str]] = &[
    &["-std=c++17"],
    &["-std=c++17", "-fno-exceptions"],
    &["-std=c++17", "-fno-rtti"],
    &["-std=c++20", "-fno-exceptions", "-fno-rtti"],
    &["-std=c++2b"],
];

fn cpp_header(compiler: &str) {
    cpp_text(compiler, USE, WAYS);
}

fn cpp_text(compiler: &str, text: &str, ways: &[&[&str]]) {
    if !has(compiler) {
        return;
    }
    let at = place("warnings").join(format!("use-{compiler}-{}.cpp", text.len()));
    std::fs::write(&at, text).unwrap();
    for way in ways {
        run(command(compiler)
            .args(WARNINGS)
            .args(["-Wsign-conversion", "-Wold-style-cast", "-fsyntax-only"])
            .args(*way)
            .arg("-I")
            .arg(package().join("include"))
            .arg(&at));
    }
}

#[test]
fn cpp_header_with_gcc() {
    cpp_header("g++");
}

#[test]
fn cpp_header_with_clang() {
    cpp_header("clang++");
}

#[test]
fn headers_of_engines() {
    for header in ["cocos2d", "cocos2d_v2", "axmol", "axmol3"] {
        let text = format!("#include \"releasepool/{header}.hpp\"\n");
        cpp_text("g++", &text, &WAYS[..1]);
        cpp_text("clang++", &text, &WAYS[3..4]);
    }
}

/// Uses that would write to memory before an object, and the beginning of the message.
const MISUSES: &[(&str, &str)] = &[
    (
        "struct Base { virtual ~Base() = default; }; void f(Base* b) { cocos2d::RefPtr<Base> r = b; }",
        "T derives from the counted class",
    ),
    (
        "struct Base { virtual void go() = 0; }; void f(Base* b) { rp::Ref<Base> r(b); }",
        "an interface that is no rp::Object",
    ),
];

#[test]
fn references_to_what_has_no_header_do_not_compile() {
    if !has("g++") {
        return;
    }
    let at = place("warnings").join("misuse.cpp");
    for (misuse, message) in MISUSES {
        let text = format!("#include \"releasepool/cocos2d.hpp\"\n{misuse}\n");
        std::fs::write(&at, text).unwrap();
        let mut compile = command("g++");
        compile.args(["-std=c++17", "-fsyntax-only", "-I"]);
        let made = output(compile.arg(package().join("include")).arg(&at));
        let (_, errors) = texts(&made);
        assert!(!made.status.success(), "{misuse}");
        assert!(errors.contains(message), "{misuse}: {errors}");
    }
}

#[test]
fn c_header() {
    let at = place("warnings").join("use.c");
    std::fs::write(&at, "#include \"releasepool.h\"\nint x;\n").unwrap();
    for compiler in ["gcc", "clang"] {
        if !has(compiler) {
            continue;
        }
        for standard in ["c99", "c11", "c17"] {
            run(command(compiler)
                .args(WARNINGS)
                .args(["-Wstrict-prototypes", "-fsyntax-only"])
                .arg(format!("-std={standard}"))
                .arg("-I")
                .arg(package().join("include"))
                .arg(&at));
        }
    }
}
