//! Reports as text for terminals of at least 80 columns.

mod layout;
#[cfg(test)]
mod report_tests;

pub use layout::{WIDTH, bytes, number};

use super::wire::{
    Diff, Document, Group, Held, Holders, Hop, Leaks, Node, Path, Report, Snapshot, Thread, Top,
    Why, Words,
};
use crate::analysis::path::Confidence;
use crate::analysis::verdict::Verdict;
use layout::{Page, count, signed};

/// Explains the numbers in lists of hops.
const OFFSETS: &str = "\n+N is the offset of the word that refers to the next line.";

/// Returns a report as text that ends with a line feed.
pub fn text(document: &Document) -> String {
    let mut page = Page::default();
    match &document.report {
        Report::Top(report) => top(&mut page, report),
        Report::Why(report) => why(&mut page, report),
        Report::Holders(report) => holders(&mut page, report),
        Report::Held(report) => held(&mut page, report),
        Report::Leaks(report) => leaks(&mut page, report),
        Report::Diff(report) => diff(&mut page, report),
        Report::Snapshot(report) => snapshot(&mut page, report),
    }
    for caveat in &document.caveats {
        page.wrap("note: ", caveat);
    }
    page.0
}

fn top(page: &mut Page, top: &Top) {
    let (objects, size) = (count(top.objects, "object"), bytes(top.bytes));
    let [created, destroyed] = [top.totals.created, top.totals.destroyed].map(number);
    page.line(format!(
        "{objects}, {size}; created {created}, destroyed {destroyed}"
    ));
    if top.totals.kept > 0 {
        let kept = count(top.totals.kept, "value");
        page.line(format!(
            "{kept} kept for ever, as the home thread has ended"
        ));
    }
    page.line("");
    let types = top.types.iter().map(|found| {
        let [objects, dead] = [found.objects, found.dead].map(number);
        [found.name.clone(), objects, bytes(found.bytes), dead]
    });
    page.table(["type", "objects", "bytes", "dead"], 1, types);
    page.rest(top.all_types, top.types.len(), "more types");
    page.line("");
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
    let threads = top.threads.iter().map(|found| {
        [
            thread_name(found),
            number(found.pools.len() as u64),
            number(found.pools.iter().map(|pool| pool.entries).sum()),
            number(found.inbox),
            number(found.backlog),
            number(found.created),
            number(found.destroyed),
            frames(found),
        ]
    });
    page.table(titles, 1, threads);
    let mut pools = Vec::new();
    for thread in &top.threads {
        for (at, pool) in thread.pools.iter().enumerate() {
            let name = match (at, pool.name.as_str()) {
                (0, _) if pool.entries == 0 => continue,
                (0, "") => "(root pool)",
                (_, "") => "(no name)",
                (_, name) => name,
            };
            pools.push([name.to_owned(), thread_name(thread), number(pool.entries)]);
        }
    }
    if !pools.is_empty() {
        page.line("");
        page.table(["pool", "thread", "entries"], 2, pools);
    }
}

/// Returns the number of frames, and how long the last one took.
fn frames(thread: &Thread) -> String {
    match (thread.frames, thread.last_frame_nanos) {
        (None, _) => String::new(),
        (Some(frames), Some(nanos)) => format!("{} ({:.1} ms)", number(frames), nanos as f64 / 1e6),
        (Some(frames), None) => number(frames),
    }
}

/// Returns a thread's name, or its number, as it is in the names of its pools.
fn thread_name(thread: &Thread) -> String {
    let number = || format!("#{}.{}", thread.key >> 32, thread.key as u32);
    match (&thread.name, thread.tid) {
        (Some(name), _) => name.clone(),
        (None, Some(tid)) => format!("{} (tid {tid})", number()),
        (None, None) => number(),
    }
}

