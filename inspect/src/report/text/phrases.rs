//! Numbers, paragraphs and paths, which all reports have.

use crate::analysis::path::Confidence;
use crate::report::wire::{Hop, Node, Path};
use std::fmt::Write;

/// The width that all text fits into, except for names that are longer.
pub const WIDTH: usize = 80;

/// Returns a number of bytes with a unit.
pub fn bytes(n: u64) -> String {
    let mut size = n as f64;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for next in units {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, next);
    }
    if unit == "B" {
        format!("{n} B")
    } else {
        format!("{size:.1} {unit}")
    }
}

/// Returns a number with commas between thousands.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number and a noun.
pub(super) fn count(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", number(n))
}

/// Adds a paragraph, whose lines after the first are indented as far as its first is.
pub(super) fn wrap(out: &mut String, first: &str, paragraph: &str) {
    let indent = " ".repeat(first.chars().count());
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(&indent)
        .break_words(false);
    let _ = writeln!(out, "{}", textwrap::fill(paragraph, options));
}

/// Says where and by which thread an object was created, if that is known.
pub(super) fn created_at(node: &Node) -> Option<String> {
    let site = node.site.as_deref()?;
    Some(match &node.creator {
        Some(thread) => format!("created at {site} by {thread}"),
        None => format!("created at {site}"),
    })
}

/// Adds a line for each node on a path: each says what its word refers to.
pub(super) fn hops(out: &mut String, indent: &str, path: &[Hop]) {
    for hop in path {
        let name = match &hop.node.type_name {
            Some(name) => name.clone(),
            None => format!("allocation of {}", bytes(hop.node.bytes)),
        };
        let offset = hop
            .offset
            .map_or_else(String::new, |offset| format!(" +{offset}"));
        let _ = writeln!(out, "{indent}{name}{offset}  {}", hop.node.address);
        if let Some(site) = created_at(&hop.node) {
            let _ = writeln!(out, "{indent}  {site}");
        }
    }
}

/// Adds a path with what it begins at.
pub(super) fn path(out: &mut String, indent: &str, path: &Path) {
    if path.root.as_deref() == Some("cycle") {
        hops(out, indent, &path.cycle);
        let _ = writeln!(out, "{indent}and back to the first");
    }
    let mut label = path.label.clone();
    let is_root = !matches!(path.root.as_deref(), Some("cycle" | "leak") | None);
    if is_root && path.confidence == Confidence::Doubtful {
        label += " (a stale word: other words explain all counts)";
    }
    wrap(out, indent, &label);
    // A node of the cycle is in it already.
    if path.cycle.is_empty() || path.hops.len() > 1 {
        hops(out, &format!("{indent}  "), &path.hops);
    }
}
