//! Small engines, which have the shape of real ones: the order of includes, macros and classes. The engines' own
//! files are not here.

use crate::compiler::{compile, has, package, place, program, run, source};
use std::path::Path;
use std::process::Command;

/// Compiles and runs the game of an engine in several ways: with the engine's macros first and last, and with its
/// assertions.
fn plays(engine: &Path, game: &str, more: &[&str]) {
    let include = format!("-I{}", engine.display());
    let ways: [(&str, &[&str]); 4] = [
        ("g++", &[]),
        ("clang++", &["-DMACROS_FIRST", "-std=c++20", "-DNDEBUG"]),
        (
            "g++",
            &[
                "-DMACROS_FIRST",
                "-DCOCOS2D_DEBUG=1",
                "-D_AX_DEBUG=1",
                "-DNDEBUG",
            ],
        ),
        (
            "g++",
            &[
                "-DCOCOS2D_DEBUG=0",
                "-D_AX_DEBUG=0",
                "-DRP_COCOS_FIFO",
                "-std=c++20",
            ],
        ),
    ];
    for (compiler, flags) in ways {
        if has(compiler) {
            let flags = [flags, more, &[&include]].concat();
            run(&mut Command::new(program(compiler, game, &flags)));
        }
    }
}

fn engine(name: &str) -> std::path::PathBuf {
    package().join("tests/engines").join(name)
}

#[test]
fn cocos2d_x_3() {
    plays(&engine("v3"), "../engines/v3/game.cpp", &[]);
}

#[test]
fn cocos2d_x_2() {
    plays(&engine("v2"), "../engines/v2/game.cpp", &[]);
}

#[test]
fn axmol_2() {
    plays(&engine("axmol2"), "../engines/axmol2/game.cpp", &[]);
}

#[test]
fn axmol_2_1_whose_class_is_called_ref() {
    let (from, to) = (engine("axmol2"), place("axmol2_1"));
    let copy = |name: &str, as_name: &str| {
        let at = to.join(as_name);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::copy(from.join(name), at).unwrap();
    };
    copy("platform/PlatformMacros.h", "platform/PlatformMacros.h");
    copy("base/Config.h", "base/Config.h");
    copy("base/Macros.h", "base/Macros.h");
    copy("base/Object.h", "base/Ref.h");
    plays(&to, "../engines/axmol2/game.cpp", &["-DAXMOL_2_1"]);
}

/// Two files of one program agree, whichever of them has which settings.
#[test]
fn files_with_other_settings_agree() {
    let ways: [(&str, [&[&str]; 2]); 2] =
        [("g++", [&["-DFIFO"], &[]]), ("clang++", [&[], &["-DFIFO"]])];
    for (compiler, [of_part, of_main]) in ways {
        if has(compiler) {
            let part = place("layout").join(format!("{compiler}.o"));
            let mut command = compile(compiler, &source("layout.cpp"));
            run(command
                .args(["-DPART", "-c", "-o"])
                .arg(&part)
                .args(of_part));
            let part = part.display().to_string();
            let flags = [of_main, &[&part]].concat();
            run(&mut Command::new(program(compiler, "layout.cpp", &flags)));
        }
    }
}
