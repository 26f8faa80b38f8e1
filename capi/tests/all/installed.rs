//! Consumers of a library that is installed at a path with a space, and then moved.

use crate::compiler::{has, package, place, run, shared_library, static_library};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const C: &str = r#"
#include <releasepool.h>
int main(void) {
    rp_class_desc desc = {"node", 24, 0, 0, 0, 0};
    const rp_class *type = rp_class_new(&desc);
    rp_pool_token pool = rp_pool_push();
    size_t released = 0;
    rp_new_autoreleased(type);
    return rp_pool_pop(pool, &released) == RP_OK && released == 1 ? 0 : 1;
}
"#;

const CPP: &str = r#"
#include <releasepool/cocos2d.hpp>
struct Node : cocos2d::Ref { bool init() { return true; } CREATE_FUNC(Node) };
int main() {
    cocos2d::AutoreleasePool pool;
    rp::Weak<Node> weak(Node::create());
    pool.clear();
    return weak.expired() ? 0 : 1;
}
"#;

const AXMOL3: &str = r#"
#include "axmol/base/AutoreleasePool.h"
#include "axmol/base/RefPtr.h"
#include "axmol/base/WeakPtr.h"
struct Sprite : ax::Object {};
int main() {
    ax::RefPtr<Sprite> sprite(new Sprite, tlx::adopt_object);
    ax::WeakPtr<Sprite> weak(sprite.get());
    ax::AutoreleasePool pool;
    sprite.detach()->autorelease();
    pool.clear();
    return weak.expired() ? 0 : 1;
}
"#;

/// Installs the library as it was built for these tests, moves the tree, and returns its new place.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let place = place("installed");
        let (first, moved) = (place.join("a first place"), place.join("a moved place"));
        for old in [&first, &moved] {
            let _ = fs::remove_dir_all(old);
        }
        let built = static_library();
        assert_eq!(built.parent(), shared_library().parent());
        run(Command::new("bash")
            .arg(package().join("install.sh"))
            .arg("--prefix")
            .arg(&first)
            .arg("--built")
            .arg(built.parent().unwrap()));
        fs::rename(&first, &moved).unwrap();
        for (name, text) in [("use.c", C), ("use.cpp", CPP), ("axmol3.cpp", AXMOL3)] {
            fs::write(place.join(name), text).unwrap();
        }
        moved
    })
}

fn source(name: &str) -> PathBuf {
    prefix();
    place("installed").join(name)
}

