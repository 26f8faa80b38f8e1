//! Reports that are tables.

use super::groups;
use super::phrases::{WIDTH, bytes, count, number, path, wrap};
use crate::report::wire::{Diff, Held, Holders, Node, Snapshot, Thread, Top, Words};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::fmt::Write;

/// Makes a table with these titles; all but the first `texts` columns are numbers.
fn table<const N: usize>(titles: [&str; N], texts: usize) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH as u16)
        .set_header(titles);
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if at >= texts {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn add(out: &mut String, table: &Table) {
    for line in table.lines() {
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn more(out: &mut String, all: usize, shown: usize, what: &str) {
    if all > shown {
        let _ = writeln!(out, "{} more {what}; --limit shows more", all - shown);
    }
}

fn signed(before: u64, after: u64) -> String {
    let sign = if after < before { "-" } else { "+" };
    format!("{sign}{}", number(after.abs_diff(before)))
}

pub(super) fn top(out: &mut String, top: &Top) {
    let objects = count(top.objects, "object");
    let (created, destroyed) = (number(top.created), number(top.destroyed));
    let _ = writeln!(
        out,
        "{objects}, {}; created {created}, destroyed {destroyed}",
        bytes(top.bytes)
    );
    if top.kept > 0 {
        let kept = count(top.kept, "value");
        let _ = writeln!(out, "{kept} kept for ever, as the home thread has ended");
    }
    let rated = top.types.iter().any(|found| found.rate.is_some());
    let mut types = if rated {
        table(["type", "objects", "bytes", "dead", "per second"], 1)
    } else {
        table(["type", "objects", "bytes", "dead"], 1)
    };
    for found in &top.types {
        let size = bytes(found.bytes);
        let mut row = vec![
            found.name.clone(),
            number(found.objects),
            size,
            number(found.dead),
        ];
        if rated {
            row.push(
                found
                    .rate
                    .map_or_else(String::new, |rate| format!("{rate:+.0}")),
            );
        }
        types.add_row(row);
    }
    let _ = writeln!(out);
    add(out, &types);
    more(out, top.all_types, top.types.len(), "types");
    let titles = [
        "thread",
        "pools",
        "entries",
        "inbox",
        "backlog",
        "created",
        "destroyed",
        "frame",
    ];
    let mut threads = table(titles, 1);
    for found in &top.threads {
        let entries: u64 = found.pools.iter().map(|pool| pool.entries).sum();
        threads.add_row([
            thread_name(found),
            number(found.pools.len() as u64),
            number(entries),
            number(found.inbox),
            number(found.backlog),
            number(found.created),
            number(found.destroyed),
            frames(found),
        ]);
    }
    let _ = writeln!(out);
    add(out, &threads);
    let mut pools = table(["pool", "thread", "entries"], 2);
    for thread in &top.threads {
        for (at, pool) in thread.pools.iter().enumerate() {
            let name = match (at, pool.name.as_str()) {
                (0, _) if pool.entries == 0 => continue,
                (0, "") => "(root pool)".to_owned(),
                (_, "") => "(no name)".to_owned(),
                (_, name) => name.to_owned(),
            };
            pools.add_row([name, thread_name(thread), number(pool.entries)]);
        }
    }
    if pools.row_count() > 0 {
        let _ = writeln!(out);
        add(out, &pools);
    }
}

/// Returns the number of frames, and how long the last one took.
pub(crate) fn frames(thread: &Thread) -> String {
    let Some(frames) = thread.frames else {
        return String::new();
    };
    match thread.last_frame_nanos {
        Some(nanos) => format!("{} ({:.1} ms)", number(frames), nanos as f64 / 1e6),
        None => number(frames),
    }
}

/// Returns a thread's name, or its number, as it is in the names of its pools.
pub(crate) fn thread_name(thread: &Thread) -> String {
    let number = || format!("#{}.{}", thread.key >> 32, thread.key as u32);
    match (&thread.name, thread.tid) {
        (Some(name), _) => name.clone(),
        (None, Some(tid)) => format!("{} (tid {tid})", number()),
        (None, None) => number(),
    }
}

/// Names the other node of words: its type, or what holds the allocation.
fn word_node(found: &Words) -> String {
    let mut name = match (&found.type_name, &found.address) {
        (Some(name), _) => return name.clone(),
        (None, Some(_)) => "(allocation)".to_owned(),
        (None, None) => format!("(allocation), such as {}", found.example),
    };
    if let Some(owner) = &found.owner {
        name += "\n";
        name += &match (&owner.kind, owner.offset) {
            (None, _) => "to which nothing refers".to_owned(),
            (Some(_), Some(offset)) => format!("of {} +{offset}", owner.name),
            (Some(_), None) => format!("of {}", owner.name),
        };
    }
    name
}

fn words(out: &mut String, words: &[Words], single: bool) {
    let place = if single { "address" } else { "" };
    let mut rows = table(["type", place, "field", "reference", "words", "retains"], 4);
    for found in words {
        rows.add_row([
            word_node(found),
            found.address.clone().unwrap_or_default(),
            found
                .offset
                .map_or_else(|| "element".to_owned(), |offset| format!("+{offset}")),
            found.strength.clone(),
            number(found.words),
            bytes(found.retained_bytes),
        ]);
    }
    add(out, &rows);
    let sites = words
        .iter()
        .filter_map(|found| found.address.as_ref().zip(found.site.as_ref()));
    for (at, (address, site)) in sites.enumerate() {
        let space = if at == 0 { "\n" } else { "" };
        let _ = writeln!(out, "{space}{address} was created at {site}");
    }
}

/// Names what was asked for: objects of a type, or a node.
fn subject(node: Option<&Node>, objects: u64) -> String {
    let is_allocation = node.is_some_and(|node| node.type_name.is_none());
    let noun = if is_allocation {
        "allocation"
    } else {
        "object"
    };
    count(objects, noun)
}

pub(super) fn holders(out: &mut String, holders: &Holders) {
    let subject = subject(holders.node.as_ref(), holders.objects);
    let _ = writeln!(out, "what refers to {subject}:\n");
    if !holders.roots.is_empty() {
        let mut roots = table(["from outside", "kind", "words", "counted"], 2);
        for root in &holders.roots {
            roots.add_row([
                root.label.clone(),
                root.root.clone(),
                number(root.words),
                number(root.counted),
            ]);
        }
        add(out, &roots);
        let _ = writeln!(out);
    }
    if holders.holders.is_empty() {
        let _ = writeln!(out, "no object or allocation");
        return;
    }
    let single = holders.holders.iter().any(|found| found.address.is_some());
    words(out, &holders.holders, single);
    more(out, holders.all_holders, holders.holders.len(), "holders");
}

pub(super) fn held(out: &mut String, held: &Held) {
    let (them, themselves) = match held.objects {
        1 => ("it", "itself"),
        _ => ("them", "themselves"),
    };
    let sizes = format!(
        "{}; freeing {them} would free {} and {}, {themselves} included",
        subject(held.node.as_ref(), held.objects),
        count(held.retained_objects, "object"),
        bytes(held.retained_bytes),
    );
    wrap(out, "", &sizes);
    let _ = writeln!(out);
    if held.held.is_empty() {
        let _ = writeln!(out, "nothing held");
        return;
    }
    let single = held.held.iter().any(|found| found.address.is_some());
    words(out, &held.held, single);
    more(out, held.all_held, held.held.len(), "held nodes");
}

/// Says if the snapshots should not be compared in this way.
fn warnings(out: &mut String, diff: &Diff) {
    if diff.same_process == Some(false) {
        let processes = match diff.pids {
            [Some(before), Some(after)] if before == after => {
                format!("both had the id {before}, but were started at different times")
            }
            [before, after] => {
                let id = |pid: Option<u32>| pid.map_or("unknown".to_owned(), |pid| pid.to_string());
                format!("{} and {}", id(before), id(after))
            }
        };
        let warning = format!(
            "these are snapshots of different processes ({processes}): what follows compares \
             them, and does not say what has grown in one"
        );
        wrap(out, "warning: ", &warning);
        let _ = writeln!(out);
    }
    if diff.swapped {
        let warning = "the second snapshot seems to be older than the first: give the earlier one \
                       first";
        wrap(out, "warning: ", warning);
        let _ = writeln!(out);
    }
}

pub(super) fn diff(out: &mut String, diff: &Diff) {
    warnings(out, diff);
    if diff.types.is_empty() {
        let _ = writeln!(out, "each type has as many objects as before");
    } else {
        let mut types = table(["type", "before", "after", "change", "bytes"], 1);
        for change in &diff.types {
            let [before, after] = change.objects;
            types.add_row([
                change.name.clone(),
                number(before),
                number(after),
                signed(before, after),
                signed(change.bytes[0], change.bytes[1]),
            ]);
        }
        add(out, &types);
        more(out, diff.all_types, diff.types.len(), "types");
    }
    if !diff.grown.is_empty() {
        let _ = writeln!(out, "\ncontainers that have grown:");
    }
    for grown in &diff.grown {
        let [before, after] = grown.references;
        let (before, after) = (number(before), number(after));
        let _ = writeln!(out, "\n- {before} -> {after} {}", grown.type_name);
        if let Some(found) = &grown.path {
            path(out, "  ", found);
        }
    }
    if !diff.longer.is_empty() {
        let _ = writeln!(out, "\npools, inboxes and the like that have grown:\n");
    }
    for list in &diff.longer {
        let [before, after] = list.entries.map(number);
        wrap(out, "- ", &format!("{before} -> {after} {}", list.label));
    }
    if !diff.leaks.is_empty() {
        let _ = writeln!(out, "\nnew leaks:");
    }
    for leak in &diff.leaks {
        let _ = writeln!(out);
        groups::group(out, &format!("+{} ", number(leak.more)), &leak.group);
    }
}

pub(super) fn snapshot(out: &mut String, snapshot: &Snapshot) {
    let objects = count(snapshot.objects, "object");
    let allocations = count(snapshot.allocations, "allocation");
    let _ = writeln!(out, "{objects}, {}; {allocations}", bytes(snapshot.bytes));
    for file in snapshot.file.iter().chain(&snapshot.core) {
        let _ = writeln!(out, "saved to {file}");
    }
    if let Some(file) = &snapshot.heapsnapshot {
        let _ = writeln!(out, "saved to {file}; load it in DevTools, Memory");
    }
}
