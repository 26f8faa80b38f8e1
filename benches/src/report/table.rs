//! The tables: which implementation to choose, the targets, and all figures of a scenario.

use super::chart::mark;
use super::look::Looks;
use super::standing::{Entrant, Outcome, Standing, usable};
use super::text::{counted, number, spread, time};
use crate::results::{Before, Point, Results, Scenario, Series};
use maud::{Markup, html};

/// Formats a ratio as "1.40 times as long", unless it is close to one.
fn times(ratio: f64) -> String {
    if ratio < 1.005 {
        "about as long".to_owned()
    } else {
        format!("{} times as long", number(ratio))
    }
}

/// Says how releasepool compares with the best of the others.
fn stands(standing: &Standing) -> Markup {
    let (Some(ours), Some(peer), Some(ratio)) = (standing.ours, standing.peer, standing.ratio)
    else {
        let missing = match standing.ours {
            Some(_) => "nothing to compare it with",
            None => "releasepool was not measured",
        };
        return html! { span .word { (missing) } };
    };
    let best = standing.best().map(|best| &best.series.implementation);
    let (word, class) = match standing.outcome {
        Outcome::Ahead => ("▲ releasepool is ahead", "good"),
        Outcome::Behind => ("▼ releasepool is behind", "bad"),
        _ => ("≈ even", "even"),
    };
    let (cost, slower) = if best == Some(&ours.series.implementation) {
        (1.0 / ratio.median, peer)
    } else {
        (ratio.median, ours)
    };
    html! {
        span class={ "word " (class) } { (word) } " "
        span .more {
            (slower.series.implementation) " takes " (times(cost))
            " (" (time(slower.time.median)) ")"
        }
    }
}

fn standing_cell(label: &str, standing: Option<&Standing>, looks: &Looks) -> Markup {
    let best = standing.and_then(|standing| Some((standing, standing.best()?)));
    let named = |entrant: Entrant| {
        let name = &entrant.series.implementation;
        html! { (mark(looks.get(name))) " " (name) }
    };
    html! {
        td role="cell" data-label=(label) {
            @if let Some((standing, best)) = best {
                span .threads .one[standing.threads == 1] {
                    (counted(standing.threads, "thread"))
                    @if standing.oversubscribed { ", more than processors" }
                } " "
                span .best { b { (named(best)) } " " (time(best.time.median)) } " "
                (stands(standing))
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

/// Returns the table of the best implementations of each scenario.
pub fn summary(results: &Results, looks: &Looks) -> Markup {
    const ONE: &str = "Best with one thread";
    const SEVERAL: &str = "Best with several threads";
    const LESSON: &str = "Conclusion";
    let rows = html! {
        @for scenario in &results.scenarios {
            @let ends = Standing::ends(scenario);
            tr role="row" {
                th role="rowheader" scope="row" {
                    a href={ "#scenario-" (scenario.id) } { (scenario.title) }
                }
                (standing_cell(ONE, ends.first().filter(|first| first.threads == 1), looks))
                (standing_cell(SEVERAL, ends.last().filter(|last| last.threads > 1), looks))
                td .lesson role="cell" data-label=(LESSON) { (scenario.lesson) }
            }
        }
    };
    cards("summary", &["Scenario", ONE, SEVERAL, LESSON], &rows)
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
                    span .more { (spread(verdict.measured)) }
                }
                td role="cell" data-label="Result" {
                    @if verdict.met {
                        span .word.good { "✓ met" }
                    } @else {
                        span .word.bad { "✗ missed" }
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
            span .more { (spread(point.time)) }
            @if !first {
                span .line {
                    @if let Some(ratio) = ratio {
                        "× " (number(ratio.median)) " " span .more { (spread(ratio)) }
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
