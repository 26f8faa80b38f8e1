//! The tables: how releasepool compares with the others, the targets, and all figures of a scenario.

use super::chart::mark;
use super::look::Looks;
use super::standing::{Entrant, Standing, usable};
use crate::comparison::{Judged, Outcome};
use crate::findings::times;
use crate::results::{Before, Point, Results, Scenario, Series};
use crate::text::{counted, number, spread as spread_of, time};
use maud::{Markup, html};

/// Says how releasepool compares with the best of the others, in a word.
fn word(outcome: Option<Outcome>) -> Markup {
    let (word, class) = match outcome {
        Some(Outcome::Faster) => ("▲ releasepool is ahead", "good"),
        Some(Outcome::Slower) => ("▼ releasepool is behind", "bad"),
        Some(Outcome::Even) => ("≈ even", "even"),
        Some(Outcome::TooNoisy) => ("? too noisy to tell", "open"),
        Some(Outcome::TooFew) => ("? too few rounds to tell", "open"),
        None => return html! {},
    };
    html! { span class={ "word " (class) } { (word) } }
}

/// Says by how much, and of how many rounds that is the result.
fn by_how_much(standing: &Standing) -> Markup {
    let (Some(ours), Some(peer)) = (standing.ours, standing.peer) else {
        let missing = match standing.ours {
            Some(_) => "nothing to compare it with",
            None => "releasepool was not measured",
        };
        return html! { span .word { (missing) } };
    };
    let Some((spread, outcome)) = standing.compared else {
        return html! { span .word { "no round in common" } };
    };
    let slower = match outcome {
        Outcome::Faster => Some(peer),
        Outcome::Slower => Some(ours),
        _ => None,
    };
    html! {
        span .more {
            @if let Some(slower) = slower {
                (slower.series.implementation) " takes " (times(outcome, &spread)) "; "
            } @else if outcome == Outcome::TooNoisy {
                "ratio " (spread_of(spread.figure())) "; "
            }
            (counted(spread.rounds(), "round"))
        }
    }
}

fn standing_cell(label: &str, standing: Option<&Standing>, looks: &Looks) -> Markup {
    let side = |entrant: Entrant, is_faster: bool| {
        let name = &entrant.series.implementation;
        html! {
            span .side .faster[is_faster] { (mark(looks.get(name))) " " (name) " " (time(entrant.time.median)) }
        }
    };
    html! {
        td role="cell" data-label=(label) {
            @if let Some(standing) = standing {
                @let outcome = standing.outcome();
                @if standing.oversubscribed {
                    span .threads { "more threads than processors" } " "
                }
                (word(outcome)) " "
                @if let Some(ours) = standing.ours {
                    (side(ours, outcome == Some(Outcome::Faster))) " "
                }
                @if let Some(peer) = standing.peer {
                    (side(peer, outcome == Some(Outcome::Slower))) " "
                }
                (by_how_much(standing))
            } @else {
                span .more { "–" }
            }
        }
    }
}

/// Returns a table that becomes a list of cards on a narrow screen. The roles keep it a table for
/// screen readers there.
fn cards(class: &str, titles: &[&str], rows: &Markup) -> Markup {
    html! {
        table class={ "cards " (class) } role="table" {
            thead role="rowgroup" {
                tr role="row" {
                    @for title in titles { th role="columnheader" scope="col" { (title) } }
                }
            }
            tbody role="rowgroup" { (rows) }
        }
    }
}

/// Returns the table that compares releasepool with the best of the others in each scenario, with a
/// column for each of these numbers of threads.
pub fn summary(results: &Results, looks: &Looks, columns: &[usize]) -> Markup {
    const REMARKS: &str = "Apart from time";
    let labels: Vec<_> = columns.iter().map(|&n| counted(n, "thread")).collect();
    let rows = html! {
        @for scenario in &results.scenarios {
            tr role="row" {
                th role="rowheader" scope="row" {
                    a href={ "#scenario-" (scenario.id) } { (scenario.title) }
                }
                @for (&threads, label) in columns.iter().zip(&labels) {
                    (standing_cell(label, Standing::with(scenario, threads).as_ref(), looks))
                }
                td .remarks role="cell" data-label=(REMARKS) { (scenario.remarks) }
            }
        }
    };
    let mut titles = vec!["Scenario"];
    titles.extend(labels.iter().map(String::as_str));
    titles.push(REMARKS);
    cards("summary", &titles, &rows)
}

