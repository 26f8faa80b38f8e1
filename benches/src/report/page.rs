//! The page: what stands where.

use super::look::Looks;
use super::standing::{Outcome, Standing};
use super::table::{Change, change, figures, summary, targets};
use super::text::{counted, date, duration, escape, list};
use super::{chart, put};
use crate::results::{Machine, Results};

const STYLE: &str = include_str!("style.css");

fn head(out: &mut String, results: &Results) {
    let machine = &results.machine;
    put!(
        out,
        "<header>\n<h1>releasepool: contention</h1>\n\
         <p class=\"about\">What it costs to make, share and release objects, by one thread and by several: \
         releasepool beside what else a program could use. Times are for one operation of one \
         thread, so less is better.</p>\n"
    );
    if results.quick {
        out.push_str(
            "<p class=\"quick\" role=\"note\"><strong>Quick run.</strong> Its figures mean less: \
             it shows that everything works, and no more.</p>\n",
        );
    }
    let commit = machine.commit.as_deref().unwrap_or("unknown");
    let facts = [
        ("Machine", machine_text(machine)),
        ("System", machine.system.clone()),
        ("Toolchain", machine.toolchain.clone()),
        ("Build", machine.flags.clone()),
        ("Allocator", machine.allocator.clone()),
        ("Commit", commit.to_owned()),
        ("Date", date(machine.began)),
        ("Took", duration(machine.seconds)),
    ];
    out.push_str("<dl>\n");
    for (what, text) in facts {
        put!(
            out,
            "<div><dt>{what}</dt><dd>{}</dd></div>\n",
            escape(&text)
        );
    }
    out.push_str("</dl>\n</header>\n");
}

fn machine_text(machine: &Machine) -> String {
    let most = counted(machine.parallelism, "thread");
    format!("{}, {most} at the same time", machine.processor)
}

/// For who has never had a pool.
fn words(out: &mut String) {
    let words = [
        (
            "Pool",
            "owns references until it is drained. Each thread has pools of its own",
        ),
        (
            "Autorelease",
            "to hand a reference to a pool, to be released later",
        ),
        (
            "Drain",
            "to release all that a pool has: at the end of a frame, say",
        ),
        (
            "Temporaries",
            "objects that are made, used, and die with their pool",
        ),
        (
            "Slot",
            "a place from which all threads load a pointer to what is newest",
        ),
        (
            "Handoff",
            "to have another thread destroy what this one has made",
        ),
        ("UI thread", "the one that runs frames, and must not wait"),
        (
            "Epoch, guard",
            "how crossbeam and a slot know that nobody looks at an object any more",
        ),
    ];
    out.push_str("<details id=\"words\">\n<summary>What the words mean</summary>\n<ul>\n");
    for (word, means) in words {
        put!(out, "<li><b>{word}</b>: {means}.</li>\n");
    }
    out.push_str("</ul>\n</details>\n");
}

/// How often releasepool is ahead, even and behind, in all cells of the summary.
fn balance(results: &Results) -> String {
    let standings: Vec<_> = results.scenarios.iter().flat_map(Standing::ends).collect();
    let count = |outcome| standings.iter().filter(|s| s.outcome == outcome).count();
    let (ahead, even, behind) = (
        count(Outcome::Ahead),
        count(Outcome::Even),
        count(Outcome::Behind),
    );
    format!(
        "Of {} with the best of the others, releasepool is ahead in \
         <b class=\"good\">{ahead}</b>, even in <b>{even}</b>, and behind in <b class=\"bad\">{behind}</b>.",
        counted(ahead + even + behind, "comparison"),
    )
}

fn choose(out: &mut String, results: &Results, looks: &Looks) {
    out.push_str("<section>\n<h2 id=\"choose\">Which to choose</h2>\n");
    if results.scenarios.is_empty() {
        out.push_str("<p>Nothing was measured.</p>\n</section>\n");
        return;
    }
    put!(
        out,
        "<p>{} <i>Even</i> means that the quartiles of the ratio lie on both sides of one. \
         What works with one thread only is not among the best: it is no choice \
         where threads share.</p>\n",
        balance(results)
    );
    out.push_str(&summary(results, looks));
    words(out);
    out.push_str("</section>\n");
}

fn asked(out: &mut String, results: &Results) {
    out.push_str("<section>\n<h2 id=\"targets\">Targets</h2>\n");
    if results.targets.is_empty() {
        out.push_str("<p>None were checked.</p>\n</section>\n");
        return;
    }
    let met = results.targets.iter().filter(|verdict| verdict.met).count();
    put!(
        out,
        "<p>What the project asks of itself: {met} of {} met. Measured is the median, with the \
         quartiles as a measure of the noise.</p>\n{}</section>\n",
        counted(results.targets.len(), "target"),
        targets(results)
    );
}

