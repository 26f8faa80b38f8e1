//! Reports as text for terminals of at least 80 columns.

mod groups;
mod phrases;
mod tables;
mod why;

pub use phrases::{WIDTH, bytes, number};
pub(crate) use tables::{frames, thread_name};

use super::wire::{Document, Report};

/// Returns a report as text that ends with a line feed.
pub fn text(document: &Document) -> String {
    let mut out = String::new();
    match &document.report {
        Report::Top(top) => tables::top(&mut out, top),
        Report::Why(report) => why::why(&mut out, report),
        Report::Holders(holders) => tables::holders(&mut out, holders),
        Report::Held(held) => tables::held(&mut out, held),
        Report::Leaks(report) => groups::leaks(&mut out, report),
        Report::Diff(diff) => tables::diff(&mut out, diff),
        Report::Snapshot(snapshot) => tables::snapshot(&mut out, snapshot),
    }
    for caveat in &document.caveats {
        phrases::wrap(&mut out, "note: ", caveat);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, bytes, number, text, thread_name};
    use crate::analysis::Analysis;
    use crate::analysis::leaks::Limits;
    use crate::analysis::synthetic::Builder;
    use crate::graph::{Creation, Graph, Process, RootKind, Started, ThreadState};
    use crate::report::build;
    use crate::report::subject::find;
    use crate::report::wire::{Document, Report};

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
        graph.creations = [
            ("src/first.rs:10:5", Some(1 << 32 | 2)),
            ("src/second.rs:3:1", None),
        ]
        .map(|(site, creator)| Creation {
            site: site.to_owned(),
            creator,
        })
        .to_vec();
        graph.created = vec![1, 2, 0];
        let analysis = Analysis::new(&graph);
        let subject = find(&graph, "Second").expect("it exists");
        let reports = [
            Report::Top(build::top(&graph, Some(2))),
            Report::Leaks(build::leak_report(
                &analysis,
                &Limits::default(),
                None,
                None,
            )),
            Report::Why(build::why(&analysis, &subject, None)),
            Report::Holders(build::holders(&analysis, &subject, None)),
            Report::Held(build::held(&analysis, &subject, None)),
            Report::Diff(build::diff_report(
                &analysis,
                &analysis,
                &Limits::default(),
                None,
            )),
        ];
        for report in reports {
            let document = build::document(&graph, report);
            let shown = text(&document);
            let has_sites = match &document.report {
                Report::Why(_) | Report::Leaks(_) => "second.rs first.rs",
                _ => "",
            };
            for site in has_sites.split_whitespace() {
                assert!(shown.contains(&format!("created at src/{site}")), "{shown}");
            }
            for line in shown.lines() {
                let fits = line.chars().count() <= WIDTH || line.contains(long);
                assert!(fits, "too long: {line}\n{shown}");
            }
            let json = serde_json::to_string(&document).expect("it is JSON");
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
        let analysis = Analysis::new(&graph);
        let held = |argument: &str| {
            let subject = find(&graph, argument).expect("it exists");
            let report = Report::Held(build::held(&analysis, &subject, None));
            text(&build::document(&graph, report))
        };
        let one = held(&format!("{:#x}", graph.nodes[1].address));
        let wanted = "1 object; freeing it would free 2 objects and 64 B, itself included\n";
        assert!(one.starts_with(wanted), "{one}");
        let both = held("Player");
        let wanted =
            "2 objects; freeing them would free 4 objects and 128 B, themselves included\n";
        assert!(both.starts_with(wanted), "{both}");
    }

    #[test]
    fn why_names_the_cycle_that_holds_an_object_and_what_leaks_without_one() {
        let mut b = Builder::new();
        let (game, player) = (b.object("Game", 1, 0), b.object("Player", 1, 0));
        let (hat, lost) = (b.object("Hat", 1, 0), b.object("Lost", 1, 0));
        b.edge(game, 16, player).edge(player, 8, game);
        b.edge(player, 0, hat);
        let graph = b.build();
        let analysis = Analysis::new(&graph);
        let shown = |argument: String| {
            let subject = find(&graph, &argument).expect("it exists");
            let report = Report::Why(build::why(&analysis, &subject, None));
            text(&build::document(&graph, report))
        };
        let address = |node: u32| format!("{:#x}", graph.nodes[node as usize].address);
        let (game, player, held) = (address(game), address(player), address(hat));
        let cycle = format!(
            "\n  Game +16  {game}\n  Player +8  {player}\n  and back to the first\n  a cycle, which \
             nothing else refers to: make one of these references a Weak\n"
        );
        for argument in [&game, &player, "Game", "Player"] {
            let text = shown(argument.to_owned());
            assert!(text.contains(&format!("{cycle}\n+N")), "{text}");
        }
        for argument in [&held, "Hat"] {
            let text = shown(argument.to_owned());
            let path = format!("{cycle}    Player +0  {player}\n    Hat  {held}\n\n+N");
            assert!(text.contains(&path), "{text}");
        }
        for argument in [address(lost), "Lost".to_owned()] {
            let text = shown(argument);
            let label = "\n  no root leads here; it leaks (see `leaks`)\n    Lost  ";
            assert!(text.contains(label), "{text}");
        }
    }

    #[test]
    fn diff_warns_of_other_processes_and_of_the_wrong_order() {
        let snapshot = |pid, created| {
            let mut b = Builder::new();
            b.object("Game", 1, 0);
            let mut graph = b.build();
            graph.totals.created = created;
            graph.process = Some(Process {
                pid,
                started: Some(Started::default()),
                looked_at: None,
            });
            graph
        };
        let shown = |before: &Graph, after: &Graph| {
            let (earlier, later) = (Analysis::new(before), Analysis::new(after));
            let report = build::diff_report(&earlier, &later, &Limits::default(), None);
            text(&build::document(after, Report::Diff(report)))
        };
        let (early, late, other) = (snapshot(7, 1), snapshot(7, 2), snapshot(8, 2));
        assert!(!shown(&early, &late).contains("warning"));
        let swapped = shown(&late, &early);
        assert!(swapped.starts_with("warning: the second snapshot seems to be older"));
        let text = shown(&early, &other);
        let wanted = "warning: these are snapshots of different processes (7 and 8):";
        assert!(text.starts_with(wanted), "{text}");
    }

    #[test]
    fn kinds_of_leaks_are_counted_and_their_addresses_explained() {
        let shown = |names: &[&str]| {
            let mut b = Builder::new();
            for name in names {
                b.object(name, 1, 0);
            }
            let graph = b.build();
            let analysis = Analysis::new(&graph);
            let report = build::leak_report(&analysis, &Limits::default(), None, Some(2));
            text(&build::document(&graph, Report::Leaks(report)))
        };
        let one = shown(&["A"]);
        assert!(
            one.contains("\n1 kind of leak:\n") && !one.contains("at:"),
            "{one}"
        );
        let three = shown(&["A", "A", "B", "C"]);
        assert!(three.contains("\n3 kinds of leaks:\n"), "{three}");
        assert!(three.contains("\n1 more kind; --limit"), "{three}");
        assert!(three.contains("\nat: addresses in the first"), "{three}");
    }

    #[test]
    fn threads_without_a_name_are_called_as_their_pools_call_them() {
        let thread = |name: Option<&str>, tid| {
            let state = ThreadState {
                key: 3 << 32 | 2,
                name: name.map(str::to_owned),
                tid,
                ..ThreadState::default()
            };
            let graph = Graph {
                threads: vec![state],
                ..Graph::default()
            };
            thread_name(&build::top(&graph, None).threads[0])
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
}
