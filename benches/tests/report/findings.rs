//! The sentences on a scenario, and the marks in the summary.

use super::fixture::{between, figure, point, results, sample, samples, scaling, scenario, series};
use super::markup::{all, has_class, parsed, text};
use releasepool_benches::comparison::Outcome;
use releasepool_benches::findings::{Finding, columns, findings};
use releasepool_benches::report::html;
use releasepool_benches::results::{Point, Results, Role, Scenario};
use std::collections::BTreeMap;

/// Changes every sample of every point.
fn with(mut results: Results, change: impl Fn(&Scenario, &mut Point)) -> Results {
    for scenario in &mut results.scenarios {
        let before = scenario.clone();
        for series in &mut scenario.series {
            for point in &mut series.points {
                change(&before, point);
            }
        }
    }
    results
}

/// Reverses all comparisons: whatever takes twice as long as another then takes half as long.
fn reversed(results: Results) -> Results {
    let of = |time: f64| 1e3 / time;
    with(results, |_, point| {
        for sample in point.samples.iter_mut().flatten() {
            *sample = of(*sample);
        }
        let time = point.time;
        point.time.low = of(time.high);
        point.time.median = of(time.median);
        point.time.high = of(time.low);
    })
}

fn of_all(results: &Results) -> Vec<(&Scenario, Finding)> {
    let columns = columns(results);
    let scenarios = results.scenarios.iter();
    let of = |scenario| {
        findings(scenario, &columns)
            .into_iter()
            .map(move |f| (scenario, f))
    };
    scenarios.flat_map(of).collect()
}

/// Returns the median time of an implementation, computed here from its samples.
fn median(scenario: &Scenario, implementation: &str, threads: usize) -> f64 {
    let mut series = scenario.series.iter();
    let series = series.find(|series| series.implementation == implementation);
    let series = series.unwrap_or_else(|| panic!("no implementation {implementation:?}"));
    let point = series.point(threads).expect("it was measured");
    let mut times: Vec<_> = point.samples.iter().copied().flatten().collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// What a sentence says, read from its words.
#[derive(Debug, PartialEq)]
enum Said<'s> {
    /// The one takes this many times as long as the other.
    Times(&'s str, f64, &'s str),
    /// More threads take this many times as long as one; or one as more.
    Scaling(&'s str, f64),
    Other,
}

fn read(sentence: &str) -> Said<'_> {
    let (_, says) = sentence.split_once(": ").expect("threads");
    let says = says.trim_end_matches('.');
    let number = |text: &str| text.replace(',', "").parse::<f64>().expect("a number");
    let Some((one, rest)) = says.split_once(" takes ") else {
        return Said::Other;
    };
    if let Some((_, times)) = rest.split_once("less time per operation than with 1, which takes ") {
        return Said::Scaling(
            one,
            1.0 / number(times.strip_suffix(" times as long").expect("a number")),
        );
    }
    match rest.split_once(" times as long ") {
        Some((times, "per operation as with 1")) => Said::Scaling(one, number(times)),
        Some((times, other)) => {
            let other = other.strip_prefix("as ").expect("another implementation");
            Said::Times(one, number(times), other)
        }
        None => Said::Other,
    }
}

/// Checks a sentence against the samples.
fn is_true(scenario: &Scenario, finding: &Finding) {
    let text = &finding.text;
    let close = |said: f64, is: f64| assert!((said / is - 1.0).abs() < 0.02, "{text}: it is {is}");
    match read(text) {
        Said::Times(one, times, other) => {
            assert!(finding.outcome.is_conclusive());
            assert!(times > 1.0, "{text}");
            let threads = finding.threads;
            close(
                times,
                median(scenario, one, threads) / median(scenario, other, threads),
            );
        }
        Said::Scaling(one, times) => {
            close(
                times,
                median(scenario, one, finding.threads) / median(scenario, one, 1),
            );
        }
        Said::Other => assert!(
            !matches!(finding.outcome, Outcome::Faster | Outcome::Slower),
            "{text}"
        ),
    }
    let begins = format!("{} thread", finding.threads);
    assert!(text.starts_with(&begins), "{text}");
}