/// What became slower or faster since an earlier run.
fn changes(out: &mut String, results: &Results) {
    let Some(baseline) = &results.baseline else {
        return;
    };
    let mut told = [Change::Slower, Change::Faster, Change::Within].map(|kind| (kind, 0));
    let mut slower = Vec::new();
    for scenario in &results.scenarios {
        for series in &scenario.series {
            for point in &series.points {
                let found = change(point);
                for (kind, count) in &mut told {
                    *count += usize::from(*kind == found);
                }
                if found == Change::Slower {
                    let threads = counted(point.threads, "thread");
                    slower.push(format!(
                        "<li><a href=\"#scenario-{}\">{}</a>: {}, {threads}</li>\n",
                        escape(&scenario.id),
                        escape(&scenario.title),
                        escape(&series.implementation)
                    ));
                }
            }
        }
    }
    let [(_, worse), (_, better), (_, within)] = told;
    put!(
        out,
        "<section>\n<h2 id=\"changes\">Since the baseline</h2>\n\
         <p>Compared with <code>{}</code>: {} <b class=\"bad\">slower</b> and {better} \
         <b class=\"good\">faster</b> beyond the spread, {within} within it.</p>\n",
        escape(baseline),
        counted(worse, "figure")
    );
    if !slower.is_empty() {
        put!(out, "<p>Slower:</p>\n<ul>\n{}</ul>\n", slower.concat());
    }
    out.push_str("</section>\n");
}

fn scenarios(out: &mut String, results: &Results, looks: &Looks) {
    for (index, scenario) in results.scenarios.iter().enumerate() {
        let title = escape(&scenario.title);
        put!(
            out,
            "<section class=\"scenario\" id=\"scenario-{}\">\n<h2>{title}</h2>\n<p>{}</p>\n",
            escape(&scenario.id),
            escape(&scenario.what),
        );
        out.push_str(&chart::figure(scenario, looks, index));
        put!(
            out,
            "<p class=\"lesson\"><b>So:</b> {}</p>\n",
            escape(&scenario.lesson)
        );
        out.push_str(&figures(scenario, looks, results.baseline.is_some()));
        out.push_str("</section>\n");
    }
}

/// From the fewest to the most rounds of a point.
fn rounds(results: &Results) -> String {
    let series = results.scenarios.iter().flat_map(|s| &s.series);
    let rounds = series.flat_map(|s| &s.points).map(|point| point.rounds);
    match (rounds.clone().min(), rounds.max()) {
        (Some(least), Some(most)) if least == most => counted(least, "round"),
        (Some(least), Some(most)) => format!("{least} to {most} rounds"),
        _ => "no rounds".to_owned(),
    }
}

fn method(out: &mut String, results: &Results) {
    let roles = [
        "blue and thick: releasepool",
        "grey: for one thread only, and the line that nothing safe is expected to be below",
        "all others: what else a program could use",
    ];
    put!(
        out,
        "<section>\n<h2 id=\"method\">How it was measured</h2>\n<ul>\n\
         <li><b>By turns.</b> All implementations of a scenario take a short sample in every round, \
         in an order that changes from round to round, so that what else the machine does hits all of \
         them. Here: {}.</li>\n\
         <li><b>On spawned threads</b>, also where there is only one, all released together. Each \
         takes the time of its own turns by its own clock; a sample is the mean of its threads. Who is \
         done goes on until the others are, so that nobody is measured alone.</li>\n\
         <li><b>Medians and quartiles</b> of the rounds. In the charts the point is the median, \
         the whisker goes from quartile to quartile, and points beside each other belong to the same \
         number of threads.</li>\n\
         <li><b>Ratios round by round.</b> Two implementations are divided in each round, and the \
         median of that is shown: it says more than a ratio of two medians.</li>\n\
         <li><b>More threads than processors</b> is shaded. There the operating system decides who \
         runs: a thread that waits for one that does not run waits for long.</li>\n\
         <li><b>Instructions</b>, where they are shown, are counted by callgrind with one thread. They \
         do not depend on what else the machine does.</li>\n\
         <li><b>In the charts</b> {}. The same implementation has the same colour and \
         marker everywhere.</li>\n</ul>\n",
        rounds(results),
        list(&roles.map(str::to_owned)),
    );
    out.push_str(
        "<h3>To repeat it</h3>\n\
         <pre><code>cargo bench --bench contention                           # everything\n\
         cargo bench --bench contention -- --quick                # to see that it works\n\
         cargo bench --bench contention -- --baseline FILE        # beside an earlier run</code></pre>\n\
         <p>On a machine that does nothing else. Compare ratios rather than nanoseconds: those \
         of another machine, or another day, are others.</p>\n</section>\n",
    );
}

/// The whole page.
pub fn page(results: &Results) -> String {
    let looks = Looks::of(results);
    let mut out = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n\
         <meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <title>releasepool: contention</title>\n",
    );
    put!(out, "<style>\n{STYLE}</style>\n</head>\n<body>\n");
    head(&mut out, results);
    out.push_str("<main>\n");
    choose(&mut out, results, &looks);
    asked(&mut out, results);
    changes(&mut out, results);
    scenarios(&mut out, results, &looks);
    method(&mut out, results);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}
