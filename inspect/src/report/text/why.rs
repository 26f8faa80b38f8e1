//! The report of `why`: the references of an object, and the paths to it.

use super::phrases::{bytes, count, created_at, path, wrap};
use crate::report::wire::Why;
use std::fmt::Write;

pub(super) fn why(out: &mut String, why: &Why) {
    if let Some(node) = &why.node {
        let name = node.type_name.as_deref().unwrap_or("allocation");
        let _ = writeln!(out, "{name} at {}, {}", node.address, bytes(node.bytes));
        if let Some(site) = created_at(node) {
            let _ = writeln!(out, "{site}");
        }
    }
    if let Some(references) = &why.references {
        let found = references.balance;
        let mut line = format!(
            "strong {}, weak {}; found: {} by pools and inboxes, {} strong, {} weak and {} \
             undecided words in objects and allocations, {} in variables, {} on stacks and elsewhere",
            found.strong,
            found.weak,
            found.counted,
            found.strong_words,
            found.weak_words,
            found.unknown_words,
            found.variable_words,
            found.other_words,
        );
        if references.without_word > 0 {
            line += &format!("; {} without a holder", references.without_word);
        }
        wrap(out, "", &line);
    }
    for found in &why.paths {
        let _ = writeln!(out);
        if why.node.is_none() {
            let objects = count(found.objects, "object");
            let _ = writeln!(out, "{objects}, {}:", bytes(found.bytes));
        }
        path(out, "  ", found);
    }
    match why.all_paths - why.paths.len() {
        0 => {}
        n => {
            let _ = writeln!(out, "\n{n} more; --limit shows more");
        }
    }
    let _ = writeln!(
        out,
        "\n+N is the offset of the word that refers to the next line."
    );
}
