//! The planted leaks of the example `leaky`, found in the running process and in its core file, in
//! the profile that this test is built with; and no healthy object among them.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "../common/mod.rs"]
mod common;
mod verdicts;

use common::{Directory, Target, inspect};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use verdicts::check;

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

const ALL: [&str; 4] = ["leaks", "--json", "--limit", "0"];

#[test]
fn planted_leaks_are_named_by_pid() {
    let leaky = Leaky::start();
    let report = inspect(&[&ALL[..], &["--pid", &leaky.pid()]].concat());
    check(&report.json(), "by pid");
    let failed = inspect(&["leaks", "--fail", "--pid", &leaky.pid()]);
    assert_eq!(failed.code, 1);
}

#[test]
fn planted_leaks_are_named_from_a_core_and_from_a_snapshot() {
    let leaky = Leaky::start();
    let directory = Directory::new("leaky-core");
    let Some(core) = directory.core_of(leaky.0.pid()) else {
        return;
    };
    let report = inspect(&[&ALL[..], &["--core", text(&core)]].concat()).json();
    check(&report, "by core");
    let snapshot = directory.0.join("snapshot");
    inspect(&["snapshot", "-o", text(&snapshot), "--core", text(&core)]).success();
    let saved = inspect(&[&ALL[..], &["--snapshot", text(&snapshot)]].concat()).json();
    assert_eq!(saved, report, "a snapshot has all that the core has");
}

#[test]
fn core_that_is_truncated_while_it_is_read_is_an_error() {
    let leaky = Leaky::start();
    let directory = Directory::new("leaky-truncated");
    let Some(whole) = directory.core_of(leaky.0.pid()) else {
        return;
    };
    let core = directory.0.join("copy");
    // Tries delays until one ends while the core file is being read.
    let is_truncated = (0..1_000).any(|n| {
        fs::copy(&whole, &core).expect("the file can be copied");
        let file = fs::File::options().write(true).open(&core);
        let file = file.expect("the file can be opened");
        let shortens = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(n * 2 % 80));
            file.set_len(4096).expect("the file can be truncated");
        });
        // The inspector must end by itself, not by a signal.
        let output = inspect(&["leaks", "--core", text(&core)]);
        shortens.join().expect("it does not panic");
        output.error.contains("was truncated while it was read")
    });
    assert!(is_truncated, "it was never reading");
}

#[test]
fn registry_that_has_grown_between_two_snapshots_is_named() {
    let mut leaky = Leaky::start();
    let directory = Directory::new("leaky-diff");
    let [before, after] = ["before", "after"].map(|name| directory.0.join(name));
    let pid = leaky.pid();
    inspect(&["snapshot", "--output", text(&before), "--pid", &pid]).success();
    // Each line that the program reads makes its registry grow by 1,000 entries.
    leaky.0.tell("");
    assert_eq!(leaky.0.line(), "grown\n");
    inspect(&["snapshot", "--output", text(&after), "--pid", &pid]).success();
    let diff = inspect(&["diff", text(&before), text(&after), "--json"]).json();
    let grown = diff["grown"].as_array().expect("a list");
    let is_registry = |grown: &&Value| {
        let name = grown["type"].as_str().expect("a name");
        name.ends_with("::Leak24Entry") && grown["references"][1] == 13_000
    };
    assert!(grown.iter().any(|grown| is_registry(&grown)), "{diff:#}");
    let types = diff["types"].as_array().expect("a list");
    let objects = serde_json::json!([12_000, 13_000]);
    assert_eq!(types[0]["objects"], objects, "{diff:#}");
}

#[test]
fn questions_about_types_and_addresses_are_answered() {
    let leaky = Leaky::start();
    let pid = leaky.pid();
    let why = inspect(&["why", "InPool", "--json", "--pid", &pid]).json();
    let labels: Vec<_> = why["paths"].as_array().expect("a list").iter().collect();
    assert!(labels.iter().any(|path| path["root"] == "pool"), "{why:#}");
    let address = labels[0]["hops"][0]["address"].as_str();
    let address = address.expect("an address");
    for command in ["why", "holders", "held"] {
        let text = inspect(&[command, address, "--pid", &pid]).success();
        assert!(!text.is_empty());
    }
    let holders = inspect(&["holders", "Cached", "--json", "--pid", &pid]).json();
    let words = &holders["holders"][0]["words"];
    assert_eq!((&holders["objects"], words), (&500.into(), &500.into()));
    let owner = &holders["holders"][0]["owner"];
    assert_eq!(owner["name"], "static leaky::healthy::CACHE", "{owner:#}");
    // Five servers, each in a cycle with four sessions.
    for (name, objects) in [("Leak04Server", 5), ("Leak04Session", 20)] {
        let held = inspect(&["held", name, "--json", "--pid", &pid]).json();
        assert_eq!(held["objects"], objects, "{held:#}");
        assert_eq!(held["retained_objects"], 25, "{held:#}");
        let why = inspect(&["why", name, "--json", "--pid", &pid]).json();
        let ways = why["paths"].as_array().expect("a list").iter();
        let ways: Vec<_> = ways.map(|way| (&way["root"], &way["objects"])).collect();
        assert_eq!(ways, [(&"cycle".into(), &objects.into())], "{why:#}");
    }
    let top = inspect(&["top", "--pid", &pid]).success();
    let names = [
        "Leak24Entry",
        "12,000",
        "events",
        "parked",
        "strays",
        "in use",
    ];
    for name in names {
        assert!(top.contains(name), "{name} is missing in\n{top}");
    }
    let unknown = inspect(&["why", "NoSuchType", "--pid", &pid]);
    let error = unknown.error;
    assert_eq!((unknown.code, error.lines().count()), (2, 1), "{error}");
}

/// The running program; it ends when this is dropped.
struct Leaky(Target);

impl Leaky {
    /// Starts the program, and waits until everything is in place.
    fn start() -> Self {
        let test = std::env::current_exe().expect("a test has a path");
        let profile = test.ancestors().nth(2).expect("tests are in deps");
        let path = profile.join("examples/leaky");
        // `cargo test --test leaky` does not build examples.
        assert!(path.exists(), "{path:?}: build the example `leaky` first");
        let mut program = Target::spawn(&mut Command::new(path));
        assert!(program.line().starts_with("pid "));
        Self(program)
    }

    fn pid(&self) -> String {
        self.0.pid().to_string()
    }
}

impl Drop for Leaky {
    fn drop(&mut self) {
        let going = self.0.child.try_wait().is_ok_and(|ended| ended.is_none());
        assert!(
            going || std::thread::panicking(),
            "the program has ended by itself"
        );
    }
}
