//! Tests what the benchmarks conclude from samples, the page and the table that they write of made-up rows, and
//! what docs/PERFORMANCE.md shows.

use fastrand::Rng;
use releasepool_benches::comparison::{Figure, Judged, Outcome, Spread, least_rounds};
use releasepool_benches::contest::{Effort, Samples};
use releasepool_benches::markdown::table;
use releasepool_benches::report::{choices, html};
use releasepool_benches::results::{Measured, Results, Side};
use releasepool_benches::table::{Row, Target};
use releasepool_benches::workload::{Role, Workload};
use std::hint::black_box;
use std::time::Duration;
use std::{env, fs};

/// Returns the outcome for these ratios, one for each round.
fn of(ratios: &[f64]) -> Outcome {
    spread(ratios).outcome()
}

fn spread(ratios: &[f64]) -> Spread {
    Spread::of(ratios.iter().copied()).expect("some count")
}

/// Returns 40 values: all of `first`, and the rest from `rest` by turns.
fn forty(first: &[f64], rest: &[f64]) -> Vec<f64> {
    let rest = rest.iter().copied().cycle();
    first.iter().copied().chain(rest).take(40).collect()
}

#[test]
fn a_table_of_outcomes() {
    use Outcome::{Even, Faster, Slower, TooFew, TooNoisy};
    let (near, noisy, far) = ([17.0, 18.7, 31.0], [0.4, 18.7, 31.0], [0.3, 3.0]);
    let one_of_eight = forty(&[0.9], &[3.0])[..8].to_vec();
    let table: &[(&str, Vec<f64>, Outcome)] = &[
        ("one round", vec![18.7], TooFew),
        ("seven rounds that agree", vec![3.0; 7], TooFew),
        ("eight rounds that agree", vec![3.0; 8], Slower),
        ("one of eight differs", one_of_eight, TooNoisy),
        ("equal", forty(&[], &[0.99, 1.0, 1.01]), Even),
        ("one percent, sure", vec![1.01; 40], Even),
        ("six percent, sure", vec![1.06; 40], Slower),
        ("a tenth", forty(&[], &[0.88, 0.9, 0.92]), Faster),
        // The median is 18.7, but a third of the rounds are below 1.
        ("18.7 times, noisy", forty(&[], &noisy), TooNoisy),
        ("18.7 times, an outlier", forty(&[0.1], &near), Slower),
        ("wide around 1", forty(&[], &[0.5, 1.0, 2.0]), TooNoisy),
        ("median 1, far quartiles", forty(&[1.0; 16], &far), TooNoisy),
    ];
    for (name, ratios, expected) in table {
        assert_eq!(of(ratios), *expected, "{name}");
        if *expected == TooNoisy {
            let Figure { low, high, .. } = spread(ratios).undecided();
            assert!(low < 1.0 && 1.0 < high, "{name}: {low}..{high} says why");
        }
        let mirrored: Vec<_> = ratios.iter().map(|ratio| 1.0 / ratio).collect();
        assert_eq!(of(&mirrored), expected.reversed(), "{name}, mirrored");
    }
    assert_eq!(least_rounds(), 8);
}

#[test]
fn a_table_of_limits() {
    use Judged::{Met, Missed, TooFew, TooNoisy};
    let around = [0.8, 0.99, 1.01, 1.2];
    let table: &[(&str, Vec<f64>, Judged)] = &[
        ("kept", vec![0.9; 40], Met),
        ("missed", vec![1.1; 40], Missed),
        ("exactly", vec![1.0; 40], Met),
        ("one round", vec![0.9], TooFew),
        ("around it", forty(&[], &around), TooNoisy),
        ("half far away", forty(&[0.9; 20], &[0.1, 5.0]), TooNoisy),
        ("kept by far, noisy", forty(&[], &[0.1, 0.4, 0.8]), Met),
        ("narrowly kept", forty(&[], &[0.97, 0.98]), Met),
    ];
    for (name, values, expected) in table {
        assert_eq!(spread(values).judge(1.0, false), *expected, "{name}");
    }
    assert_eq!(spread(&[4.0; 40]).judge(3.0, true), Met);
    assert_eq!(spread(&[2.0; 40]).judge(3.0, true), Missed);
}

