//! The content of the page.

use super::fixture::{results, sample, scenario, series};
use releasepool_benches::report::html;
use releasepool_benches::results::{Results, Role};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeSet;

/// Parses the page as XML, which fails if it is not well-formed.
pub fn parsed(page: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(page, options).expect("the page is well-formed")
}

pub fn all<'a, 'i>(node: Node<'a, 'i>, tag: &'a str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.descendants()
        .filter(move |n| n.tag_name().name() == tag)
}

pub fn lines<'a, 'i>(svg: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    svg.descendants()
        .filter(|n| n.attribute("data-implementation").is_some())
}

pub fn has_class(node: Node, class: &str) -> bool {
    let classes = node.attribute("class").unwrap_or_default();
    classes.split(' ').any(|other| other == class)
}

pub fn text(node: Node) -> String {
    node.descendants()
        .filter_map(|n| n.text().filter(|_| n.is_text()))
        .collect()
}

/// Checks the invariants of every page. `points` returns true for times that can be drawn.
pub fn check(results: &Results, points: impl Fn(f64) -> bool) {
    let page = html(results);
    let document = parsed(&page);
    let svgs: Vec<_> = all(document.root(), "svg").collect();
    assert_eq!(svgs.len(), results.scenarios.len());
    for (svg, scenario) in svgs.iter().zip(&results.scenarios) {
        assert_eq!(svg.attribute("data-scenario"), Some(scenario.id.as_str()));
        assert_eq!(svg.attribute("role"), Some("img"));
        for tag in ["title", "desc"] {
            let says = svg.children().find(|child| child.tag_name().name() == tag);
            assert!(!text(says.expect(tag)).trim().is_empty());
        }
        let lines: Vec<_> = lines(*svg).collect();
        assert_eq!(lines.len(), scenario.series.len());
        for series in &scenario.series {
            let name = Some(series.implementation.as_str());
            let line = lines
                .iter()
                .find(|line| line.attribute("data-implementation") == name);
            let line = line.expect("each implementation has a line");
            let times = series.points.iter().map(|point| point.time.median);
            let count = times.filter(|time| points(*time)).count();
            assert_eq!(line.attribute("data-points"), Some(&*count.to_string()));
            let markers = line.children().filter(|child| has_class(*child, "marker"));
            assert_eq!(markers.count(), count);
        }
    }
    let ids = document.descendants().filter_map(|n| n.attribute("id"));
    let links = all(document.root(), "a").filter_map(|a| a.attribute("href"));
    let ids: BTreeSet<_> = ids.collect();
    for link in links {
        assert!(ids.contains(&link[1..]), "{link} leads nowhere");
    }
    for word in ["NaN", "inf "] {
        assert!(!text(document.root()).contains(word), "{word} in the page");
    }
}

#[test]
fn every_scenario_has_a_chart_with_every_line_and_point() {
    check(&sample(), |_| true);
}

#[test]
fn the_page_needs_nothing_else() {
    let page = html(&sample());
    for thing in [
        "<script",
        "<link",
        "<img",
        "src=",
        "url(",
        "@import",
        "@font-face",
    ] {
        assert!(!page.contains(thing), "{thing} in the page");
    }
    let of_xml = ["http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"];
    let rest = of_xml
        .iter()
        .fold(page, |page, name| page.replace(name, ""));
    assert!(!rest.contains("//"), "an address in the page");
}

#[test]
fn text_stays_text() {
    let bad = "<b>\"a\" & 'b'</b>\u{1}]]>--><script>alert(1)</script>";
    let mut results = sample();
    results.baseline = Some(bad.to_owned());
    let machine = &mut results.machine;
    for text in [
        &mut machine.processor,
        &mut machine.system,
        &mut machine.toolchain,
        &mut machine.flags,
        &mut machine.allocator,
    ] {
        *text = bad.to_owned();
    }
    machine.commit = Some(bad.to_owned());
    for target in &mut results.targets {
        target.what = bad.to_owned();
        target.asked = bad.to_owned();
        target.remark = Some(bad.to_owned());
    }
    let of = &mut results.scenarios[0];
    for text in [&mut of.id, &mut of.title, &mut of.what, &mut of.remarks] {
        *text = bad.to_owned();
    }
    of.series[0].implementation = bad.to_owned();
    of.series[0].note = Some(bad.to_owned());
    let page = html(&results);
    assert!(!page.contains("<script"));
    let document = parsed(&page);
    let shown = bad.replace('\u{1}', "\u{fffd}");
    let line = lines(document.root()).find(|l| l.attribute("data-implementation") == Some(&shown));
    assert!(line.is_some(), "a name is not what it was");
    assert!(text(document.root()).contains(&shown));
}

