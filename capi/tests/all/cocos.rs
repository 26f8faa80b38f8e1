//! Programs as they are written for Cocos2d-x and axmol, and the crash that they had.

use crate::compiler::{has, output, package, place, program, run, texts};
use crate::programs::{SANITIZED, can_play, with_each};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

// The program moves and assigns objects to themselves on purpose.
const QUIET: &[&str] = &["-Wno-self-assign-overloaded", "-Wno-self-move"];
const FIFO: &[&str] = &["-DRP_COCOS_FIFO"];
const CPP20: &[&str] = &["-std=c++20"];

fn plays(compiler: &str, source: &str, flags: &[&[&str]]) {
    let flags = [&[QUIET], flags].concat().concat();
    with_each(&[compiler], source, &[&flags]);
}

#[test]
fn program_of_cocos2d_x() {
    plays("g++", "cocos.cpp", &[&["-DRP_CHECKED=0"]]);
}

#[test]
fn program_of_cocos2d_x_in_the_order_of_the_engine() {
    plays("clang++", "cocos.cpp", &[FIFO]);
}

#[test]
fn program_of_axmol() {
    plays("g++", "cocos.cpp", &[&["-DRP_AXMOL", "-std=c++20"]]);
}

#[test]
fn program_of_cocos2d_x_leaks_nothing() {
    plays("clang++", "cocos.cpp", &[SANITIZED]);
}

#[test]
fn program_of_cocos2d_x_leaks_nothing_in_the_order_of_the_engine() {
    plays("g++", "cocos.cpp", &[SANITIZED, FIFO]);
}

#[test]
fn program_of_cocos2d_x_v2() {
    plays("clang++", "cocos_v2.cpp", &[SANITIZED]);
    plays("g++", "cocos_v2.cpp", &[FIFO]);
}

/// Compiles and runs the program of axmol 3, with the shadow folder first on the include path.
fn plays_axmol3(compiler: &str, flags: &[&[&str]]) {
    let shadow = package().join("include/releasepool/axmol3");
    let first: &[&str] = &[&format!("-I{}", shadow.display())];
    plays(compiler, "axmol3.cpp", &[&[first], flags].concat());
}

/// Parts of an engine's folder that the headers look at. The engine's own four headers must not be found.
const ENGINE: &[(&str, &str)] = &[
    ("base/Object.h", "#error \"the engine's Object.h\"\n"),
    ("base/AutoreleasePool.h", "#error \"the engine's pool\"\n"),
    ("base/RefPtr.h", "#error \"the engine's RefPtr.h\"\n"),
    ("base/WeakPtr.h", "#error \"the engine's WeakPtr.h\"\n"),
    ("base/Config.h", "#define AX_ENABLE_SCRIPT_BINDING 1\n"),
    ("base/Macros.h", "#include \"axmol/base/Object.h\"\n"),
    (
        "tlx/memory.hpp",
        "namespace tlx {
struct retain_object_t {};
struct adopt_object_t {};
inline constexpr retain_object_t retain_object{};
inline constexpr adopt_object_t adopt_object{};
template <class T, class R> struct retain_ptr {};
template <class T, class U, class R> retain_ptr<T, R> static_pointer_cast(const retain_ptr<U, R>&);
}
",
    ),
];

#[test]
fn program_of_axmol_3() {
    plays_axmol3("g++", &[&["-DRP_CHECKED=0"]]);
    plays_axmol3("g++", &[CPP20, FIFO]);
    plays_axmol3("clang++", &[FIFO]);
    plays_axmol3("clang++", &[CPP20]);
}

#[test]
fn program_of_axmol_3_in_an_engine_leaks_nothing() {
    let ways: [(&str, &str, &[&[&str]]); 2] = [
        ("tlx", "clang++", &[SANITIZED]),
        ("axstd", "g++", &[SANITIZED, CPP20, FIFO]),
    ];
    for (tags, compiler, flags) in ways {
        let engine = place("axmol3").join(tags);
        for (name, text) in ENGINE {
            let at = engine.join("axmol").join(name);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(
                at,
                text.replace("namespace tlx", &format!("namespace {tags}")),
            )
            .unwrap();
        }
        let second: &[&str] = &[
            &format!("-I{}", engine.display()),
            &format!("-DTAGS={tags}"),
        ];
        plays_axmol3(compiler, &[&[second], flags].concat());
    }
}

/// Runs the callback scenario with a single-threaded pool: the process dies of a signal, or finds
/// that objects were used after their end or have leaked. The number of rounds bounds the time.
#[test]
fn single_threaded_pool_crashes_when_a_callback_autoreleases() {
    if !has("g++") {
        return;
    }
    let program = program("g++", "crash.cpp", &["-O1"]);
    let made = output(Command::new(program).args(["single", "1000000"]));
    let (_, text) = texts(&made);
    let is_damaged = made.status.code() == Some(9) && text.contains("damaged");
    assert!(
        made.status.signal().is_some() || is_damaged,
        "{:?}: {text}",
        made.status
    );
}

#[test]
fn pools_of_this_library_do_not() {
    if has("g++") {
        let program = program("g++", "crash.cpp", &["-O1"]);
        run(Command::new(program).args(["ours", "10000"]));
    }
}

#[test]
fn pools_of_this_library_do_not_with_inline_counts_and_address_sanitizer() {
    let flags = ["-O1", "-DRP_CHECKED=0", "-fsanitize=address"];
    if has("clang++") && can_play(&flags) {
        let program = program("clang++", "crash.cpp", &flags);
        run(Command::new(program).args(["ours", "3000"]));
    }
}
