//! `adopt.sh` on small engines, which have the shape of real ones: folders, names of files, and the lines that it
//! changes.

use crate::compiler::{compile, has, output, package, place, run, texts};
use crate::installed::prefix;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small engine, its folders, what adopt.sh says of it, and the beginning of its test program.
struct Engine {
    says: &'static str,
    top: &'static str,
    base: &'static str,
    files: &'static [(&'static str, &'static str)],
    program: &'static str,
}

/// The text of a file that must not be used any more.
const OLD: &str = "#error \"the engine's own\"\n";

/// The loop of a worker: when a task ends, what the task has autoreleased must end.
const LOOP: &str = "#pragma once
#include <functional>
template <class Tasks> void work(Tasks& tasks) {
    struct { void* get() { return nullptr; } } thread_data;
    for (; !tasks.empty(); tasks.pop()) {
        auto task = tasks.front();

        task(thread_data.get());
    }
}
";
const LOOP_OF_V3: &str = "#pragma once
#include <functional>
template <class Tasks> void work(Tasks& tasks) {\r
    for (; !tasks.empty(); tasks.pop()) {\r
        auto task = [&] { tasks.front()(nullptr); };\r
        task();\r
    }\r
}\r
";

const WORKS: &str = "
#include <queue>
static int ended;
struct Hero : COUNTED { ~Hero() override { ++ended; } };
int main() {
    int wrong = 0;
    std::queue<std::function<void(void*)>> tasks;
    tasks.push([](void*) { (new Hero)->autorelease(); });
    tasks.push([&](void*) { wrong = ended != 1; });
    work(tasks);
    (new Hero)->release();
    Hero* const known = new Hero;
    known->LUA_ID = 7;
    known->release();
    return wrong + (cocos2d::ScriptEngineManager::getInstance()->getScriptEngine()->forgotten != 1);
}
";

/// The part of a script engine that the engine's classes use.
const SCRIPT: &str = "#pragma once
namespace cocos2d {
enum ccScriptType { kScriptTypeLua, kScriptTypeJavascript };
struct Engine {
    int forgotten = 0;
    ccScriptType getScriptType() { return kScriptTypeLua; }
    void removeScriptObjectByObject(void*) { ++forgotten; }
    void removeScriptObjectByCCObject(void*) { ++forgotten; }
};
struct ScriptEngineManager {
    Engine engine;
    Engine* getScriptEngine() { return &engine; }
    static ScriptEngineManager* getInstance() {
        static ScriptEngineManager manager;
        return &manager;
    }
    static ScriptEngineManager* sharedManager() { return getInstance(); }
};
using CCScriptEngineManager = ScriptEngineManager;
}
namespace ax {
using cocos2d::ScriptEngineManager, cocos2d::kScriptTypeJavascript;
}
";

