//! The page and its sections.

use super::chart;
use super::look::Looks;
use super::standing::Standing;
use super::table::{Change, change, figures, summary, targets};
use crate::comparison::{Judged, MARGIN, Outcome, WIDEST, least_rounds};
use crate::findings::{columns, findings};
use crate::results::{Results, Scenario};
use crate::text::{counted, date, duration, printable};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// Closed, unlike in maud's output, so that the page is XML too.
const META: &str = "<meta charset=\"utf-8\"/>\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
    <meta name=\"color-scheme\" content=\"light dark\"/>";

const TITLE: &str = "releasepool: contention";

/// Terms that readers who have never used a pool may not know.
const GLOSSARY: &str = include_str!("glossary.html");

const METHOD: &str = include_str!("method.html");

fn head(results: &Results) -> Markup {
    let machine = &results.machine;
    let at_once = counted(machine.parallelism, "thread");
    let facts = [
        (
            "Machine",
            format!("{}, {at_once} at the same time", machine.processor),
        ),
        ("System", machine.system.clone()),
        ("Toolchain", machine.toolchain.clone()),
        ("Build", machine.flags.clone()),
        ("Allocator", machine.allocator.clone()),
        (
            "Commit",
            machine.commit.clone().unwrap_or("unknown".to_owned()),
        ),
        ("Date", date(machine.began)),
        ("Duration", duration(machine.seconds)),
    ];
    html! {
        header {
            h1 { (TITLE) }
            p .about {
                "The cost of creating, sharing and releasing objects on one thread and on several: "
                "releasepool compared with the alternatives. Times are for one operation of one "
                "thread, so lower is better."
            }
            @if results.quick {
                p .quick role="note" {
                    strong { "Quick run." }
                    " It shows that everything works; its figures are not reliable."
                }
            }
            dl {
                @for (what, text) in facts { div { dt { (what) } dd { (text) } } }
            }
        }
    }
}

/// Says how often releasepool is ahead, even and behind in the summary.
fn balance(results: &Results, columns: &[usize]) -> Markup {
    let scenarios = results.scenarios.iter();
    let standings = scenarios.flat_map(|s| columns.iter().filter_map(|&n| Standing::with(s, n)));
    let outcomes: Vec<_> = standings.filter_map(|s| s.outcome()).collect();
    let count = |outcome| outcomes.iter().filter(|other| **other == outcome).count();
    html! {
        "Of " (counted(outcomes.len(), "comparison")) " with the best of the others, "
        "releasepool is ahead in " b .good { (count(Outcome::Faster)) }
        ", even in " b { (count(Outcome::Even)) }
        ", and behind in " b .bad { (count(Outcome::Slower)) } ". Too noisy to tell: "
        (count(Outcome::TooNoisy)) "; too few rounds: " (count(Outcome::TooFew)) "."
    }
}

fn choose(results: &Results, looks: &Looks, columns: &[usize]) -> Markup {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let (margin, widest, least) = (percent(MARGIN), percent(WIDEST), least_rounds());
    html! {
        section {
            h2 id="choose" { "How releasepool compares" }
            @if results.scenarios.is_empty() {
                p { "Nothing was measured." }
            } @else {
                p { (balance(results, columns)) }
                p .more {
                    "All verdicts on this page are computed from its figures. " i { "Ahead" } " and "
                    i { "behind" } ": the confidence interval (99 %) of the median ratio, and at "
                    "least three quarters of the rounds, are on one side of 1. " i { "Even" }
                    (format!(
                        ": that interval is within {margin:.0} % of 1, and half of the rounds within \
                         {widest:.0} %. "
                    ))
                    i { "Too noisy" } ": neither. Nothing is concluded from fewer than "
                    (counted(least, "round")) ". Implementations for one thread only are not "
                    "compared here, as they are no choice for several threads."
                }
                (summary(results, looks, columns))
                details id="words" {
                    summary { "Glossary" }
                    (PreEscaped(GLOSSARY))
                }
            }
        }
    }
}

