//! What is concluded from samples.

use fastrand::Rng;
use releasepool_benches::comparison::{Judged, MARGIN, Outcome, Spread, WIDEST, least_rounds};
use releasepool_benches::contest::Effort;
use releasepool_benches::results::{Results, to_json};
use releasepool_benches::table::{Row, Target, measure};
use releasepool_benches::workload::Workload;
use std::hint::black_box;
use std::time::Duration;

use super::fixture::sample;

type Samples = Vec<Option<f64>>;

fn some(values: impl IntoIterator<Item = f64>) -> Samples {
    values.into_iter().map(Some).collect()
}

/// Returns the outcome for these ratios, one for each round.
fn of(ratios: &[f64]) -> Outcome {
    let spread = Spread::of(ratios.iter().copied());
    spread.expect("some count").outcome()
}

/// Returns 40 values: all of `first`, and the rest from `rest` by turns.
fn forty(first: &[f64], rest: &[f64]) -> Vec<f64> {
    let rest = rest.iter().copied().cycle();
    first.iter().copied().chain(rest).take(40).collect()
}

#[test]
fn a_table_of_outcomes() {
    use Outcome::{Even, Faster, Slower, TooFew, TooNoisy};
    let table: &[(&str, Vec<f64>, Outcome)] = &[
        ("one round", vec![18.7], TooFew),
        ("one round, equal", vec![1.0], TooFew),
        ("seven rounds that agree", vec![3.0; 7], TooFew),
        ("eight rounds that agree", vec![3.0; 8], Slower),
        (
            "eight rounds, one differs",
            forty(&[0.9], &[3.0])[..8].to_vec(),
            TooNoisy,
        ),
        ("equal", forty(&[], &[0.99, 1.0, 1.01]), Even),
        ("one percent, sure", vec![1.01; 40], Even),
        ("six percent, sure", vec![1.06; 40], Slower),
        ("six percent faster, sure", vec![0.94; 40], Faster),
        ("a tenth", forty(&[], &[0.88, 0.9, 0.92]), Faster),
        // The median is 18.7, but a third of the rounds are below 1.
        (
            "18.7 times, noisy",
            forty(&[], &[0.4, 18.7, 31.0]),
            TooNoisy,
        ),
        ("18.7 times, sure", forty(&[], &[17.0, 18.7, 31.0]), Slower),
        (
            "18.7 times, an outlier",
            forty(&[0.1], &[17.0, 18.7, 31.0]),
            Slower,
        ),
        ("wide around 1", forty(&[], &[0.5, 1.0, 2.0]), TooNoisy),
        (
            "median 1, quartiles far away",
            forty(&[1.0; 16], &[0.3, 3.0]),
            TooNoisy,
        ),
    ];
    for (name, ratios, expected) in table {
        assert_eq!(of(ratios), *expected, "{name}");
        let mirrored: Vec<_> = ratios.iter().map(|ratio| 1.0 / ratio).collect();
        assert_eq!(of(&mirrored), expected.reversed(), "{name}, mirrored");
    }
    assert_eq!(least_rounds(), 8);
}

/// Returns two sides with a random number of rounds, ratio and noise; some rounds do not count.
fn pair(random: &mut Rng) -> (Samples, Samples) {
    let rounds = random.usize(1..60);
    let ratio = (4.0 * random.f64() * random.f64() * (random.f64() - 0.5)).exp();
    let noise = random.f64() * random.f64();
    let mut side = |factor: f64| -> Samples {
        let mut sample = || {
            let counts = random.u8(..20) > 0;
            let time = 10.0 * factor * (noise * (random.f64() + random.f64() - 1.0)).exp();
            counts.then_some(time)
        };
        (0..rounds).map(|_| sample()).collect()
    };
    (side(1.0), side(ratio))
}

#[test]
fn swapping_the_sides_mirrors_the_outcome() {
    let mut random = Rng::with_seed(1);
    let mut seen = Vec::new();
    for _ in 0..4_000 {
        let (one, other) = pair(&mut random);
        for compare in [Spread::paired, Spread::unpaired] {
            let (Some(there), Some(back)) = (compare(&one, &other), compare(&other, &one)) else {
                continue;
            };
            let outcome = there.outcome();
            assert_eq!(outcome.reversed(), back.outcome(), "{one:?} {other:?}");
            let (there, back) = (there.figure(), back.figure());
            let close = |a: f64, b: f64| assert!((a * b - 1.0).abs() < 1e-9, "{a} {b}");
            close(there.low, back.high);
            close(there.median, back.median);
            close(there.high, back.low);
            if !seen.contains(&outcome) {
                seen.push(outcome);
            }
        }
    }
    assert_eq!(seen.len(), 5, "outcomes that never came: only {seen:?}");
}

#[test]
fn an_outcome_agrees_with_the_figures_that_are_shown() {
    let mut random = Rng::with_seed(2);
    for _ in 0..4_000 {
        let (one, other) = pair(&mut random);
        for compare in [Spread::paired, Spread::unpaired] {
            let Some(spread) = compare(&one, &other) else {
                continue;
            };
            let figure = spread.figure();
            match spread.outcome() {
                Outcome::Faster => assert!(figure.high < 1.0, "{figure:?}"),
                Outcome::Slower => assert!(figure.low > 1.0, "{figure:?}"),
                Outcome::Even => {
                    assert!(
                        (1.0 / MARGIN..=MARGIN).contains(&figure.median),
                        "{figure:?}"
                    );
                    assert!(figure.low > 0.999 / WIDEST && figure.high < 1.001 * WIDEST);
                }
                Outcome::TooNoisy => assert!(spread.rounds() >= least_rounds()),
                Outcome::TooFew => assert!(spread.rounds() < least_rounds()),
            }
        }
    }
}