const ENGINES: &[Engine] = &[
    Engine {
        says: "is Cocos2d-x 2",
        top: "cocos2dx",
        base: "cocos2dx/cocoa",
        files: &[
            ("CCObject.h", OLD),
            ("CCObject.cpp", OLD),
            ("CCAutoreleasePool.h", OLD),
            ("CCAutoreleasePool.cpp", OLD),
            ("CCZone.h", OLD),
            ("CCZone.cpp", OLD),
            ("../script_support/CCScriptSupport.h", SCRIPT),
            ("../proj.linux/cocos2dx.mk", "CXXFLAGS += -Wall\n"),
        ],
        program: "#include \"cocoa/CCZone.h\"
#include \"cocoa/CCAutoreleasePool.h\"
#include \"script_support/CCScriptSupport.h\"
#define COUNTED cocos2d::CCObject
#define LUA_ID m_nLuaID
template <class Tasks> void work(Tasks& tasks) {
    for (; !tasks.empty(); tasks.pop()) {
        rp::CallbackScope scope;
        tasks.front()(nullptr);
    }
}
#include <functional>",
    },
    Engine {
        says: "is Cocos2d-x 3.17.2",
        top: "cocos",
        base: "cocos/base",
        files: &[
            ("../cocos2d.h", "#define COCOS2D_VERSION 0x00031702\n"),
            ("CCRef.h", OLD),
            ("CCRef.cpp", OLD),
            ("CCAutoreleasePool.h", OLD),
            ("CCAutoreleasePool.cpp", OLD),
            ("CCRefPtr.h", OLD),
            ("CCVector.h", OLD),
            ("CCMap.h", OLD),
            ("CCAsyncTaskPool.h", LOOP_OF_V3),
            ("CCScriptSupport.h", SCRIPT),
            (
                "../CMakeLists.txt",
                "include(../cmake/Standard.cmake)
add_library(cocos2d base/CCRef.cpp base/CCAutoreleasePool.cpp)
target_include_directories(cocos2d PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_compile_definitions(cocos2d PUBLIC CC_ENABLE_SCRIPT_BINDING)
",
            ),
            (
                "../../cmake/Standard.cmake",
                "set(CMAKE_CXX_STANDARD 11)\nset(CMAKE_CXX_STANDARD 11 PARENT_SCOPE)\n",
            ),
            (
                "../../tests/Application.mk",
                "APP_CPPFLAGS := -frtti -std=c++11\n",
            ),
        ],
        program: "#include \"base/CCVector.h\"\n#include \"base/CCAsyncTaskPool.h\"
#include \"base/CCScriptSupport.h\"
#define COUNTED cocos2d::Ref
#define LUA_ID _luaID",
    },
    Engine {
        says: "is axmol 2.2.1",
        top: "core",
        base: "core/base",
        files: &[
            (
                "../axmolver.h.in",
                "#define AX_VERSION_MAJOR 2\n#define AX_VERSION_MINOR 2\n#define AX_VERSION_PATCH 1\n",
            ),
            ("Object.h", OLD),
            ("Object.cpp", OLD),
            ("AutoreleasePool.h", OLD),
            ("AutoreleasePool.cpp", OLD),
            ("RefPtr.h", OLD),
            ("Vector.h", OLD),
            ("Map.h", OLD),
            ("JobSystem.cpp", LOOP),
            ("ScriptSupport.h", SCRIPT),
            (
                "../CMakeLists.txt",
                "add_library(${_AX_CORE_LIB} ${_AX_SRC})\n",
            ),
        ],
        program: "#include \"base/Map.h\"\n#include \"base/JobSystem.cpp\"
#include \"base/ScriptSupport.h\"
#define COUNTED ax::Object
#define LUA_ID _luaID",
    },
    Engine {
        says: "is axmol 3.0.0",
        top: "axmol",
        base: "axmol/base",
        files: &[
            (
                "../axmolver.h.in",
                "#define AX_VERSION_MAJOR 3\n#define AX_VERSION_MINOR 0\n#define AX_VERSION_PATCH 0\n",
            ),
            ("Object.h", OLD),
            ("Object.cpp", OLD),
            ("AutoreleasePool.h", OLD),
            ("AutoreleasePool.cpp", OLD),
            ("RefPtr.h", OLD),
            ("WeakPtr.h", OLD),
            ("WeakPtr.cpp", OLD),
            ("JobSystem.cpp", LOOP),
            ("ScriptSupport.h", SCRIPT),
            (
                "../CMakeLists.txt",
                "add_library(${_AX_CORE_LIB} ${_AX_SRC})\n",
            ),
        ],
        program: "#include \"base/WeakPtr.h\"\n#include \"base/JobSystem.cpp\"
#include \"base/ScriptSupport.h\"
#define COUNTED ax::Object
#define LUA_ID _luaID",
    },
];

/// Returns the text of each file below a folder.
fn tree(at: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.append(&mut tree(&path));
        } else {
            let text = fs::read_to_string(&path).unwrap_or_default();
            found.insert(path, text);
        }
    }
    found
}

/// Writes an engine's files to the folder of a test, and returns it.
fn write(engine: &Engine, test: &str) -> PathBuf {
    let to = place("adopt").join(format!("{test} {}", engine.top));
    let _ = fs::remove_dir_all(&to);
    for (name, text) in engine.files {
        let mut at = to.join(engine.base);
        for part in Path::new(name) {
            if part == ".." {
                assert!(at.pop())
            } else {
                at.push(part)
            }
        }
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    }
    to
}

/// Runs the script, and returns how it ended and what it said.
fn adopt(engine: &Path, more: &[&str]) -> (i32, String) {
    let made = output(
        Command::new("bash")
            .arg(package().join("adopt.sh"))
            .arg(engine)
            .args(more),
    );
    let (out, err) = texts(&made);
    (made.status.code().unwrap(), out + &err)
}

fn with_library(engine: &Path) -> (i32, String) {
    adopt(engine, &["--prefix", prefix().to_str().unwrap()])
}

#[test]
fn each_version_is_adopted_compiles_and_is_restored() {
    for engine in ENGINES {
        let at = write(engine, "each");
        let before = tree(&at);

        let (code, check) = adopt(&at, &["--check"]);
        assert!(code == 0 && check.contains(engine.says), "{check}");
        assert_eq!(tree(&at), before, "--check changes nothing");

        let (code, said) = with_library(&at);
        let check = check.strip_suffix("nothing was changed\n").unwrap();
        assert!(code == 0 && said.starts_with(check), "{said}");
        let adopted = tree(&at);
        let changed = |name: &&Path| adopted[*name] != before[*name];
        let kept = before
            .keys()
            .map(PathBuf::as_path)
            .filter(|name| !changed(name));
        for name in kept {
            let is_read = [
                "cocos2d.h",
                "axmolver.h.in",
                "CCScriptSupport.h",
                "ScriptSupport.h",
            ];
            let is_read = is_read.iter().any(|other| name.ends_with(other));
            assert!(is_read, "{} is as it was:\n{said}", name.display());
        }
        let (code, again) = with_library(&at);
        assert!(code == 0 && again.contains("already adopted"), "{again}");
        assert_eq!(tree(&at), adopted);

        if has("g++") {
            let program = at.join("use.cpp");
            fs::write(&program, format!("{}{WORKS}", engine.program)).unwrap();
            let mut command = compile("g++", &program);
            command
                .args([
                    "-Wno-conversion",
                    "-DCC_ENABLE_SCRIPT_BINDING",
                    "-DAX_ENABLE_SCRIPT_BINDING",
                ])
                .arg("-I")
                .arg(&at)
                .arg("-I")
                .arg(at.join(engine.top));
            let sources = engine
                .files
                .iter()
                .filter(|(name, text)| name.ends_with(".cpp") && *text == OLD);
            command.args(sources.map(|(name, _)| at.join(engine.base).join(name)));
            let library = at.join("releasepool/lib/libreleasepool.a");
            run(command
                .arg(library)
                .args(["-pthread", "-ldl", "-lm", "-o"])
                .arg(at.join("use")));
            run(&mut Command::new(at.join("use")));
            if engine.top == "cocos" {
                // Refused: the destructor that this file compiles would not tell the script engine.
                let early = format!("#include <releasepool/cocos2d.hpp>\n{}", engine.program);
                fs::write(&program, early).unwrap();
                let mut command = compile("g++", &program);
                let command = command.arg("-fsyntax-only").arg("-I").arg(at.join("cocos"));
                let (_, said) = texts(&output(command));
                assert!(said.contains("include this header instead"), "{said}");
            }
            fs::remove_file(at.join("use")).unwrap();
            fs::remove_file(program).unwrap();
        }

        let (code, undone) = adopt(&at, &["--undo"]);
        assert_eq!(code, 0, "{undone}");
        assert_eq!(tree(&at), before, "--undo restores everything");
    }
}