fn why(page: &mut Page, why: &Why) {
    if let Some(node) = &why.node {
        let name = node.type_name.as_deref().unwrap_or("allocation");
        let (address, size) = (&node.address, bytes(node.bytes));
        page.line(format!("{name} at {address}, {size}"));
        if let Some(site) = created_at(node) {
            page.line(site);
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
        page.wrap("", &line);
    }
    for found in &why.paths {
        page.line("");
        if why.node.is_none() {
            let objects = count(found.objects, "object");
            page.line(format_args!("{objects}, {}:", bytes(found.bytes)));
        }
        path(page, "  ", found);
    }
    let rest = why.all_paths - why.paths.len();
    if rest > 0 {
        page.line(format_args!("\n{rest} more; --limit shows more"));
    }
    page.line(OFFSETS);
}

/// Names the other node of words: its type, or what holds the allocation.
fn word_node(found: &Words) -> String {
    let mut name = match (&found.type_name, &found.address) {
        (Some(name), _) => return name.clone(),
        (None, Some(_)) => "(allocation)".to_owned(),
        (None, None) => format!("(allocation), such as {}", found.example),
    };
    if let Some(owner) = &found.owner {
        name += &match (&owner.kind, owner.offset) {
            (None, _) => "\nto which nothing refers".to_owned(),
            (Some(_), Some(offset)) => format!("\nof {} +{offset}", owner.name),
            (Some(_), None) => format!("\nof {}", owner.name),
        };
    }
    name
}

fn words(page: &mut Page, words: &[Words]) {
    let single = words.iter().any(|found| found.address.is_some());
    let place = if single { "address" } else { "" };
    let rows = words.iter().map(|found| {
        let field = found.offset.map(|offset| format!("+{offset}"));
        [
            word_node(found),
            found.address.clone().unwrap_or_default(),
            field.unwrap_or_else(|| "element".to_owned()),
            found.strength.clone(),
            number(found.words),
            bytes(found.retained_bytes),
        ]
    });
    let titles = ["type", place, "field", "reference", "words", "retains"];
    page.table(titles, 4, rows);
    let sites = words.iter();
    let sites = sites.filter_map(|found| found.address.as_ref().zip(found.site.as_ref()));
    for (at, (address, site)) in sites.enumerate() {
        let space = if at == 0 { "\n" } else { "" };
        page.line(format_args!("{space}{address} was created at {site}"));
    }
}

/// Says how many objects or allocations were asked for.
fn subject(node: Option<&Node>, objects: u64) -> String {
    match node {
        Some(Node {
            type_name: None, ..
        }) => count(objects, "allocation"),
        _ => count(objects, "object"),
    }
}

fn holders(page: &mut Page, holders: &Holders) {
    let subject = subject(holders.node.as_ref(), holders.objects);
    page.line(format_args!("what refers to {subject}:\n"));
    if !holders.roots.is_empty() {
        let roots = holders.roots.iter().map(|root| {
            let [words, counted] = [root.words, root.counted].map(number);
            [root.label.clone(), root.root.to_string(), words, counted]
        });
        page.table(["from outside", "kind", "words", "counted"], 2, roots);
        page.line("");
    }
    if holders.holders.is_empty() {
        return page.line("no object or allocation");
    }
    words(page, &holders.holders);
    page.rest(holders.all_holders, holders.holders.len(), "more holders");
}

fn held(page: &mut Page, held: &Held) {
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
    page.wrap("", &sizes);
    page.line("");
    if held.held.is_empty() {
        return page.line("nothing held");
    }
    words(page, &held.held);
    page.rest(held.all_held, held.held.len(), "more held nodes");
}

fn leaks(page: &mut Page, leaks: &Leaks) {
    let objects = count(leaks.objects, "object");
    page.line(format_args!("{objects}, {}", bytes(leaks.bytes)));
    match leaks.all_groups {
        0 => page.line("no leaks found"),
        1 => page.line("1 kind of leak:"),
        n => page.line(format_args!("{} kinds of leaks:", number(n as u64))),
    }
    for (at, found) in leaks.groups.iter().enumerate() {
        page.line("");
        group(page, &format!("{}. ", at + 1), found);
    }
    let rest = leaks.all_groups - leaks.groups.len();
    if rest > 0 {
        let more = count(rest as u64, "more kind");
        page.line(format!("\n{more}; --limit shows more"));
    }
    if !leaks.hints.is_empty() {
        let hint = "These may be intended; `diff` of two snapshots tells whether they only grow:";
        page.wrap("\n", hint);
    }
    for found in &leaks.hints {
        page.line("");
        group(page, "- ", found);
    }
    let mut groups = leaks.groups.iter().chain(&leaks.hints).peekable();
    if groups.peek().is_some() {
        page.line(OFFSETS);
    }
    if groups.any(|group| group.figures.leaks > 1) {
        let at =
            "at: addresses in the first of these leaks, one in each; `why` and `held` take them.";
        page.wrap("", at);
    }
}

/// Adds a paragraph about a group.
fn group(page: &mut Page, first: &str, group: &Group) {
    let indent = " ".repeat(first.len());
    page.wrap(first, &group.description);
    let figures = group.figures;
    let leaks = count(figures.leaks, "leak");
    let objects = count(figures.objects, "object");
    let size = bytes(figures.bytes);
    let mut sizes = match figures.objects {
        0 => format!("{leaks}, {size}"),
        n if n != figures.leaks => format!("{leaks} of {objects}, {size}"),
        _ => format!("{objects}, {size}"),
    };
    if figures.retained_bytes > figures.bytes {
        let retained = bytes(figures.retained_bytes);
        let objects = count(figures.retained_objects, "object");
        sizes += &format!("; with what they hold: {objects}, {retained}");
    }
    if figures.missing > 0 && figures.missing != figures.objects {
        sizes += &format!("; {} references without a holder", number(figures.missing));
    }
    page.wrap(&indent, &sizes);
    if let Some(holder) = &group.holder {
        page.line(format_args!("{indent}  {holder}"));
    }
    hops(page, &format!("{indent}  "), &group.path);
    // The path of an allocation cycle is not closed: it leads from the cycle to an object.
    use Verdict as V;
    let cycles = [V::ProvenCycle, V::CountedCycle, V::CycleWithoutHolder];
    if cycles.contains(&group.verdict) {
        page.line(format_args!("{indent}  and back to the first"));
    }
    if figures.leaks > 1 {
        page.wrap(&format!("{indent}at: "), &group.samples.join(" "));
    }
}

/// Says where and by which thread an object was created, if that is known.
fn created_at(node: &Node) -> Option<String> {
    let site = node.site.as_deref()?;
    Some(match &node.creator {
        Some(thread) => format!("created at {site} by {thread}"),
        None => format!("created at {site}"),
    })
}

/// Adds a line for each node on a path, with the offset of the word that refers to the next node.
fn hops(page: &mut Page, indent: &str, path: &[Hop]) {
    for hop in path {
        let name = hop.node.type_name.clone();
        let name = name.unwrap_or_else(|| format!("allocation of {}", bytes(hop.node.bytes)));
        let offset = hop.offset.map(|offset| format!(" +{offset}"));
        let offset = offset.unwrap_or_default();
        page.line(format_args!("{indent}{name}{offset}  {}", hop.node.address));
        if let Some(site) = created_at(&hop.node) {
            page.line(format_args!("{indent}  {site}"));
        }
    }
}

/// Adds a path with what it begins at.
fn path(page: &mut Page, indent: &str, path: &Path) {
    if path.root.as_deref() == Some("cycle") {
        hops(page, indent, &path.cycle);
        page.line(format_args!("{indent}and back to the first"));
    }
    let mut label = path.label.clone();
    let is_root = !matches!(path.root.as_deref(), Some("cycle" | "leak") | None);
    if is_root && path.confidence == Confidence::Doubtful {
        label += " (a stale word: other words explain all counts)";
    }
    page.wrap(indent, &label);
    // If the path is only a node of the cycle, the lines above have it already.
    if path.cycle.is_empty() || path.hops.len() > 1 {
        hops(page, &format!("{indent}  "), &path.hops);
    }
}

/// Adds warnings if the snapshots should not be compared, or not in this order.
fn warnings(page: &mut Page, diff: &Diff) {
    let mut warn = |warning: &str| {
        page.wrap("warning: ", warning);
        page.line("");
    };
    if diff.same_process == Some(false) {
        let processes = match diff.pids {
            [Some(before), Some(after)] if before == after => {
                format!("both had the id {before}, but are of different programs")
            }
            pids => {
                let id = |pid: Option<u32>| pid.map_or("unknown".to_owned(), |pid| pid.to_string());
                pids.map(id).join(" and ")
            }
        };
        warn(&format!(
            "these are snapshots of different processes ({processes}): what follows compares \
             them, and does not say what has grown in one"
        ));
    }
    if diff.swapped {
        warn("the second snapshot seems to be older than the first: give the earlier one first");
    }
}

fn diff(page: &mut Page, diff: &Diff) {
    warnings(page, diff);
    if diff.types.is_empty() {
        page.line("each type has as many objects as before");
    } else {
        let types = diff.types.iter().map(|change| {
            let [before, after] = change.objects.map(number);
            let (objects, bytes) = (signed(change.objects), signed(change.bytes));
            [change.name.clone(), before, after, objects, bytes]
        });
        page.table(["type", "before", "after", "change", "bytes"], 1, types);
        page.rest(diff.all_types, diff.types.len(), "more types");
    }
    if !diff.grown.is_empty() {
        page.line("\ncontainers that have grown:");
    }
    for grown in &diff.grown {
        let [before, after] = grown.references.map(number);
        page.line(format_args!("\n- {before} -> {after} {}", grown.type_name));
        if let Some(found) = &grown.path {
            path(page, "  ", found);
        }
    }
    if !diff.longer.is_empty() {
        page.line("\npools, inboxes and the like that have grown:\n");
    }
    for list in &diff.longer {
        let [before, after] = list.entries.map(number);
        page.wrap("- ", &format!("{before} -> {after} {}", list.label));
    }
}

fn snapshot(page: &mut Page, snapshot: &Snapshot) {
    let objects = count(snapshot.objects, "object");
    let allocations = count(snapshot.allocations, "allocation");
    let size = bytes(snapshot.bytes);
    page.line(format!("{objects}, {size}; {allocations}"));
    page.line(format_args!("saved to {}", snapshot.file));
}
