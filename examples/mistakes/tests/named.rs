//! One run names every mistake, with type and place.

use std::process::Command;

/// Words that must be in what is said of a mistake.
const EXPECTED: &[(&str, &[&str])] = &[
    (
        "over-release",
        &[
            "mistakes::Texture at 0x",
            "released more often than it was retained, by Ref::decrement_strong_count at ",
            "counts.rs:",
            "created at ",
            "by thread main (#",
            "destroyed by thread audio (without a key)",
        ],
    ),
    (
        "use-after-death",
        &[
            "Texture at 0x",
            "used after its death, by Ref::from_raw at ",
            "counts.rs:",
            "created at ",
        ],
    ),
    (
        "double-autorelease",
        &[
            "Texture at 0x",
            "was destroyed while a pool holds it",
            "created at ",
            "counts.rs:",
            "held by pool \"scene\" of thread main (#",
        ],
    ),
    (
        "destroyed-in-pool",
        &[
            "Texture at 0x",
            "was destroyed while a pool holds it",
            "counts.rs:",
            "held by pool \"frame\" of thread main (#",
        ],
    ),
    (
        "header-overwritten",
        &[
            "the header of ",
            "Texture at 0x",
            "an entry of pool \"frame\", was overwritten",
            "created at ",
            "counts.rs:",
        ],
    ),
    (
        "missing-pool",
        &[
            "Texture autoreleased without a pool",
            "created at ",
            "pools.rs:",
        ],
    ),
    (
        "huge-pool",
        &[
            "pool \"level\": the pool has grown to 5,",
            "Texture (4,096)",
            "6,000 objects",
            "pools.rs:",
        ],
    ),
    (
        "long-epoch",
        &[
            "pool \"never drained\"",
            "has not been drained for 1.",
            "thread main (#",
        ],
    ),
    (
        "wrong-token",
        &[
            "pools.rs:",
            "PoolToken: the pool of this token belongs to thread #0.1",
            "PoolToken: the pool of this token has been popped already",
        ],
    ),
    (
        "forgotten-guard",
        &[
            "thread loader (#",
            "1 guard pool open",
            "Texture",
            "pools.rs:",
            "held by pool \"level 1\"",
        ],
    ),
    (
        "endless-drain",
        &[
            "pool \"monsters\"",
            "1,000 generations, the latest a",
            "Hydra",
        ],
    ),
    (
        "panicking-destructor",
        &[
            "thread fuse (#",
            "lifetimes.rs:",
            "cannot be resumed: the destructor of a Bomb",
        ],
    ),
    (
        "home-gone",
        &[
            "last reference to a",
            "Texture",
            "created at ",
            "lifetimes.rs:",
        ],
    ),
    (
        "still-alive",
        &[
            "the sky (",
            "Texture) is still alive",
            "1 strong reference",
            "lifetimes.rs:",
        ],
    ),
    ("cycle", &["2 objects are alive", "Node", "lifetimes.rs:"]),
    (
        "retain-without-release",
        &["retained once and not released", "lifetimes.rs:", "Texture"],
    ),
];

#[test]
fn one_run_names_each_mistake_with_type_and_place() {
    let run = Command::new(env!("CARGO_BIN_EXE_releasepool-mistakes"))
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    assert!(run.status.success());
    let said = String::from_utf8(run.stdout).unwrap();
    for (name, words) in EXPECTED {
        let (_, of) = said
            .split_once(&format!("== {name}: "))
            .unwrap_or_else(|| panic!("{name} is missing in {said}"));
        let of = of.split("\n== ").next().unwrap();
        for word in *words {
            assert!(of.contains(word), "{word:?} is missing in\n{of}");
        }
    }
    assert_eq!(said.matches("== ").count(), EXPECTED.len());
}

#[test]
fn an_unknown_mistake_is_an_error() {
    let run = Command::new(env!("CARGO_BIN_EXE_releasepool-mistakes"))
        .arg("none")
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
}

#[test]
fn help_lists_the_names_in_a_column_that_is_wide_enough() {
    let run = Command::new(env!("CARGO_BIN_EXE_releasepool-mistakes"))
        .arg("--help")
        .output()
        .unwrap();
    assert!(run.status.success());
    let help = String::from_utf8(run.stdout).unwrap();
    assert!(help.contains("Usage: cargo run -p releasepool-mistakes"));
    for (name, _) in EXPECTED {
        let start = format!("\n  {name}  ");
        assert!(help.contains(&start), "{name} is missing in\n{help}");
    }
}