#[test]
fn a_game_in_another_folder_links_the_engine_by_cmake() {
    if !has("cmake") || !has("g++") {
        return;
    }
    let at = write(&ENGINES[1], "cmake");
    assert_eq!(with_library(&at).0, 0);
    let game = at.join("game");
    fs::create_dir_all(&game).unwrap();
    fs::write(
        game.join("use.cpp"),
        format!("{}{WORKS}", ENGINES[1].program),
    )
    .unwrap();
    fs::write(
        game.join("CMakeLists.txt"),
        "cmake_minimum_required(VERSION 3.11)
project(game CXX)
add_subdirectory(../cocos engine)
add_executable(use use.cpp)
target_link_libraries(use cocos2d)
",
    )
    .unwrap();
    run(Command::new("cmake")
        .arg("-S")
        .arg(&game)
        .arg("-B")
        .arg(game.join("build")));
    run(Command::new("cmake").arg("--build").arg(game.join("build")));
    run(&mut Command::new(game.join("build/use")));
}

#[test]
fn what_is_not_recognised_is_said_and_the_rest_is_done() {
    let at = write(&ENGINES[1], "other");
    let pool = at.join("cocos/base/CCAsyncTaskPool.h");
    fs::write(&pool, "// A loop of other words.\n").unwrap();
    let adopts = ["--prefix", prefix().to_str().unwrap()];
    // The last run finds everything done.
    for more in [&["--check"][..], &adopts, &adopts] {
        let (code, said) = adopt(&at, more);
        let line = "cocos/base/CCAsyncTaskPool.h: NOT RECOGNISED: in the loop of the worker";
        assert!(code == 1 && said.contains(line), "{said}");
    }
    assert_ne!(
        fs::read_to_string(at.join("cocos/base/CCRef.h")).unwrap(),
        OLD
    );

    // A file that was changed since the adoption is not overwritten.
    let lists = at.join("cocos/CMakeLists.txt");
    fs::write(&lists, "add_library(cocos2d base/CCRef.cpp mine.cpp)\n").unwrap();
    let (code, said) = adopt(&at, &["--undo"]);
    assert!(
        code == 1 && said.contains("cocos/CMakeLists.txt: has changed since"),
        "{said}"
    );
    assert!(fs::read_to_string(&lists).unwrap().contains("mine.cpp"));
    let (code, said) = adopt(&at, &["--check"]);
    assert!(
        code == 1 && said.contains("is not as it was adopted"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(at.join("cocos/base/CCRef.h")).unwrap(),
        OLD
    );
}

#[test]
fn folders_that_are_no_engine_are_errors() {
    let at = place("adopt").join("none");
    fs::create_dir_all(at.join("cocos/base")).unwrap();
    let missing = at.join("missing");
    let newer = write(
        &Engine {
            says: "",
            files: &[
                ("../axmolver.h.in", "#define AX_VERSION_MAJOR 9\n"),
                ("Object.h", OLD),
            ],
            ..ENGINES[3]
        },
        "newer",
    );
    for (folder, more, message) in [
        (&at, &[][..], "is no engine that this knows"),
        (&missing, &[], "is no folder"),
        (&newer, &[], "is axmol 9"),
        (&at, &["--undo"], "was not adopted"),
        (&at, &["--chekc"], "unknown argument"),
        (&at, &["--check", "--undo"], "not both"),
        (&at, &["--prefix", "--check"], "needs a folder"),
        (&at, &["--prefix", "/"], "has no installed releasepool"),
    ] {
        let before = tree(&at);
        let (code, said) = adopt(folder, more);
        assert!(code != 0 && said.contains(message), "{said}");
        assert_eq!(tree(&at), before);
    }
}
