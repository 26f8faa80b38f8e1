//! Reports of small graphs, as people see them.

use super::{WIDTH, bytes, number, text, thread_name};
use crate::analysis::Analysis;
use crate::analysis::synthetic::Builder;
use crate::graph::{Creation, Graph, Process, RootKind, ThreadState};
use crate::report::build;
use crate::report::subject::{Subject, find};
use crate::report::wire::{Document, Report};

type About = fn(&Analysis<'_>, &Subject, Option<usize>) -> Report;

/// Returns the report about what an argument names.
fn about(graph: &Graph, argument: &str, report: About) -> Document {
    let subject = find(graph, argument).expect("it exists");
    build::document(graph, report(&Analysis::new(graph), &subject, None))
}

fn leaks(graph: &Graph, limit: Option<usize>) -> Document {
    let report = build::leak_report(&Analysis::new(graph), None, limit);
    build::document(graph, Report::Leaks(report))
}

fn diff(before: &Graph, after: &Graph) -> Document {
    let (earlier, later) = (Analysis::new(before), Analysis::new(after));
    let report = build::diff_report(&earlier, &later, None);
    build::document(after, report)
}

fn address(graph: &Graph, node: u32) -> String {
    format!("{:#x}", graph.nodes[node as usize].address)
}

#[test]
fn reports_fit_in_80_columns_and_are_valid_json() {
    let mut b = Builder::new();
    let long = "program::with::a::path::of::modules::Type<program::and::generic::Arguments>";
    let (first, second) = (b.object(long, 1, 0), b.object("program::Second", 1, 0));
    let held = b.object("program::Held", 1, 0);
    b.edge(first, 16, second).edge(second, 1_000_000, first);
    b.root(RootKind::Static, "static program::HELD", held);
    b.root(RootKind::Stack, "stack of thread \"main\"", first);
    let mut graph = b.build();
    graph.caveats.push("words ".repeat(30));
    let creations = [
        ("src/first.rs:10:5", Some(1 << 32 | 2)),
        ("src/second.rs:3:1", None),
    ];
    let creations = creations.map(|(site, creator)| Creation {
        site: site.to_owned(),
        creator,
    });
    graph.creations = creations.to_vec();
    graph.created = vec![1, 2, 0];
    let has_sites = [leaks(&graph, None), about(&graph, "Second", build::why)];
    for report in &has_sites {
        for site in ["second.rs", "first.rs"] {
            let shown = text(report);
            assert!(shown.contains(&format!("created at src/{site}")), "{shown}");
        }
    }
    let others = [
        build::document(&graph, build::top(&graph, Some(2))),
        about(&graph, "Second", build::holders),
        about(&graph, "Second", build::held),
        diff(&graph, &graph),
    ];
    for document in has_sites.iter().chain(&others) {
        let shown = text(document);
        for line in shown.lines() {
            let fits = line.chars().count() <= WIDTH || line.contains(long);
            assert!(fits, "too long: {line}\n{shown}");
        }
        let json = serde_json::to_string(document).expect("it is JSON");
        let back: Document = serde_json::from_str(&json).expect("the format is readable");
        assert_eq!(text(&back), shown);
    }
}

#[test]
fn what_would_be_freed_is_said_of_one_and_of_several() {
    let mut b = Builder::new();
    for _ in 0..2 {
        let (game, player) = (b.object("Game", 1, 0), b.object("Player", 1, 0));
        b.edge(game, 16, player).edge(player, 8, game);
    }
    let graph = b.build();
    let one = "1 object; freeing it would free 2 objects and 64 B, itself included\n";
    let both = "2 objects; freeing them would free 4 objects and 128 B, themselves included\n";
    for (argument, wanted) in [(&*address(&graph, 1), one), ("Player", both)] {
        let shown = text(&about(&graph, argument, build::held));
        assert!(shown.starts_with(wanted), "{shown}");
    }
}

#[test]
fn why_names_the_cycle_that_holds_an_object_and_what_leaks_without_one() {
    let mut b = Builder::new();
    let (game, player) = (b.object("Game", 1, 0), b.object("Player", 1, 0));
    let (hat, lost) = (b.object("Hat", 1, 0), b.object("Lost", 1, 0));
    b.edge(game, 16, player).edge(player, 8, game);
    b.edge(player, 0, hat);
    let graph = b.build();
    let [game, player, hat, lost] = [game, player, hat, lost].map(|node| address(&graph, node));
    let cycle = format!(
        "\n  Game +16  {game}\n  Player +8  {player}\n  and back to the first\n  a cycle, which \
         nothing else refers to: make one of these references a Weak\n"
    );
    let of_cycle = format!("{cycle}\n+N");
    let of_hat = format!("{cycle}    Player +0  {player}\n    Hat  {hat}\n\n+N");
    let of_lost = "\n  no root leads here; it leaks (see `leaks`)\n    Lost  ";
    for (arguments, wanted) in [
        (&[&game, &player, "Game", "Player"][..], &*of_cycle),
        (&[&hat, "Hat"], &of_hat),
        (&[&lost, "Lost"], of_lost),
    ] {
        for argument in arguments {
            let shown = text(&about(&graph, argument, build::why));
            assert!(shown.contains(wanted), "{shown}");
        }
    }
}

#[test]
fn diff_warns_of_other_processes_and_of_the_wrong_order() {
    let snapshot = |pid, created| {
        let mut b = Builder::new();
        b.object("Game", 1, 0);
        let mut graph = b.build();
        graph.totals.created = created;
        let program = Some([0; 16]);
        graph.process = Some(Process { pid, program });
        graph
    };
    let (early, late, other) = (snapshot(7, 1), snapshot(7, 2), snapshot(8, 2));
    assert!(!text(&diff(&early, &late)).contains("warning"));
    let older = "warning: the second snapshot seems to be older";
    let differ = "warning: these are snapshots of different processes (7 and 8):";
    for (before, after, wanted) in [(&late, &early, older), (&early, &other, differ)] {
        let shown = text(&diff(before, after));
        assert!(shown.starts_with(wanted), "{shown}");
    }
}

#[test]
fn kinds_of_leaks_are_counted_and_their_addresses_explained() {
    let shown = |names: &[&str]| {
        let mut b = Builder::new();
        for name in names {
            b.object(name, 1, 0);
        }
        text(&leaks(&b.build(), Some(2)))
    };
    let one = shown(&["A"]);
    let is_short = one.contains("\n1 kind of leak:\n") && !one.contains("at:");
    assert!(is_short, "{one}");
    let three = shown(&["A", "A", "B", "C"]);
    for wanted in [
        "\n3 kinds of leaks:\n",
        "\n1 more kind; --limit",
        "\nat: addresses in the first",
    ] {
        assert!(three.contains(wanted), "{three}");
    }
}

#[test]
fn threads_without_a_name_are_called_as_their_pools_call_them() {
    let thread = |name: Option<&str>, tid| {
        thread_name(&ThreadState {
            key: 3 << 32 | 2,
            name: name.map(str::to_owned),
            tid,
            ..ThreadState::default()
        })
    };
    assert_eq!(thread(Some("ui"), Some(7)), "ui");
    assert_eq!(thread(None, Some(7)), "#3.2 (tid 7)");
    assert_eq!(thread(None, None), "#3.2");
}

#[test]
fn numbers_are_short_and_readable() {
    assert_eq!(bytes(1023), "1023 B");
    assert_eq!(bytes(1024), "1.0 KiB");
    assert_eq!(bytes(u64::MAX), "16777216.0 TiB");
    assert_eq!(number(0), "0");
    assert_eq!(number(1_234_567), "1,234,567");
}
