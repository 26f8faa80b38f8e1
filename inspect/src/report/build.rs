//! Makes reports from an analysis; those of `holders` and `held` add words up.

use super::subject::Subject;
use super::wire::{self, Document, Report, VERSION};
use crate::analysis::containers::by_type;
use crate::analysis::leaks::{Suspects, leaks};
use crate::analysis::owners::{Owner, Owners};
use crate::analysis::path::{Hop, Origin, Path};
use crate::analysis::retained::{RetainedSets, retained_from_roots};
use crate::analysis::strength::Strength;
use crate::analysis::verdict::Group;
use crate::analysis::{Analysis, Balance, diff, paths};
use crate::graph::{Graph, NodeId, RootKind};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Makes a document of a report.
pub fn document(graph: &Graph, report: Report) -> Document {
    Document {
        version: VERSION,
        caveats: graph.caveats.clone(),
        report,
    }
}

/// Returns the number of objects that are alive, and their bytes.
pub fn sizes(graph: &Graph) -> (u64, u64) {
    let alive = graph.alive();
    alive.fold((0, 0), |(n, bytes), node| (n + 1, bytes + node.bytes))
}

/// Makes the report of `top`.
pub fn top(graph: &Graph, limit: Option<usize>) -> Report {
    let mut counts = by_type(graph);
    counts.retain(|count| count.objects + count.dead > 0);
    counts.sort_by(|a, b| (b.bytes, &a.name).cmp(&(a.bytes, &b.name)));
    let all_types = shorten(&mut counts, limit);
    let (objects, bytes) = sizes(graph);
    Report::Top(wire::Top {
        objects,
        bytes,
        totals: graph.totals,
        types: counts,
        all_types,
        threads: graph.threads.clone(),
    })
}

fn group(analysis: &Analysis<'_>, group: &Group) -> wire::Group {
    wire::Group {
        verdict: group.verdict,
        description: group.verdict.text().to_owned(),
        holder: Some(group.label.clone()).filter(|label| !label.is_empty()),
        figures: group.figures,
        path: hops(analysis, &group.path),
        samples: group
            .samples
            .iter()
            .map(|node| address(analysis, *node))
            .collect(),
    }
}

/// Makes the report of `leaks`.
pub fn leak_report(
    analysis: &Analysis<'_>,
    before: Option<&Suspects>,
    limit: Option<usize>,
) -> wire::Leaks {
    let (hints, mut found): (Vec<_>, Vec<_>) = leaks(analysis, before)
        .into_iter()
        .partition(|group| group.verdict.is_hint());
    let all_groups = shorten(&mut found, limit);
    let (objects, bytes) = sizes(analysis.graph);
    let show = |groups: Vec<Group>| groups.iter().map(|found| group(analysis, found)).collect();
    wire::Leaks {
        objects,
        bytes,
        groups: show(found),
        hints: show(hints),
        all_groups,
    }
}

fn path(analysis: &Analysis<'_>, path: &Path) -> wire::Path {
    wire::Path {
        root: match &path.origin {
            Origin::Root(kind) => Some(kind.to_string()),
            Origin::Cycle(_) => Some("cycle".to_owned()),
            Origin::Leak => Some("leak".to_owned()),
            Origin::Nothing => None,
        },
        label: path.label.clone(),
        confidence: path.confidence,
        cycle: match &path.origin {
            Origin::Cycle(cycle) => hops(analysis, cycle),
            _ => Vec::new(),
        },
        hops: hops(analysis, &path.hops),
        objects: 1,
        bytes: 0,
    }
}

/// Makes the report of `why`.
pub fn why(analysis: &Analysis<'_>, subject: &Subject, limit: Option<usize>) -> Report {
    let mut paths: Vec<wire::Path> = match subject {
        Subject::Node(node) => {
            let bytes = analysis.graph.nodes[*node as usize].bytes;
            let found = paths::paths_to(analysis, *node, limit.unwrap_or(usize::MAX)).into_iter();
            let found = found.map(|found| wire::Path {
                bytes,
                ..path(analysis, &found)
            });
            found.collect()
        }
        Subject::Type(type_id) => {
            let ways = paths::ways(analysis, *type_id).into_iter();
            let ways = ways.map(|way| wire::Path {
                objects: way.objects,
                bytes: way.bytes,
                ..path(analysis, &way.path)
            });
            ways.collect()
        }
    };
    let all_paths = shorten(&mut paths, limit);
    Report::Why(wire::Why {
        node: subject_node(analysis, subject),
        references: match subject {
            Subject::Node(node) => references(analysis, *node),
            Subject::Type(_) => None,
        },
        paths,
        all_paths,
    })
}

