//! Runs with few points or none.

use super::fixture::{figure, machine, point, results, sample, scenario, series};
use super::markup::{check, lines, parsed};
use releasepool_benches::contest::Figure;
use releasepool_benches::report::html;
use releasepool_benches::results::{Before, Results, Role, Series};

fn drawable(time: f64) -> bool {
    time.is_finite() && time > 0.0
}

#[test]
fn nothing_at_all() {
    let nothing = results(Vec::new());
    check(&nothing, drawable);
    assert!(html(&nothing).contains("Nothing was measured."));
}

#[test]
fn scenarios_with_nothing_in_them() {
    let empty = |role| series("empty", role, &[]);
    check(
        &results(vec![
            scenario("none", "None", "", Vec::new()),
            scenario("ours", "Ours", "", vec![empty(Role::Ours)]),
            scenario("peer", "Peer", "", vec![empty(Role::Peer)]),
        ]),
        drawable,
    );
}

#[test]
fn one_number_of_threads() {
    let of = |medians: &[f64]| {
        vec![
            series("ours", Role::Ours, medians),
            series("theirs", Role::Peer, medians),
        ]
    };
    let one = results(vec![
        scenario("first", "One thread", "", of(&[5.0])),
        scenario("third", "Four threads", "", of(&[0.0, 0.0, 7.0])),
    ]);
    check(&one, drawable);
}

#[test]
fn sides_that_are_missing() {
    let missing = results(vec![
        scenario(
            "ours",
            "Only ours",
            "",
            vec![series("ours", Role::Ours, &[1.0, 2.0])],
        ),
        scenario(
            "peer",
            "Only theirs",
            "",
            vec![series("peer", Role::Peer, &[1.0, 2.0])],
        ),
        scenario(
            "apart",
            "Never together",
            "",
            vec![
                series("ours", Role::Ours, &[1.0]),
                series("peer", Role::Peer, &[0.0, 2.0]),
            ],
        ),
    ]);
    check(&missing, drawable);
    let page = html(&missing);
    assert!(page.contains("nothing to compare it with"));
    assert!(page.contains("releasepool was not measured"));
}

#[test]
fn five_decades_and_more() {
    for decades in [5, 12] {
        let highest = 10f64.powi(decades);
        let wide = results(vec![scenario(
            "wide",
            "Wide",
            "",
            vec![
                series("low", Role::Ours, &[0.3, 0.4, 1.0]),
                series("high", Role::Peer, &[3.0, 5_000.0, highest]),
            ],
        )]);
        check(&wide, drawable);
        let page = html(&wide);
        let document = parsed(&page);
        let is_tick = |n: &roxmltree::Node| {
            n.has_tag_name(("http://www.w3.org/2000/svg", "text"))
                && n.attribute("text-anchor") == Some("end")
        };
        let ticks = document.descendants().filter(is_tick).count();
        assert!(
            (4..=11).contains(&ticks),
            "{ticks} ticks for {decades} decades"
        );
    }
}

#[test]
fn figures_that_are_none() {
    let none = [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let mut points: Vec<_> = none
        .iter()
        .enumerate()
        .map(|(at, &time)| point(at + 1, figure(time, 0.1)))
        .collect();
    // The median is usable, the quartiles are not.
    let odd = Figure {
        low: f64::NAN,
        median: 3.0,
        high: f64::INFINITY,
    };
    points.push(point(6, odd));
    for point in &mut points {
        point.ratio = Some(odd);
        point.instructions = Some(f64::NAN);
        let time = figure(f64::NAN, 0.0);
        point.before = Some(Before {
            time,
            changed: true,
        });
    }
    points[0].ratio = Some(figure(f64::NAN, 0.0));
    let of = |role, name: &str| Series {
        implementation: name.to_owned(),
        role,
        note: None,
        points: points.clone(),
    };
    let all = vec![
        of(Role::Ours, "ours"),
        of(Role::Reference, "reference"),
        of(Role::Peer, "peer"),
    ];
    let mut broken = Results {
        baseline: Some("before.json".to_owned()),
        targets: sample().targets,
        ..results(vec![scenario("broken", "Broken", "", all)])
    };
    for target in &mut broken.targets {
        target.measured = figure(f64::NAN, 0.0);
    }
    broken.machine.seconds = f64::NAN;
    broken.machine.began = u64::MAX;
    check(&broken, drawable);
    assert!(html(&broken).contains("15 points not drawn"));
}

#[test]
fn long_names_are_cut_beside_the_lines_only() {
    let long = "a very long name of an implementation ".repeat(6);
    let mut named = results(vec![scenario(
        "long",
        &long,
        &long,
        vec![series(&long, Role::Ours, &[1.0, 2.0])],
    )]);
    named.machine = machine();
    check(&named, drawable);
    let page = html(&named);
    let document = parsed(&page);
    let line = lines(document.root()).next().expect("a line");
    assert_eq!(line.attribute("data-implementation"), Some(long.as_str()));
    let mut all = document.descendants();
    let name = all.find(|n| n.attribute("class") == Some("name"));
    let name = name.and_then(|n| n.text()).expect("a name");
    assert!(name.ends_with('…') && name.chars().count() < 40, "{name}");
}