/// Runs a shell script, in which `$prefix` is the installed tree and `$place` a folder of its own.
fn shell(name: &str, script: &str) -> PathBuf {
    let place = place("installed").join(name);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    run(Command::new("bash")
        .args(["-euc", script])
        .current_dir(&place)
        .env("prefix", prefix())
        .env("place", &place)
        .env("sources", source("use.c").parent().unwrap())
        .env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")));
    place.join("use")
}

fn works(program: &Path) {
    run(Command::new(program).env("LD_LIBRARY_PATH", prefix().join("lib")));
}

const FLAGS: &str = "-Wall -Wextra -Wpedantic -Werror";

#[test]
fn pkg_config_shared() {
    for (compiler, file) in [
        ("gcc", "use.c"),
        ("clang", "use.c"),
        ("g++", "use.cpp"),
        ("clang++", "use.cpp"),
    ] {
        if has(compiler) && has("pkg-config") {
            let standard = if file == "use.c" { "c11" } else { "c++17" };
            let script = format!(
                r#"eval "{compiler} -std={standard} {FLAGS} '$sources/{file}' -o use $(pkg-config --cflags --libs releasepool)""#
            );
            works(&shell(&format!("pkg-config-{compiler}"), &script));
        }
    }
}

/// Links the static library alone, and a program that is static as a whole: neither needs a library
/// at run time.
#[test]
fn pkg_config_static() {
    if !has("g++") || !has("pkg-config") {
        return;
    }
    for (name, flag, libraries) in [
        ("library", "", "releasepool-static"),
        ("program", "-static", "--static releasepool"),
    ] {
        let script = format!(
            r#"eval "g++ {flag} -std=c++17 {FLAGS} '$sources/use.cpp' -o use $(pkg-config --cflags --libs {libraries})""#
        );
        run(&mut Command::new(shell(
            &format!("pkg-config-static-{name}"),
            &script,
        )));
    }
}

/// Compiles a game by the lines of capi/README.md; it starts without further settings.
#[test]
fn lines_of_the_readme() {
    if !has("c++") || !has("pkg-config") {
        return;
    }
    let readme = fs::read_to_string(package().join("README.md")).unwrap();
    let lines = readme
        .lines()
        .filter(|line| line.starts_with("c++ ") && line.contains("game.cpp"));
    let mut n = 0;
    for line in lines {
        let script = format!("cp \"$sources/use.cpp\" game.cpp\neval \"{line} -o use\"");
        run(&mut Command::new(shell(&format!("readme-{n}"), &script)));
        n += 1;
    }
    assert_eq!(n, 2, "lines of the readme");
}

#[test]
fn cmake() {
    if !has("cmake") || !has("g++") {
        return;
    }
    for (name, target, flag) in [
        ("shared", "releasepool", ""),
        ("static", "static", ""),
        ("all static", "static", "-static"),
    ] {
        let script = format!(
            r#"cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(use CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(releasepool 0.1 REQUIRED)
add_executable(use use.cpp)
target_compile_options(use PRIVATE -Wall -Wextra -Werror)
target_link_libraries(use releasepool::{target} {flag})
END
cp "$sources/use.cpp" .
cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix"
cmake --build build
cp build/use use"#
        );
        run(&mut Command::new(shell(&format!("cmake {name}"), &script)));
    }
}

/// Makes a folder of an engine, with headers that must not be included, and copies its program.
const ENGINE: &str = r#"mkdir -p engine/axmol/base
for name in Object AutoreleasePool RefPtr WeakPtr; do
    echo '#error the header of the engine' >engine/axmol/base/$name.h
done
cp "$sources/axmol3.cpp" .
"#;

#[test]
fn axmol_3_by_pkg_config() {
    if has("clang++") && has("pkg-config") {
        let script = format!(
            r#"{ENGINE}eval "clang++ -std=c++17 {FLAGS} -I$(pkg-config --variable=axmol3dir releasepool) -Iengine \
                axmol3.cpp -o use $(pkg-config --cflags --libs releasepool)""#
        );
        works(&shell("pkg-config-axmol3", &script));
    }
}

#[test]
fn axmol_3_by_cmake() {
    if has("cmake") && has("g++") {
        let script = format!(
            r#"{ENGINE}cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(use CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(releasepool 0.1 REQUIRED)
add_executable(use axmol3.cpp)
target_include_directories(use PRIVATE engine)
target_include_directories(use BEFORE PRIVATE "${{releasepool_AXMOL3_DIR}}")
target_link_libraries(use releasepool::releasepool)
END
cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix"
cmake --build build
cp build/use use"#
        );
        works(&shell("cmake axmol3", &script));
    }
}

/// Builds and runs the example by its CMake file.
#[test]
fn example_of_a_scene_graph() {
    if !has("cmake") || !has("g++") {
        return;
    }
    let example = package().join("../examples/cpp");
    let script = format!(
        r#"cmake -S "{}" -B build -DCMAKE_PREFIX_PATH="$prefix"
cmake --build build
cp build/scene use"#,
        example.display()
    );
    works(&shell("scene", &script));
}

#[test]
fn meson() {
    if !has("meson") || !has("ninja") || !has("pkg-config") {
        return;
    }
    let script = r#"cat >meson.build <<END
project('use', 'cpp', default_options: ['cpp_std=c++17', 'werror=true', 'warning_level=3'])
executable('use', 'use.cpp', dependencies: dependency('releasepool', version: '>=0.1'))
END
cp "$sources/use.cpp" .
meson setup build
ninja -C build
cp build/use use"#;
    works(&shell("meson", script));
}

/// Links a second static library that was written in Rust.
#[test]
fn another_rust_library_links_beside_it() {
    if !has("gcc") || !has("rustc") {
        return;
    }
    let script = r#"cat >second.rs <<END
#[unsafe(no_mangle)]
pub extern "C" fn second() -> i32 {
    let numbers: Vec<i32> = (0..10).collect();
    std::thread::spawn(move || numbers.iter().sum()).join().unwrap()
}
END
rustc --edition 2024 -O --crate-type staticlib second.rs
cat >use.c <<END
#include <releasepool.h>
int second(void);
int main(void) {
    rp_pool_token pool = rp_pool_push();
    return rp_pool_pop(pool, 0) == RP_OK && second() == 45 ? 0 : 1;
}
END
gcc -I "$prefix/include" use.c -o use "$prefix/lib/libreleasepool.a" libsecond.a -lpthread -ldl -lm"#;
    run(&mut Command::new(shell("second", script)));
}
