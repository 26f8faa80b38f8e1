//! The report of `leaks`: a paragraph for each group.

use super::phrases::{bytes, count, hops, number, wrap};
use crate::analysis::verdict::Verdict as V;
use crate::report::wire::{Group, Leaks};
use std::fmt::Write;

pub(super) fn leaks(out: &mut String, leaks: &Leaks) {
    let objects = count(leaks.objects, "object");
    let _ = writeln!(out, "{objects}, {}", bytes(leaks.bytes));
    if leaks.groups.is_empty() {
        let _ = writeln!(out, "no leaks found");
    } else {
        let leak = if leaks.all_groups == 1 {
            "leak"
        } else {
            "leaks"
        };
        let kinds = count(leaks.all_groups as u64, "kind");
        let _ = writeln!(out, "{kinds} of {leak}:");
    }
    for (at, found) in leaks.groups.iter().enumerate() {
        let _ = writeln!(out);
        group(out, &format!("{}. ", at + 1), found);
    }
    match leaks.all_groups - leaks.groups.len() {
        0 => {}
        n => {
            let n = count(n as u64, "more kind");
            let _ = writeln!(out, "\n{n}; --limit shows more");
        }
    }
    if !leaks.hints.is_empty() {
        wrap(
            out,
            "\n",
            "These may be intended; `diff` of two snapshots tells whether they only grow:",
        );
    }
    for found in &leaks.hints {
        let _ = writeln!(out);
        group(out, "- ", found);
    }
    let mut groups = leaks.groups.iter().chain(&leaks.hints);
    if groups.clone().next().is_some() {
        let _ = writeln!(
            out,
            "\n+N is the offset of the word that refers to the next line."
        );
    }
    if groups.any(|group| group.figures.leaks > 1) {
        wrap(
            out,
            "",
            "at: addresses in the first of these leaks, one in each; `why` and `held` take them.",
        );
    }
}

/// Adds a paragraph about a group.
pub(super) fn group(out: &mut String, first: &str, group: &Group) {
    let indent = " ".repeat(first.len());
    wrap(out, first, &group.description);
    let figures = group.figures;
    let mut sizes = format!(
        "{}, {}",
        count(figures.objects, "object"),
        bytes(figures.bytes)
    );
    if figures.objects == 0 {
        sizes = format!("{}, {}", count(figures.leaks, "leak"), bytes(figures.bytes));
    } else if figures.leaks != figures.objects {
        sizes = format!("{} of {sizes}", count(figures.leaks, "leak"));
    }
    if figures.retained_bytes > figures.bytes {
        let retained = bytes(figures.retained_bytes);
        let objects = count(figures.retained_objects, "object");
        sizes += &format!("; with what they hold: {objects}, {retained}");
    }
    if figures.missing > 0 && figures.missing != figures.objects {
        sizes += &format!("; {} references without a holder", number(figures.missing));
    }
    wrap(out, &indent, &sizes);
    if let Some(holder) = &group.holder {
        let _ = writeln!(out, "{indent}  {holder}");
    }
    hops(out, &format!("{indent}  "), &group.path);
    // Allocations that form a cycle are followed by the way to an object.
    if matches!(
        group.verdict,
        V::ProvenCycle | V::CountedCycle | V::CycleWithoutHolder
    ) {
        let _ = writeln!(out, "{indent}  and back to the first");
    }
    if figures.leaks > 1 {
        let others: Vec<&str> = group.samples.iter().map(String::as_str).collect();
        wrap(out, &format!("{indent}at: "), &others.join(" "));
    }
}