#[test]
fn neither_the_order_of_the_rounds_nor_the_unit_matters() {
    let mut random = Rng::with_seed(3);
    for _ in 0..2_000 {
        let (one, other) = pair(&mut random);
        let Some(spread) = Spread::paired(&one, &other) else {
            continue;
        };
        let mut rounds: Vec<_> = one.iter().zip(&other).collect();
        random.shuffle(&mut rounds);
        // A power of two, so that nothing is rounded.
        let scaled = |sample: &Option<f64>| sample.map(|time| time * 1_024.0);
        let (one, other): (Samples, Samples) =
            rounds.iter().map(|(a, b)| (scaled(a), scaled(b))).unzip();
        let after = Spread::paired(&one, &other).expect("as before");
        let (before, after) = (
            (spread.outcome(), spread.figure()),
            (after.outcome(), after.figure()),
        );
        assert_eq!(before.0, after.0);
        assert!((before.1.median / after.1.median - 1.0).abs() < 1e-9);
    }
}

#[test]
fn equal_sides_are_hardly_ever_told_apart() {
    let mut random = Rng::with_seed(4);
    let mut apart = 0;
    for _ in 0..5_000 {
        let mut side = || some((0..20).map(|_| 1.0 + random.f64()).collect::<Vec<_>>());
        let spread = Spread::paired(&side(), &side()).expect("all count");
        apart += u32::from(matches!(
            spread.outcome(),
            Outcome::Faster | Outcome::Slower
        ));
    }
    // The interval alone allows 1 % of them.
    assert!(apart <= 50, "{apart} of 5000");
}

#[test]
fn rounds_that_do_not_count_are_left_out() {
    let nothing = [
        Some(0.0),
        Some(f64::NAN),
        Some(f64::INFINITY),
        Some(-1.0),
        None,
    ];
    assert!(Spread::of(nothing.into_iter().flatten()).is_none());
    assert!(Spread::paired(&[Some(1.0), None], &[None, Some(1.0)]).is_none());
    let mut one = some([2.0; 9]);
    let other = some([1.0; 9]);
    one.extend([None, Some(0.0), Some(f64::NAN)]);
    let other: Samples = other.into_iter().chain([Some(1.0); 3]).collect();
    let spread = Spread::paired(&one, &other).expect("nine count");
    assert_eq!((spread.rounds(), spread.outcome()), (9, Outcome::Slower));
}

#[test]
fn a_table_of_limits() {
    let table: &[(&str, Vec<f64>, f64, bool, Judged)] = &[
        ("kept", vec![0.9; 40], 1.0, false, Judged::Met),
        ("missed", vec![1.1; 40], 1.0, false, Judged::Missed),
        ("kept from below", vec![4.0; 40], 3.0, true, Judged::Met),
        (
            "missed from below",
            vec![2.0; 40],
            3.0,
            true,
            Judged::Missed,
        ),
        ("exactly", vec![1.0; 40], 1.0, false, Judged::Met),
        ("one round", vec![0.9], 1.0, false, Judged::TooFew),
        (
            "around it",
            forty(&[], &[0.8, 0.99, 1.01, 1.2]),
            1.0,
            false,
            Judged::TooNoisy,
        ),
        (
            "narrowly kept",
            forty(&[], &[0.97, 0.98]),
            1.0,
            false,
            Judged::Met,
        ),
    ];
    for (name, values, limit, at_least, expected) in table {
        let spread = Spread::of(values.iter().copied()).expect("all count");
        assert_eq!(spread.judge(*limit, *at_least), *expected, "{name}");
    }
}

#[test]
fn a_target_that_was_measured_in_one_round_is_not_decided() {
    let work = |name: &str| {
        Workload::new(name, 1, || {
            Box::new(|turns| {
                (0..turns).for_each(|turn| {
                    black_box(turn);
                });
                Duration::from_nanos(turns)
            })
        })
    };
    let row = Row::new("made up", 1, &work("ours"))
        .within(1e9)
        .against(Target::AtMost(1e9), 1, &work("theirs"))
        .against(Target::Faster(1e-9), 1, &work("others"));
    for (least, expected) in [(1, Judged::TooFew), (20, Judged::Met)] {
        let effort = Effort {
            sample: Duration::from_micros(1),
            total: Duration::ZERO,
            least,
        };
        let verdicts = measure(&row, effort).verdicts;
        assert_eq!(verdicts.len(), 3);
        for verdict in verdicts {
            assert_eq!(verdict.samples.len(), least, "{}", verdict.what);
            assert_eq!(verdict.result, expected, "{}", verdict.what);
        }
    }
}

#[test]
fn the_json_has_the_raw_samples() {
    let results = sample();
    let json = to_json(&results).expect("it can be written");
    let back: Results = serde_json::from_str(&json).expect("it can be read");
    assert_eq!(back.points().count(), results.points().count());
    for ((.., before), (.., after)) in results.points().zip(back.points()) {
        assert_eq!(before.samples.len(), after.samples.len());
        for (before, after) in before.samples.iter().zip(&after.samples) {
            let (before, after) = (before.expect("it counts"), after.expect("it counts"));
            // The parser may differ in the last digit.
            assert!((before / after - 1.0).abs() < 1e-12);
        }
    }
    let lines = json
        .lines()
        .filter(|line| line.trim_start().starts_with("\"samples\": ["));
    let points = results.points().count() + results.targets.len();
    assert_eq!(lines.clone().count(), points);
    for line in lines {
        assert_eq!(
            line.matches(", ").count(),
            100,
            "not all in one line: {line}"
        );
    }
    assert!(json.lines().count() < 2_000);
}
