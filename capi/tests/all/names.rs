//! Names of classes in reports on objects that C++'s `new` has made.

use crate::compiler::{compile, has, output, place, program, run, source, texts};
use crate::programs::SANITIZED;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Returns the program as it is compiled in each way.
fn programs() -> impl Iterator<Item = PathBuf> {
    let ways: [(&str, &[&str]); 3] = [
        ("g++", &["-O2"]),
        ("g++", &["-fno-rtti", "-fno-exceptions"]),
        ("clang++", SANITIZED),
    ];
    static PROGRAMS: [OnceLock<PathBuf>; 3] = [const { OnceLock::new() }; 3];
    let all = ways.into_iter().zip(&PROGRAMS);
    all.filter(|((compiler, _), _)| has(compiler))
        .map(|((compiler, flags), made)| {
            made.get_or_init(|| program(compiler, "names.cpp", flags))
                .clone()
        })
}

#[test]
fn name_the_class_with_rtti_and_the_base_without() {
    for program in programs() {
        run(Command::new(program).arg("objects"));
    }
}

#[test]
fn of_a_part_without_rtti() {
    if has("g++") {
        let part = place("names").join("part.o");
        let mut command = compile("g++", &source("names.cpp"));
        command.args(["-DWITHOUT_RTTI", "-fno-rtti", "-c", "-o"]);
        run(command.arg(&part));
        let part = part.display().to_string();
        let program = program("g++", "names.cpp", &["-DHAS_PART_WITHOUT_RTTI", &part]);
        run(Command::new(program).arg("objects"));
    }
}

#[test]
fn in_lists_of_leaks() {
    if cfg!(feature = "leak-detection") {
        for program in programs() {
            run(Command::new(program).arg("leaks"));
        }
    }
}

fn aborts(way: &str, message: &str) {
    for program in programs().take(1) {
        let made = output(Command::new(program).arg(way));
        let (_, text) = texts(&made);
        assert_eq!(made.status.code(), None, "{text}");
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn in_messages_about_misuse() {
    aborts("abort", "game::Player at 0x");
    if cfg!(feature = "leak-detection") {
        aborts("release-twice", "game::Player at 0x");
        aborts("held", "was destroyed while a pool holds it");
        aborts("held", "game::Player at 0x");
    }
}

/// The library does not know where objects of C and C++ were made, so reports name no place.
#[test]
#[cfg(feature = "leak-detection")]
fn reports_name_no_file_of_the_interface() {
    use releasepool::leaks;
    use releasepool_capi::{class, object};
    use std::ptr;

    let desc = class::ClassDesc {
        name: c"texture".as_ptr(),
        size: 8,
        align: 0,
        payload_offset: 0,
        destroy: None,
        frees_memory: 0,
    };
    // SAFETY: the description is whole; the object is released once.
    unsafe {
        let class = class::rp_class_new(ptr::from_ref(&desc));
        let scope = leaks::scope();
        let made = object::rp_new(class);
        let report = scope.report();
        let text = report.to_string();
        assert!(
            text.contains("1 object of texture, 24 bytes, created by thread"),
            "{text}"
        );
        assert_eq!(report.groups()[0].site(), None);
        object::rp_release(made);
    }
}
