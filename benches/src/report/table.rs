//! The tables: what to choose, the targets, and all figures of a scenario.

use super::chart::mark;
use super::look::Looks;
use super::standing::{Entrant, Outcome, Standing, is_oversubscribed, thread_counts};
use super::text::{counted, escape, number, spread, time};
use super::{put, sound};
use crate::contest::Figure;
use crate::results::{Before, Point, Results, Scenario, Series};

/// A ratio of less than this is not worth a word.
const SAME: f64 = 1.005;

/// "1.40 times as long".
fn times(ratio: f64) -> String {
    if ratio < SAME {
        "about as long".to_owned()
    } else {
        format!("{} times as long", number(ratio))
    }
}

fn named(entrant: Entrant, looks: &Looks) -> String {
    let name = &entrant.series.implementation;
    format!("{} {}", mark(looks.get(name)), escape(name))
}

/// How releasepool stands to the best of the others, in words.
fn stands(standing: &Standing) -> String {
    let (Some(ours), Some(peer), Some(ratio)) = (standing.ours, standing.peer, standing.ratio)
    else {
        return match standing.ours {
            Some(_) => "<span class=\"word\">nothing to compare it with</span>".to_owned(),
            None => "<span class=\"word\">releasepool was not measured</span>".to_owned(),
        };
    };
    let best = standing.best().map(|best| &best.series.implementation);
    let (word, class) = match standing.outcome {
        Outcome::Ahead => ("▲ releasepool is ahead", "good"),
        Outcome::Behind => ("▼ releasepool is behind", "bad"),
        _ => ("≈ even", "even"),
    };
    let (who, cost, entrant) = if best == Some(&ours.series.implementation) {
        (&peer.series.implementation, 1.0 / ratio.median, peer)
    } else {
        (&ours.series.implementation, ratio.median, ours)
    };
    format!(
        "<span class=\"word {class}\">{word}</span> <span class=\"more\">{} takes {} ({})</span>",
        escape(who),
        times(cost),
        time(entrant.time.median),
    )
}

fn standing_cell(out: &mut String, label: &str, standing: Option<&Standing>, looks: &Looks) {
    put!(out, "<td role=\"cell\" data-label=\"{label}\">");
    let best = standing.and_then(|standing| Some((standing, standing.best()?)));
    if let Some((standing, best)) = best {
        let over = if standing.oversubscribed {
            ", more than processors"
        } else {
            ""
        };
        let one = if standing.threads == 1 { " one" } else { "" };
        put!(
            out,
            "<span class=\"threads{one}\">{}{over}</span> <span class=\"best\"><b>{}</b> {}</span> {}",
            counted(standing.threads, "thread"),
            named(best, looks),
            time(best.time.median),
            stands(standing)
        );
    } else {
        out.push_str("<span class=\"more\">–</span>");
    }
    out.push_str("</td>\n");
}

/// Which to choose, in every scenario.
pub fn summary(results: &Results, looks: &Looks) -> String {
    // Tables that are cards on a narrow screen are tables nevertheless: hence the roles.
    let mut out = String::from(
        "<table class=\"cards summary\" role=\"table\">\n<thead role=\"rowgroup\"><tr role=\"row\">\
         <th role=\"columnheader\" scope=\"col\">Scenario</th>\
         <th role=\"columnheader\" scope=\"col\">Best with one thread</th>\
         <th role=\"columnheader\" scope=\"col\">Best with several threads</th>\
         <th role=\"columnheader\" scope=\"col\">So</th></tr></thead>\n<tbody role=\"rowgroup\">\n",
    );
    for scenario in &results.scenarios {
        let ends = Standing::ends(scenario);
        let one = ends.first().filter(|first| first.threads == 1);
        let most = ends.last().filter(|last| last.threads > 1);
        let id = escape(&scenario.id);
        put!(
            out,
            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\"><a href=\"#scenario-{id}\">{}</a></th>\n",
            escape(&scenario.title)
        );
        standing_cell(&mut out, "Best with one thread", one, looks);
        standing_cell(&mut out, "Best with several threads", most, looks);
        put!(
            out,
            "<td role=\"cell\" data-label=\"So\" class=\"lesson\">{}</td></tr>\n",
            escape(&scenario.lesson)
        );
    }
    out.push_str("</tbody>\n</table>\n");
    out
}

/// What the project asks of itself.
pub fn targets(results: &Results) -> String {
    let mut out = String::from(
        "<table class=\"cards targets\" role=\"table\">\n<thead role=\"rowgroup\"><tr role=\"row\">\
         <th role=\"columnheader\" scope=\"col\">What</th>\
         <th role=\"columnheader\" scope=\"col\">Asked</th>\
         <th role=\"columnheader\" scope=\"col\">Measured</th>\
         <th role=\"columnheader\" scope=\"col\">Result</th>\
         <th role=\"columnheader\" scope=\"col\">Remark</th></tr></thead>\n<tbody role=\"rowgroup\">\n",
    );
    for verdict in &results.targets {
        let (class, word) = if verdict.met {
            ("good", "✓ met")
        } else {
            ("bad", "✗ missed")
        };
        put!(
            out,
            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">{}</th>\
             <td role=\"cell\" data-label=\"Asked\">{}</td>\
             <td role=\"cell\" data-label=\"Measured\"><b>{}</b> <span class=\"more\">{}</span></td>\
             <td role=\"cell\" data-label=\"Result\"><span class=\"word {class}\">{word}</span></td>\
             <td role=\"cell\" data-label=\"Remark\"{}</td></tr>\n",
            escape(&verdict.what),
            escape(&verdict.asked),
            number(verdict.measured.median),
            spread(verdict.measured),
            match &verdict.remark {
                Some(remark) => format!(">{}", escape(remark)),
                None => " class=\"nothing\">–".to_owned(),
            },
        );
    }
    out.push_str("</tbody>\n</table>\n");
    out
}