fn asked(results: &Results) -> Markup {
    let count = |result| {
        results
            .targets
            .iter()
            .filter(|v| v.result == result)
            .count()
    };
    let open = count(Judged::TooNoisy) + count(Judged::TooFew);
    html! {
        section {
            h2 id="targets" { "Targets" }
            @if results.targets.is_empty() {
                p { "No targets were checked." }
            } @else {
                p {
                    "The project's targets: " (count(Judged::Met)) " of "
                    (counted(results.targets.len(), "target")) " met, "
                    (count(Judged::Missed)) " missed, " (open) " not decided. The measured value is "
                    "the median, with the quartiles as a measure of the noise."
                }
                (targets(results))
            }
        }
    }
}

/// Returns the figures that changed since an earlier run.
fn changes(results: &Results) -> Markup {
    let Some(baseline) = &results.baseline else {
        return html! {};
    };
    let all = results.points();
    let all: Vec<_> = all
        .map(|(s, series, p)| (s, series, p, change(p)))
        .collect();
    let count = |kind| all.iter().filter(|(.., found)| *found == kind).count();
    let slower = all.iter().filter(|(.., found)| *found == Change::Slower);
    html! {
        section {
            h2 id="changes" { "Since the baseline" }
            p {
                "Compared with " code { (baseline) } ": "
                (counted(count(Change::Slower), "figure")) " " b .bad { "slower" } " and "
                (count(Change::Faster)) " " b .good { "faster" } " beyond the spread, "
                (count(Change::Within)) " within it."
            }
            @if count(Change::Slower) > 0 {
                p { "Slower:" }
                ul {
                    @for (scenario, series, point, _) in slower {
                        li {
                            a href={ "#scenario-" (scenario.id) } { (scenario.title) } ": "
                            (series.implementation) ", " (counted(point.threads, "thread"))
                        }
                    }
                }
            }
        }
    }
}

/// Returns the sentences on a scenario.
fn conclusion(scenario: &Scenario, columns: &[usize]) -> Markup {
    let findings = findings(scenario, columns);
    html! {
        div .conclusion {
            @if !findings.is_empty() {
                h3 { "In this run" }
                ul {
                    @for finding in findings { li .finding { (finding.text) } }
                }
            }
            @if !scenario.remarks.is_empty() {
                p .remarks { b { "Apart from time:" } " " (scenario.remarks) }
            }
        }
    }
}

fn scenarios(results: &Results, looks: &Looks, columns: &[usize]) -> Markup {
    html! {
        @for (index, scenario) in results.scenarios.iter().enumerate() {
            section .scenario id={ "scenario-" (scenario.id) } {
                h2 { (scenario.title) }
                p { (scenario.what) }
                (chart::figure(scenario, looks, index))
                (conclusion(scenario, columns))
                (figures(scenario, looks, results.baseline.is_some()))
            }
        }
    }
}

/// Returns the range of the numbers of rounds of all points.
fn rounds(results: &Results) -> String {
    let rounds = results.points().map(|(.., point)| point.rounds());
    match (rounds.clone().min(), rounds.max()) {
        (Some(least), Some(most)) if least == most => counted(least, "round"),
        (Some(least), Some(most)) => format!("{least} to {most} rounds"),
        _ => "no rounds".to_owned(),
    }
}

fn method(results: &Results) -> Markup {
    html! {
        section {
            h2 id="method" { "How it was measured" }
            p { "Each implementation was measured in " (rounds(results)) "." }
            (PreEscaped(METHOD))
        }
    }
}

/// Returns the whole page.
pub fn page(results: &Results) -> String {
    let looks = Looks::of(results);
    let columns = columns(results);
    let page = html! {
        (DOCTYPE)
        html lang="en" xmlns="http://www.w3.org/1999/xhtml" {
            head {
                (PreEscaped(META))
                title { (TITLE) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(results))
                main {
                    (choose(results, &looks, &columns))
                    (asked(results))
                    (changes(results))
                    (scenarios(results, &looks, &columns))
                    (method(results))
                }
            }
        }
    };
    printable(&page.into_string())
}
