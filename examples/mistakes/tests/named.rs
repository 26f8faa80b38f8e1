//! One run names every mistake, with type and place.

use std::process::{Command, Output};

/// The mistakes, and words that must be in what is said of each, separated by `|`.
const EXPECTED: &str = r#"
over-release: mistakes::Texture at 0x
    | released more often than it was retained, by Ref::decrement_strong_count at | counts.rs:
    | created at | by thread main (# | destroyed by thread audio (without a key)
use-after-death: Texture at 0x | used after its death, by Ref::from_raw at | counts.rs:
    | created at
double-autorelease: Texture at 0x | was destroyed while a pool holds it | created at | counts.rs:
    | held by pool "scene" of thread main (#
destroyed-in-pool: Texture at 0x | was destroyed while a pool holds it | counts.rs:
    | held by pool "frame" of thread main (#
header-overwritten: the header of | Texture at 0x | an entry of pool "frame", was overwritten
    | created at | counts.rs:
missing-pool: Texture autoreleased without a pool | created at | pools.rs:
huge-pool: pool "level": the pool has grown to 5, | Texture (4,096) | 6,000 objects | pools.rs:
long-epoch: pool "never drained" | has not been drained for 1. | thread main (#
wrong-token: pools.rs: | PoolToken: the pool of this token belongs to thread #0.1
    | PoolToken: the pool of this token has been popped already
forgotten-guard: thread loader (# | 1 guard pool open | Texture | pools.rs:
    | held by pool "level 1"
endless-drain: pool "monsters" | 1,000 generations, the latest a | Hydra
panicking-destructor: thread fuse (# | lifetimes.rs: | cannot be resumed: the destructor of a Bomb
home-gone: last reference to a | Texture | created at | lifetimes.rs:
still-alive: the sky ( | Texture) is still alive | 1 strong reference | lifetimes.rs:
cycle: 2 objects are alive | Node | lifetimes.rs:
retain-without-release: retained once and not released | lifetimes.rs: | Texture
"#;

/// Returns the names of the mistakes, and the words.
fn expected() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut all: Vec<(_, Vec<_>)> = Vec::new();
    for line in EXPECTED.trim().lines() {
        let words = match line.strip_prefix("    | ") {
            Some(words) => words,
            None => {
                let (name, words) = line.split_once(": ").unwrap();
                all.push((name, Vec::new()));
                words
            }
        };
        let of = all.last_mut().unwrap();
        of.1.extend(words.split('|').map(str::trim));
    }
    all
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_releasepool-mistakes"))
        .args(arguments)
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap()
}

#[test]
fn one_run_names_each_mistake_with_type_and_place() {
    let run = run(&[]);
    assert!(run.status.success());
    let said = String::from_utf8(run.stdout).unwrap();
    for (name, words) in expected() {
        let (_, of) = said
            .split_once(&format!("== {name}: "))
            .unwrap_or_else(|| panic!("{name} is missing in {said}"));
        let of = of.split("\n== ").next().unwrap();
        for word in words {
            assert!(of.contains(word), "{word:?} is missing in\n{of}");
        }
    }
    assert_eq!(said.matches("== ").count(), expected().len());
}

#[test]
fn an_unknown_mistake_is_an_error_that_lists_the_names() {
    let run = run(&["none"]);
    assert_eq!(run.status.code(), Some(2));
    let list = String::from_utf8(run.stderr).unwrap();
    for (name, _) in expected() {
        let start = format!("\n  {name}  ");
        assert!(list.contains(&start), "{name} is missing in\n{list}");
    }
}
