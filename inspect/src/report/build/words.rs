//! Nodes, paths and words in reports, and the reports of `holders` and `held`, which add words up.

use crate::analysis::Analysis;
use crate::analysis::owners::{Owner, Owners};
use crate::analysis::path::Hop;
use crate::analysis::retained::{RetainedSets, retained_from_roots};
use crate::analysis::strength::Strength;
use crate::graph::{Graph, NodeId, RootKind};
use crate::report::subject::Subject;
use crate::report::wire;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Shortens a list; returns how long it was.
pub(super) fn shorten<T>(list: &mut Vec<T>, limit: Option<usize>) -> usize {
    let all = list.len();
    list.truncate(limit.unwrap_or(usize::MAX));
    all
}

/// Returns an address as reports have it.
pub(super) fn hex(address: u64) -> String {
    format!("{address:#x}")
}

/// Returns what reports say of a node.
pub(super) fn node(analysis: &Analysis<'_>, node: NodeId) -> wire::Node {
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

/// Names the thread with a key for people.
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
pub(super) fn hops(analysis: &Analysis<'_>, path: &[Hop]) -> Vec<wire::Hop> {
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
            Some("object"),
            graph.type_name(type_id).to_owned(),
            Some(offset),
        ),
        Owner::Root { kind, label } => (Some(kind.name()), graph.label_at(label).to_owned(), None),
        Owner::Nothing => (None, String::new(), None),
    };
    wire::Owner {
        kind: kind.map(str::to_owned),
        name,
        offset,
    }
}

/// The key by which words are added up: the type of the other node and what holds that, the node
/// itself, the offset.
type WordsKey = (
    Option<u32>,
    Option<Owner>,
    Option<NodeId>,
    Option<u32>,
    Strength,
);

/// Adds words up: one by one if `single`, else by the type of the other node and the field.
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
pub fn holders(analysis: &Analysis<'_>, subject: &Subject, limit: Option<usize>) -> wire::Holders {
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
    wire::Holders {
        node: subject_node(analysis, subject),
        objects: nodes.len() as u64,
        roots: roots.collect(),
        all_holders: shorten(&mut holders, limit),
        holders,
    }
}

/// Makes the report of `held`.
pub fn held(analysis: &Analysis<'_>, subject: &Subject, limit: Option<usize>) -> wire::Held {
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
    wire::Held {
        node: subject_node(analysis, subject),
        objects: nodes.len() as u64,
        retained_bytes: freed.bytes,
        retained_objects: freed.objects,
        all_held: shorten(&mut held, limit),
        held,
    }
}