#[test]
fn equal_sides_are_hardly_ever_told_apart() {
    let mut random = Rng::with_seed(4);
    let mut apart = 0;
    for _ in 0..5_000 {
        let mut side = || {
            (0..20)
                .map(|_| Some(1.0 + random.f64()))
                .collect::<Vec<_>>()
        };
        let spread = Spread::paired(&side(), &side()).expect("all count");
        apart += u32::from(matches!(
            spread.outcome(),
            Outcome::Faster | Outcome::Slower
        ));
    }
    // The confidence interval alone would allow 1 % of the 5,000.
    assert!(apart <= 50, "{apart} of 5000");
}

#[test]
fn rounds_that_do_not_count_are_left_out() {
    assert!(Spread::of([0.0, f64::NAN, f64::INFINITY, -1.0]).is_none());
    assert!(Spread::paired(&[Some(1.0), None], &[None, Some(1.0)]).is_none());
    let mut one = vec![Some(2.0); 9];
    one.extend([None, Some(0.0), Some(f64::NAN)]);
    let spread = Spread::paired(&one, &[Some(1.0); 12]).expect("nine count");
    assert_eq!((spread.rounds(), spread.outcome()), (9, Outcome::Slower));
}

/// Measures a row in at least this many rounds.
fn measured(row: &Row, least: usize) -> Measured {
    row.measure(Effort {
        sample: Duration::from_micros(1),
        total: Duration::ZERO,
        least,
    })
}

fn results(measured: &Measured) -> Vec<Judged> {
    let targets = measured.targets.iter();
    targets.map(|target| target.result).collect()
}

#[test]
fn a_row_has_what_was_asked_and_decides_nothing_from_one_round() {
    let work = |name: &str, nanoseconds: u64| {
        Workload::new(name, 1, move || {
            Box::new(move |turns| {
                // Takes real time, so that a sample has an end.
                (0..turns).for_each(|turn| _ = black_box(turn));
                Duration::from_nanos(turns * nanoseconds)
            })
        })
    };
    let row = Row::new("made up", 1, &work("ours", 10))
        .within(20.0)
        .against(Target::AtMost(1.0), 1, &work("theirs", 15))
        .against(Target::Faster(3.0), 1, &work("others", 20))
        .against(Target::AtMostTheBest(1.0), 1, &work("best", 12))
        .against(Target::AtMostTheBest(1.0), 1, &work("worst", 30));
    let met = [Judged::Met, Judged::Met, Judged::Missed, Judged::Met];
    for (least, expected) in [(1, [Judged::TooFew; 4]), (20, met)] {
        let measured = measured(&row, least);
        assert_eq!(results(&measured), expected);
        assert_eq!(
            measured.targets[3].asked,
            "at most 1 × the time of the best, best"
        );
        let best = measured.standing().expect("there are others");
        assert_eq!(best.peer.name, "best");
    }
}

#[test]
fn one_late_round_misses_a_target_of_every_round() {
    use Judged::{Met, Missed, TooFew};
    let work = Workload::new("late", 1, || {
        let mut calls = 0;
        Box::new(move |turns| {
            calls += 1;
            // Takes real time, so that a sample has an end.
            (0..turns).for_each(|turn| _ = black_box(turn));
            Duration::from_nanos(turns * if calls % 7 == 0 { 30 } else { 10 })
        })
    });
    for (least, limit, expected) in [(20, 25.0, Missed), (20, 31.0, Met), (1, 25.0, TooFew)] {
        let row = Row::new("late", 1, &work).always_within(limit);
        assert_eq!(results(&measured(&row, least)), [expected]);
    }
}

