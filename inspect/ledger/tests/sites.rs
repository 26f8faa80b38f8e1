//! A program with the library's feature `leak-detection` records where objects are created, and the
//! inspector shows it. The records themselves do not make leaks look held.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "../../tests/leaky/verdicts.rs"]
mod verdicts;

use releasepool_inspect::analysis::Analysis;
use releasepool_inspect::capture::{Source, capture};
use releasepool_inspect::graph::Graph;
use releasepool_inspect::report::wire::{Document, Report};
use releasepool_inspect::report::{build, subject, text};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The program, which is killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the example, and looks at it when everything is in place.
fn look() -> Graph {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leaky-with-ledger"));
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut program = Running(command.spawn().unwrap());
    let mut line = String::new();
    let out = program.0.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    assert!(line.starts_with("pid "), "{line}");
    capture(&Source::Pid(program.0.id())).unwrap()
}

fn json(document: &Document) -> Value {
    serde_json::to_value(document).unwrap()
}

/// Returns the line of the source file in which a text occurs, from 1 on.
fn line_of(source: &str, text: &str) -> usize {
    source.lines().position(|line| line.contains(text)).unwrap() + 1
}

#[test]
fn leaks_are_named_with_the_lines_that_created_them() {
    let graph = look();
    let analysis = Analysis::new(&graph);
    let leaks = build::leak_report(&analysis, None, None);
    let document = build::document(&graph, Report::Leaks(leaks));
    let report = json(&document);
    verdicts::check(&report, "with the ledger");
    let hops = verdicts::groups(&report).flat_map(|group| group["path"].as_array().unwrap());
    for hop in hops.filter(|hop| hop["type"].is_string()) {
        let site = hop["site"].as_str().unwrap_or_default();
        assert!(site.contains("examples/leaky/leaks/"), "{hop:#}");
    }
    let source = include_str!("../../examples/leaky/leaks/pools.rs");
    let line = line_of(source, "pool.create(Leak20Event(n))");
    let expected = format!("leaks/pools.rs:{line}:18 by thread \"events\"\n");
    let shown = text::text(&document);
    assert!(shown.contains(&expected), "{expected} is not in\n{shown}");
}

#[test]
fn each_object_has_its_site_and_paths_show_it() {
    let graph = look();
    assert_eq!(graph.created.len(), graph.objects);
    let analysis = Analysis::new(&graph);
    for node in 0..graph.objects as u32 {
        // Destroyed values have no record any more.
        let is_alive = analysis.object(node).is_some_and(|object| object.alive);
        let object = &graph.nodes[node as usize];
        assert_eq!(graph.creation(node).is_some(), is_alive, "{object:?}");
    }
    assert!(graph.caveats.is_empty(), "{:?}", graph.caveats);
    let subject = subject::find(&graph, "healthy::InPool").unwrap();
    let why = build::document(&graph, build::why(&analysis, &subject, None));
    let site = &json(&why)["paths"][0]["hops"][0]["site"];
    assert!(
        site.as_str().unwrap().contains("leaky/healthy.rs:"),
        "{site}"
    );
    assert!(text::text(&why).contains("created at "));
    let subject::Subject::Type(cached) = subject::find(&graph, "Cached").unwrap() else {
        panic!("a type");
    };
    let mut nodes = 0..graph.objects as u32;
    let is_cached = |node: &u32| analysis.object(*node).unwrap().type_id == cached;
    let cached = subject::Subject::Node(nodes.find(is_cached).unwrap());
    let why = build::why(&analysis, &cached, None);
    let address = json(&build::document(&graph, why))["paths"][0]["hops"][0]["address"].clone();
    let first = subject::find(&graph, address.as_str().unwrap()).unwrap();
    let held = build::held(&analysis, &first, None);
    let held = text::text(&build::document(&graph, held));
    let line = held.lines().find(|line| line.contains("was created at"));
    assert!(
        line.is_some_and(|line| line.contains("healthy.rs:")),
        "{held}"
    );
}