/// How a figure changed since an earlier run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Slower,
    Faster,
    Within,
    Unknown,
}

/// What a point says of it.
pub fn change(point: &Point) -> Change {
    let Some(Before { time, changed }) = point.before else {
        return Change::Unknown;
    };
    match (sound(point.time), sound(time)) {
        (Some(_), Some(_)) if !changed => Change::Within,
        (Some(now), Some(before)) if now.median > before.median => Change::Slower,
        (Some(_), Some(_)) => Change::Faster,
        _ => Change::Unknown,
    }
}

fn change_text(point: &Point) -> String {
    let before = point.before.map(|before| number(before.time.median));
    let before = before.unwrap_or_default();
    match change(point) {
        Change::Slower => format!("<span class=\"word bad\">▼ slower: was {before}</span>"),
        Change::Faster => format!("<span class=\"word good\">▲ faster: was {before}</span>"),
        Change::Within => format!("<span class=\"more\">within the spread: was {before}</span>"),
        Change::Unknown => "<span class=\"more\">not in the baseline</span>".to_owned(),
    }
}

fn ratio_text(ratio: Option<Figure>) -> String {
    match ratio {
        Some(ratio) if ratio.median.is_finite() => {
            let (median, spread) = (number(ratio.median), spread(ratio));
            format!("× {median} <span class=\"more\">{spread}</span>")
        }
        _ => "× none".to_owned(),
    }
}

fn point_cell(out: &mut String, series: &Series, threads: usize, first: bool, baseline: bool) {
    let Some(point) = series.points.iter().find(|point| point.threads == threads) else {
        out.push_str("<td><span class=\"more\">not measured</span></td>\n");
        return;
    };
    put!(
        out,
        "<td><b>{}</b> <span class=\"more\">{}</span>",
        number(point.time.median),
        spread(point.time)
    );
    if !first {
        put!(
            out,
            "<span class=\"line\">{}</span>",
            ratio_text(point.ratio)
        );
    }
    if baseline {
        put!(out, "<span class=\"line\">{}</span>", change_text(point));
    }
    out.push_str("</td>\n");
}

/// All figures of a scenario.
pub fn figures(scenario: &Scenario, looks: &Looks, baseline: bool) -> String {
    let instructions = |series: &Series| series.points.iter().find_map(|p| p.instructions);
    let mut points = scenario.series.iter().flat_map(|series| &series.points);
    let has_before = points.any(|point| point.before.is_some());
    let has_instructions = scenario.series.iter().any(|s| instructions(s).is_some());
    let title = escape(&scenario.title);
    let mut out = String::new();
    put!(
        out,
        "<details>\n<summary>All figures of “{title}”</summary>\n\
         <p class=\"more\">Nanoseconds per operation: <b>median</b> (quartiles)"
    );
    if let [first, _, ..] = &scenario.series[..] {
        put!(
            out,
            "; × how many times as long as {} with as many threads",
            escape(&first.implementation)
        );
    }
    if baseline && !has_before {
        out.push_str(". Not in the baseline");
    }
    put!(
        out,
        ".</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All figures of {title}\">\n\
         <table class=\"figures\">\n<thead><tr><th scope=\"col\">Implementation</th>"
    );
    for threads in thread_counts(scenario) {
        let over = if is_oversubscribed(scenario, threads) {
            "<span class=\"line more\">more than processors</span>"
        } else {
            ""
        };
        put!(
            out,
            "<th scope=\"col\">{}{over}</th>",
            counted(threads, "thread")
        );
    }
    if has_instructions {
        out.push_str(
            "<th scope=\"col\">Instructions<span class=\"line more\">one thread</span></th>",
        );
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (at, series) in scenario.series.iter().enumerate() {
        let look = looks.get(&series.implementation);
        put!(
            out,
            "<tr class=\"{}\"><th scope=\"row\">{} {}",
            if at == 0 { "first" } else { "" },
            mark(look),
            escape(&series.implementation)
        );
        if let Some(note) = &series.note {
            put!(out, "<span class=\"line more\">{}</span>", escape(note));
        }
        out.push_str("</th>\n");
        for threads in thread_counts(scenario) {
            point_cell(&mut out, series, threads, at == 0, baseline && has_before);
        }
        if has_instructions {
            let count = instructions(series).map_or("–".to_owned(), number);
            put!(out, "<td>{count}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n</details>\n");
    out
}