#[test]
fn each_sentence_is_true_and_changes_when_the_figures_are_reversed() {
    let (before, after) = (sample(), reversed(sample()));
    let (there, back) = (of_all(&before), of_all(&after));
    assert_eq!(there.len(), back.len());
    let mut decided = 0;
    for ((scenario, one), (swapped, other)) in there.iter().zip(&back) {
        is_true(scenario, one);
        is_true(swapped, other);
        assert_eq!(one.outcome.reversed(), other.outcome, "{}", one.text);
        if matches!(one.outcome, Outcome::Faster | Outcome::Slower) {
            decided += 1;
            assert_ne!(one.text, other.text);
        }
    }
    assert!(decided >= 12, "only {decided} sentences say anything");
    // The page has these sentences and no others.
    for (results, expected) in [(&before, &there), (&after, &back)] {
        let page = html(results);
        let document = parsed(&page);
        let items = all(document.root(), "li").filter(|li| has_class(*li, "finding"));
        let said: Vec<_> = items.map(text).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(_, finding)| finding.text.clone())
            .collect();
        assert_eq!(said, expected);
    }
}

/// Returns the words in the summary's cells, by scenario and number of threads.
fn marks(results: &Results) -> BTreeMap<(String, String), String> {
    let page = html(results);
    let document = parsed(&page);
    let summary = all(document.root(), "table").find(|table| has_class(*table, "summary"));
    let mut marks = BTreeMap::new();
    for row in all(summary.expect("a summary"), "tr").skip(1) {
        let title = all(row, "th").map(text).collect::<String>();
        for cell in all(row, "td").filter(|cell| !has_class(*cell, "remarks")) {
            let label = cell.attribute("data-label").expect("a label").to_owned();
            let mut words = cell
                .descendants()
                .filter(|n| has_class(*n, "word"))
                .map(text);
            let words = words.next().unwrap_or_default();
            // Exactly one side is marked if one is faster.
            let faster = cell
                .descendants()
                .filter(|n| has_class(*n, "faster"))
                .count();
            let decided = words.contains("ahead") || words.contains("behind");
            assert_eq!(faster, usize::from(decided), "{title}, {label}: {words}");
            let says = cell
                .descendants()
                .filter(|n| has_class(*n, "more"))
                .map(text);
            let says: String = says.collect();
            assert_eq!(
                says.contains("times as long"),
                decided,
                "{title}, {label}: {says}"
            );
            assert!(says.contains("round"), "{title}, {label}: {says}");
            marks.insert((title.clone(), label), words);
        }
    }
    marks
}

#[test]
fn each_mark_in_the_summary_changes_when_the_figures_are_reversed() {
    // One implementation on each side, as the fastest of many is another one after reversing.
    let of = |ours: &[f64], peer: &[f64]| {
        vec![
            series("releasepool", Role::Ours, ours),
            series("other", Role::Peer, peer),
        ]
    };
    let before = results(vec![
        scenario("a", "A", "", of(&[1.0, 9.0], &[3.0, 2.0])),
        scenario("b", "B", "", of(&[100.0, 2.0], &[3.0, 2.1])),
    ]);
    let mut swapped = before.clone();
    for scenario in &mut swapped.scenarios {
        let [one, other] = &mut scenario.series[..] else {
            unreachable!()
        };
        std::mem::swap(&mut one.points, &mut other.points);
    }
    let mirror = |word: &str| match word {
        "▲ releasepool is ahead" => "▼ releasepool is behind".to_owned(),
        "▼ releasepool is behind" => "▲ releasepool is ahead".to_owned(),
        other => other.to_owned(),
    };
    for other in [swapped, reversed(before.clone())] {
        let (there, back) = (marks(&before), marks(&other));
        let expected: BTreeMap<_, _> = there
            .iter()
            .map(|(k, word)| (k.clone(), mirror(word)))
            .collect();
        assert_eq!(expected, back);
        assert!(there.values().filter(|word| mirror(word) != **word).count() >= 3);
        for (results, marks) in [(&before, &there), (&other, &back)] {
            let count = |part: &str| marks.values().filter(|word| word.contains(part)).count();
            let says = format!(
                "Of 4 comparisons with the best of the others, releasepool is ahead in {}, even in \
                 {}, and behind in {}. Too noisy to tell: {};",
                count("ahead"),
                count("even"),
                count("behind"),
                count("noisy")
            );
            let page = html(results);
            let all = text(parsed(&page).root());
            assert!(all.contains(&says), "nowhere: {says}");
        }
    }
}