fn references(analysis: &Analysis<'_>, node: NodeId) -> Option<wire::References> {
    let object = analysis.object(node)?;
    let balance = Balance::new(analysis, node, object);
    Some(wire::References {
        without_word: balance.without_word(),
        balance,
    })
}

/// Makes the report of `diff`.
pub fn diff_report(before: &Analysis<'_>, after: &Analysis<'_>, limit: Option<usize>) -> Report {
    let found = diff::diff(before, after);
    let mut types = found.types;
    let all_types = shorten(&mut types, limit);
    let grown = found.grown.into_iter().map(|grown| wire::Grown {
        type_name: grown.type_name,
        references: grown.references,
        path: paths::path_to(after, grown.node).map(|found| path(after, &found)),
    });
    let shown = limit.unwrap_or(usize::MAX);
    let pid = |analysis: &Analysis<'_>| analysis.graph.process.as_ref().map(|of| of.pid);
    Report::Diff(wire::Diff {
        pids: [pid(before), pid(after)],
        same_process: found.is_same_process,
        swapped: found.is_swapped,
        types,
        all_types,
        grown: grown.take(shown).collect(),
        longer: found.longer.into_iter().take(shown).collect(),
    })
}

/// Shortens a list; returns how long it was.
fn shorten<T>(list: &mut Vec<T>, limit: Option<usize>) -> usize {
    let all = list.len();
    list.truncate(limit.unwrap_or(usize::MAX));
    all
}

/// Returns an address as reports have it.
fn hex(address: u64) -> String {
    format!("{address:#x}")
}

/// Returns what reports say of a node.
fn node(analysis: &Analysis<'_>, node: NodeId) -> wire::Node {
    let found = &analysis.graph.nodes[node as usize];
    let creation = analysis.graph.creation(node);
    wire::Node {
        address: hex(found.address),
        type_name: analysis.type_name(node).map(str::to_owned),
        bytes: found.bytes,
        site: creation.map(|creation| creation.site.clone()),
        creator: creation.and_then(|creation| Some(creator(analysis.graph, creation.creator?))),
    }
}

/// Returns a name for people of the thread that has the key.
fn creator(graph: &Graph, key: u64) -> String {
    let mut threads = graph.threads.iter();
    let thread = threads.find(|thread| thread.key == key);
    match thread.and_then(|thread| thread.name.as_ref()) {
        Some(name) => format!("thread {name:?}"),
        None if thread.is_some() => format!("thread #{}.{}", key >> 32, key as u32),
        None => format!("thread #{}.{}, which has ended", key >> 32, key as u32),
    }
}

/// Returns what reports say of a path.
fn hops(analysis: &Analysis<'_>, path: &[Hop]) -> Vec<wire::Hop> {
    let hops = path.iter().map(|hop| wire::Hop {
        node: node(analysis, hop.node),
        offset: hop.offset,
    });
    hops.collect()
}

fn subjects(analysis: &Analysis<'_>, subject: &Subject) -> Vec<NodeId> {
    match subject {
        Subject::Node(node) => vec![*node],
        Subject::Type(type_id) => {
            let objects = 0..analysis.graph.objects as NodeId;
            let of_type = |node: &NodeId| {
                let object = analysis.object(*node);
                object.is_some_and(|object| object.type_id == *type_id)
            };
            objects.filter(of_type).collect()
        }
    }
}

/// Returns the node that was asked for, unless that was a type.
fn subject_node(analysis: &Analysis<'_>, subject: &Subject) -> Option<wire::Node> {
    match subject {
        Subject::Node(at) => Some(node(analysis, *at)),
        Subject::Type(_) => None,
    }
}

fn strength_name(strength: Strength) -> &'static str {
    match strength {
        Strength::Unknown => "unknown",
        Strength::Strong => "strong",
        Strength::Weak => "weak",
        Strength::Uncounted => "uncounted",
    }
}

fn address(analysis: &Analysis<'_>, node: NodeId) -> String {
    hex(analysis.graph.nodes[node as usize].address)
}

fn wire_owner(analysis: &Analysis<'_>, owner: Owner) -> wire::Owner {
    let graph = analysis.graph;
    let (kind, name, offset) = match owner {
        Owner::Object { type_id, offset } => (
            Some("object".to_owned()),
            graph.type_name(type_id).to_owned(),
            Some(offset),
        ),
        Owner::Root { kind, label } => (
            Some(kind.to_string()),
            graph.label_at(label).to_owned(),
            None,
        ),
        Owner::Nothing => (None, String::new(), None),
    };
    wire::Owner { kind, name, offset }
}

/// The key by which words are added up: the type of the other node, what holds that node, and the
/// node itself; the offset of the word, and its strength.
type WordsKey = (
    Option<u32>,
    Option<Owner>,
    Option<NodeId>,
    Option<u32>,
    Strength,
);