/// Returns a run of one row, with these medians.
fn made_up(medians: &[(&str, Role, f64)]) -> Results {
    let side = |&(name, role, median): &(&str, Role, f64)| Side {
        name: name.to_owned(),
        role,
        threads: 1,
        samples: Samples::alone([median; 20]),
    };
    let row = Measured {
        what: "work: <b>|".to_owned(),
        threads: 1,
        oversubscribed: false,
        sides: medians.iter().map(side).collect(),
        targets: Vec::new(),
    };
    Results {
        machine: vec!["<script>".to_owned()],
        quick: false,
        rows: vec![row],
    }
}

#[test]
fn the_table_says_who_is_ahead_and_by_how_much() {
    use Role::{Ours, Peer, Reference};
    let line = |medians: &[_]| {
        let text = table(&made_up(medians));
        let line = text
            .lines()
            .find(|line| line.starts_with(r"| work: \<b>\| |"));
        line.expect("a row").to_owned()
    };
    let ahead = line(&[("a", Ours, 4.0), ("b", Peer, 10.0), ("c", Reference, 1.0)]);
    assert!(ahead.starts_with(r"| work: \<b>\| | 1 | a 4.00 (4.00..4.00) | releasepool, 2.50 |"));
    assert!(
        ahead.contains("| c (a lower bound) 0.25; b 2.50 |"),
        "{ahead}"
    );
    let behind = line(&[("a", Ours, 4.0), ("slower", Ours, 5.0), ("b", Peer, 2.0)]);
    assert!(
        behind.contains("| b, 2.00 | b 0.50; slower 1.25 |"),
        "{behind}"
    );
    assert!(line(&[("a", Ours, 4.0), ("b", Peer, 4.1)]).contains("| even |"));
    assert!(line(&[("a", Ours, 4.0)]).contains("| – |"));
}

/// Compares the page and the chart with the table; writes both if RELEASEPOOL_RENEW_PAGE is set.
#[test]
fn the_page_and_the_chart_have_the_figures_of_the_table() {
    let read = |file: &str| fs::read_to_string(format!("../{file}")).expect(file);
    let wanted = ["docs/PERFORMANCE.md", "docs/performance.svg"];
    let [page, table] = [wanted[0], "benches/TABLE.md"].map(read);
    let (text, chart) = choices(&page, &table).expect("the table has all rows of the page");
    for (file, wanted) in wanted.into_iter().zip([text, chart]) {
        if env::var_os("RELEASEPOOL_RENEW_PAGE").is_some() {
            fs::write(format!("../{file}"), &wanted).expect(file);
        }
        assert!(
            read(file) == wanted,
            "{file}: benches/README.md says how it is renewed"
        );
    }
    let row = page
        .lines()
        .find(|line| line.starts_with("| Temporaries, 1,000 "));
    for side in row.expect("the first choice").split(';').take(2) {
        let figure = side.rsplit_once(' ').expect("a figure").1;
        assert!(read("README.md").contains(figure), "README.md: {figure}");
    }
    let other = table.replace("Arc + Vec ", "Arc + Vec 1");
    assert!(choices(&page, &other).expect("all rows").0 != page);
    assert!(choices(&page, &table.replace("A mixed frame", "")).is_err());
}

#[test]
fn on_the_page_text_stays_text() {
    let page = html(&made_up(&[
        ("a & b", Role::Ours, 4.0),
        ("c", Role::Peer, 9_000.0),
    ]));
    for text in [
        "<td>work: &lt;b>|</td>",
        "<li>&lt;script></li>",
        "<td>a &amp; b 4.00 (4.00..4.00)</td>",
        "<td>releasepool, 2250</td>",
        "1 row: releasepool is ahead of the fastest alternative in 1",
    ] {
        assert!(page.contains(text), "nowhere: {text}");
    }
    assert!(!page.contains("<script"));
}