/// Returns the row of a table that begins with this text.
fn row(document: &Document, class: &str, begins: &str) -> String {
    let mut tables = all(document.root(), "table").filter(|table| has_class(*table, class));
    let rows = tables.next().expect("a table").descendants();
    let mut rows = rows.filter(|n| n.tag_name().name() == "tr").map(text);
    rows.find(|row| row.trim_start().starts_with(begins))
        .expect("a row")
}

#[test]
fn it_says_what_to_choose_and_where_we_lose() {
    let page = html(&sample());
    let document = parsed(&page);
    let hot = row(&document, "summary", "Count the references");
    assert!(
        hot.contains("releasepool is ahead") && !hot.contains("behind"),
        "{hot}"
    );
    // 8.6 / 0.62
    assert!(
        hot.contains("triomphe::Arc takes 13.9 times as long"),
        "{hot}"
    );
    let lost = row(&document, "summary", "Let another thread");
    assert!(
        lost.contains("releasepool is behind") && !lost.contains("ahead"),
        "{lost}"
    );
    // 31 / 22 and 48 / 30. The reference does not count.
    assert!(
        lost.contains("releasepool takes 1.41 times as long"),
        "{lost}"
    );
    assert!(
        lost.contains("releasepool takes 1.60 times as long"),
        "{lost}"
    );
    // Figures with more threads than processors do not count.
    assert!(!lost.contains("8 threads"), "{lost}");
    assert!(!lost.contains("Box"), "{lost}");
    let even = row(&document, "summary", "Load from a slot");
    assert!(even.contains("even"), "{even}");
    assert!(even.contains("101 rounds"), "{even}");
}

#[test]
fn it_says_what_was_met_and_what_changed() {
    let page = html(&sample());
    let document = parsed(&page);
    assert!(row(&document, "targets", "Loading").contains("✓ met"));
    assert!(row(&document, "targets", "Handing over").contains("✗ missed"));
    let all = text(document.root());
    for says in [
        "2 of 3 targets met, 1 missed, 0 not decided",
        "1 figure slower and 1 faster beyond the spread, 2 within it",
        "slower: was 0.51",
        "faster: was 12.0",
        "not in the baseline",
        "Quick run.",
        "2026-11-21 19:20 UTC",
    ] {
        assert!(all.contains(says), "nowhere: {says}");
    }
    let mut full = sample();
    full.quick = false;
    full.baseline = None;
    let page = html(&full);
    for says in ["Quick run", "baseline:", "not in the baseline"] {
        assert!(!page.contains(says), "{says} in the page");
    }
}

#[test]
fn an_implementation_looks_the_same_everywhere_and_like_no_other() {
    let name = |i: usize| format!("peer {i}");
    let of = |names: &mut dyn Iterator<Item = usize>| {
        names
            .map(|i| series(&name(i), Role::Peer, &[2.0, 3.0]))
            .collect()
    };
    // The run has more implementations than there are looks, but no chart has.
    let results = results(vec![
        scenario("a", "A", "", of(&mut (0..14))),
        scenario("b", "B", "", of(&mut (10..24))),
        scenario("c", "C", "", of(&mut [0, 23].into_iter())),
    ]);
    let page = html(&results);
    let document = parsed(&page);
    let mut looks = BTreeSet::new();
    for svg in all(document.root(), "svg") {
        let lines: Vec<_> = lines(svg).collect();
        let of_chart = lines.iter().filter_map(|line| line.attribute("class"));
        assert_eq!(of_chart.collect::<BTreeSet<_>>().len(), lines.len());
        looks.extend(lines.iter().map(|line| {
            (
                line.attribute("data-implementation"),
                line.attribute("class"),
            )
        }));
    }
    assert_eq!(looks.len(), 24);
}