/// Returns the table of the project's targets.
pub fn targets(results: &Results) -> Markup {
    let rows = html! {
        @for verdict in &results.targets {
            tr role="row" {
                th role="rowheader" scope="row" { (verdict.what) }
                td role="cell" data-label="Target" { (verdict.asked) }
                td role="cell" data-label="Measured" {
                    b { (number(verdict.measured.median)) } " "
                    span .more {
                        (spread_of(verdict.measured)) ", "
                        (counted(verdict.samples.iter().flatten().count(), "round"))
                    }
                }
                td role="cell" data-label="Result" {
                    @match verdict.result {
                        Judged::Met => { span .word.good { "✓ met" } }
                        Judged::Missed => { span .word.bad { "✗ missed" } }
                        Judged::TooNoisy => { span .word.open { "? too noisy to tell" } }
                        Judged::TooFew => { span .word.open { "? too few rounds to tell" } }
                    }
                }
                td .nothing[verdict.remark.is_none()] role="cell" data-label="Remark" {
                    (verdict.remark.as_deref().unwrap_or("–"))
                }
            }
        }
    };
    let titles = ["Comparison", "Target", "Measured", "Result", "Remark"];
    cards("targets", &titles, &rows)
}

/// How a figure changed since an earlier run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Slower,
    Faster,
    /// The change is within the spread of both runs.
    Within,
    /// The earlier run does not have the figure.
    Unknown,
}

/// Compares a point with the earlier run.
pub fn change(point: &Point) -> Change {
    let Some(Before { time, changed }) = point.before else {
        return Change::Unknown;
    };
    match (usable(point.time), usable(time)) {
        (Some(_), Some(_)) if !changed => Change::Within,
        (Some(now), Some(before)) if now.median > before.median => Change::Slower,
        (Some(_), Some(_)) => Change::Faster,
        _ => Change::Unknown,
    }
}

fn change_text(point: &Point) -> Markup {
    let before = point.before.map(|before| number(before.time.median));
    let before = before.unwrap_or_default();
    match change(point) {
        Change::Slower => html! { span .word.bad { "▼ slower: was " (before) } },
        Change::Faster => html! { span .word.good { "▲ faster: was " (before) } },
        Change::Within => html! { span .more { "within the spread: was " (before) } },
        Change::Unknown => html! { span .more { "not in the baseline" } },
    }
}

fn point_cell(point: Option<&Point>, first: bool, baseline: bool) -> Markup {
    let Some(point) = point else {
        return html! { td { span .more { "not measured" } } };
    };
    let ratio = point.ratio.filter(|ratio| ratio.median.is_finite());
    html! {
        td {
            b { (number(point.time.median)) } " "
            span .more { (spread_of(point.time)) ", " (counted(point.rounds(), "round")) }
            @if !first {
                span .line {
                    @if let Some(ratio) = ratio {
                        "× " (number(ratio.median)) " " span .more { (spread_of(ratio)) }
                    } @else {
                        "× none"
                    }
                }
            }
            @if baseline { span .line { (change_text(point)) } }
        }
    }
}

/// Returns the table of all figures of a scenario.
pub fn figures(scenario: &Scenario, looks: &Looks, baseline: bool) -> Markup {
    let instructions = |series: &Series| series.points.iter().find_map(|p| p.instructions);
    let has_before = scenario.points().any(|(_, point)| point.before.is_some());
    let has_instructions = scenario.series.iter().any(|s| instructions(s).is_some());
    let threads = scenario.threads();
    html! {
        details {
            summary { "All figures of “" (scenario.title) "”" }
            p .more {
                "Nanoseconds per operation: " b { "median" } " (quartiles)"
                @if let [first, _, ..] = &scenario.series[..] {
                    "; × how many times as long as " (first.implementation)
                    ", with as many threads"
                }
                @if baseline && !has_before { ". Not in the baseline" }
                "."
            }
            div .scroll tabindex="0" role="region"
                aria-label={ "All figures of " (scenario.title) } {
                table .figures {
                    thead {
                        tr {
                            th scope="col" { "Implementation" }
                            @for (&threads, &oversubscribed) in &threads {
                                th scope="col" {
                                    (counted(threads, "thread"))
                                    @if oversubscribed {
                                        span .line.more { "more than processors" }
                                    }
                                }
                            }
                            @if has_instructions {
                                th scope="col" {
                                    "Instructions" span .line.more { "one thread" }
                                }
                            }
                        }
                    }
                    tbody {
                        @for (at, series) in scenario.series.iter().enumerate() {
                            tr .first[at == 0] {
                                th scope="row" {
                                    (mark(looks.get(&series.implementation))) " "
                                    (series.implementation)
                                    @if let Some(note) = &series.note {
                                        span .line.more { (note) }
                                    }
                                }
                                @for &threads in threads.keys() {
                                    (point_cell(series.point(threads), at == 0, baseline && has_before))
                                }
                                @if has_instructions {
                                    td { (instructions(series).map_or("–".to_owned(), number)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