/// Adds words up by the type of the other node and the field; if `single`, also by that node.
struct Adding<'a, 'g> {
    analysis: &'a Analysis<'g>,
    single: bool,
    /// The words, and the nodes at their other ends.
    words: HashMap<WordsKey, (wire::Words, Vec<NodeId>)>,
}

impl<'a, 'g> Adding<'a, 'g> {
    fn new(analysis: &'a Analysis<'g>, subject: &Subject) -> Self {
        Self {
            analysis,
            single: matches!(subject, Subject::Node(_)),
            words: HashMap::new(),
        }
    }

    /// Adds an edge whose other end is `other`, which `owner` holds if it is an allocation.
    fn add(&mut self, edge: usize, other: NodeId, owner: Option<Owner>) {
        let (analysis, single) = (self.analysis, self.single);
        let strength = analysis.strengths[edge];
        let edge = analysis.graph.edges[edge];
        let in_object = (edge.from as usize) < analysis.graph.objects;
        let offset = (single || in_object).then_some(edge.offset);
        let type_id = analysis.object(other).map(|object| object.type_id);
        let key = (type_id, owner, single.then_some(other), offset, strength);
        let creation = analysis.graph.creation(other).filter(|_| single);
        let (words, others) = self.words.entry(key).or_insert_with(|| {
            let words = wire::Words {
                type_name: analysis.type_name(other).map(str::to_owned),
                address: single.then(|| address(analysis, other)),
                example: address(analysis, other),
                owner: owner.map(|owner| wire_owner(analysis, owner)),
                site: creation.map(|creation| creation.site.clone()),
                offset,
                strength: strength_name(strength).to_owned(),
                words: 0,
                retained_bytes: 0,
            };
            (words, Vec::new())
        });
        words.words += 1;
        others.push(other);
    }

    fn finish(self, retained: &RetainedSets) -> Vec<wire::Words> {
        let words = self.words.into_values();
        let words = words.map(|(words, others)| wire::Words {
            retained_bytes: retained.of(others).bytes,
            ..words
        });
        let mut words: Vec<_> = words.collect();
        words.sort_by(|a, b| {
            let key = |words: &wire::Words| {
                (
                    Reverse(words.words),
                    words.type_name.clone(),
                    words.offset,
                    words.address.clone(),
                    words.owner.as_ref().map(|owner| owner.name.clone()),
                )
            };
            key(a).cmp(&key(b))
        });
        words
    }
}

/// Makes the report of `holders`.
pub fn holders(analysis: &Analysis<'_>, subject: &Subject, limit: Option<usize>) -> Report {
    let nodes = subjects(analysis, subject);
    let retained = retained_from_roots(analysis);
    let mut adding = Adding::new(analysis, subject);
    let mut owners = Owners::default();
    let mut roots: HashMap<(RootKind, &str), (u64, u64)> = HashMap::new();
    for node in &nodes {
        for edge in analysis.links.incoming(*node) {
            let edge = *edge as usize;
            let from = analysis.graph.edges[edge].from;
            let is_plain = analysis.object(from).is_none();
            let owner = is_plain.then(|| owners.of(analysis, from));
            adding.add(edge, from, owner);
        }
        for root in analysis.links.roots(*node) {
            let root = &analysis.graph.roots[*root as usize];
            let words = roots
                .entry((root.kind, analysis.graph.label(root)))
                .or_default();
            *words = (words.0 + 1, words.1 + u64::from(root.counted));
        }
    }
    let mut roots: Vec<_> = roots.into_iter().collect();
    roots.sort();
    let roots = roots
        .into_iter()
        .map(|((kind, label), (words, counted))| wire::RootWords {
            root: kind,
            label: label.to_owned(),
            words,
            counted,
        });
    let mut holders = adding.finish(&retained);
    Report::Holders(wire::Holders {
        node: subject_node(analysis, subject),
        objects: nodes.len() as u64,
        roots: roots.collect(),
        all_holders: shorten(&mut holders, limit),
        holders,
    })
}

/// Makes the report of `held`.
pub fn held(analysis: &Analysis<'_>, subject: &Subject, limit: Option<usize>) -> Report {
    let nodes = subjects(analysis, subject);
    let retained = retained_from_roots(analysis);
    let mut adding = Adding::new(analysis, subject);
    for node in &nodes {
        for edge in analysis.links.out(*node) {
            adding.add(edge, analysis.graph.edges[edge].to, None);
        }
    }
    let freed = retained.of(nodes.iter().copied());
    let mut held = adding.finish(&retained);
    Report::Held(wire::Held {
        node: subject_node(analysis, subject),
        objects: nodes.len() as u64,
        retained_bytes: freed.bytes,
        retained_objects: freed.objects,
        all_held: shorten(&mut held, limit),
        held,
    })
}