#[test]
fn one_round_concludes_nothing() {
    let one = with(sample(), |_, point| point.samples.truncate(1));
    for (_, finding) in of_all(&one) {
        assert_eq!(finding.outcome, Outcome::TooFew, "{}", finding.text);
        assert!(
            finding.text.contains("nothing is concluded from 1 round"),
            "{}",
            finding.text
        );
    }
    let found = marks(&one);
    assert!(found.len() >= 6);
    for (cell, word) in found {
        assert_eq!(word, "? too few rounds to tell", "{cell:?}");
    }
    let page = html(&one);
    let document = parsed(&page);
    let all = text(document.root());
    assert!(all.contains("releasepool is ahead in 0, even in 0, and behind in 0."));
    assert!(all.contains("Each implementation was measured in 1 round."));
}

#[test]
fn what_is_too_noisy_is_not_called_even() {
    // The median ratio is 18.7, but a third of the rounds are on the other side.
    let noisy = |at: usize| Some([0.4, 18.7, 31.0][at % 3]);
    let mut results = results(vec![scenario(
        "noisy",
        "Noisy",
        "",
        vec![
            series("releasepool", Role::Ours, &[18.7]),
            series("other", Role::Peer, &[1.0]),
        ],
    )]);
    let scenario = &mut results.scenarios[0];
    scenario.questions = vec![between("releasepool", "other")];
    scenario.series[0].points[0].samples = (0..60).map(noisy).collect();
    scenario.series[1].points[0].samples = vec![Some(1.0); 60];
    let [(_, finding)] = &of_all(&results)[..] else {
        panic!("one finding");
    };
    assert_eq!(finding.outcome, Outcome::TooNoisy);
    assert!(
        finding
            .text
            .contains("too noisy to tell (0.40 to 31.0 times in half of 60 rounds)")
    );
    let marks: Vec<_> = marks(&results).into_values().collect();
    assert_eq!(marks, ["? too noisy to tell"]);
}

#[test]
fn threads_that_took_turns_show_nothing() {
    let busy = with(sample(), |_, point| point.together = point.threads == 1);
    for (_, finding) in of_all(&busy) {
        let is_busy = finding.threads > 1;
        assert!(
            !is_busy || finding.outcome == Outcome::TooNoisy,
            "{}",
            finding.text
        );
        assert_eq!(
            finding.text.contains("took turns"),
            is_busy,
            "{}",
            finding.text
        );
    }
}

#[test]
fn rounds_that_only_one_side_has_compare_nothing() {
    let apart = with(sample(), |_, point| {
        let odd = usize::from(point.time.median > 5.0);
        for (at, sample) in point.samples.iter_mut().enumerate() {
            *sample = sample.filter(|_| at % 2 == odd);
        }
    });
    let page = html(&apart);
    assert!(page.contains("no round in common"));
}

#[test]
fn several_threads_are_two_and_more_is_a_column_of_its_own() {
    let of = |parallelism: usize, medians: &[f64]| {
        let all = vec![series("releasepool", Role::Ours, medians)];
        let mut results = results(vec![scenario("a", "A", "", all)]);
        results.machine.parallelism = parallelism;
        columns(&results)
    };
    let all = [1.0, 2.0, 3.0, 4.0];
    assert_eq!(of(1, &all), [1, 2]);
    assert_eq!(of(2, &all), [1, 2]);
    assert_eq!(of(4, &all), [1, 2, 4]);
    assert_eq!(of(6, &all), [1, 2, 4]);
    assert_eq!(of(64, &all), [1, 2, 8]);
    assert_eq!(of(2, &[0.0, 0.0, 3.0, 4.0]), [4]);
    assert_eq!(of(8, &[0.0, 0.0, 3.0, 4.0]), [8]);
    // Of two threads on one processor, and of four on two, the page says so.
    let mut results = sample();
    for point in results
        .scenarios
        .iter_mut()
        .flat_map(|s| &mut s.series)
        .flat_map(|s| &mut s.points)
    {
        point.oversubscribed = point.threads > 1;
    }
    for (_, finding) in of_all(&results) {
        let says = finding.text.contains("2 threads, more than processors: ");
        assert_eq!(says, finding.threads == 2, "{}", finding.text);
    }
}

#[test]
fn questions_on_what_was_not_measured_have_no_answer() {
    let mut results = sample();
    for scenario in &mut results.scenarios {
        scenario.questions = vec![between("releasepool", "nobody"), scaling("nobody")];
    }
    assert!(of_all(&results).is_empty());
    let scenario = &mut results.scenarios[0];
    scenario.series[0].points = vec![point(1, figure(4.0, 0.1))];
    scenario.series[0].points[0].samples = samples(4.0, 0.1, 3);
    scenario.questions = vec![scaling("releasepool Slot")];
    assert!(of_all(&results).is_empty());
}
