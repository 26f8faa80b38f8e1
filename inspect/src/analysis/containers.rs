//! Objects and bytes by type, and allocations and objects that hold very many objects of one type.

use super::Analysis;
use super::path::Hop;
use super::paths::path_to;
use super::verdict::{Figures, Group, Verdict};
use crate::graph::{Graph, NodeId, NodeKind};
use serde::{Deserialize, Serialize};

/// The objects of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeCount {
    /// The name of the type.
    pub name: String,
    /// How many objects are alive.
    pub objects: u64,
    /// Bytes of all objects, dead ones included, with headers, without what the objects hold.
    pub bytes: u64,
    /// Destroyed values whose memory weak references keep.
    pub dead: u64,
}

/// Counts the objects of each type, in the order of the graph's types.
pub fn by_type(graph: &Graph) -> Vec<TypeCount> {
    let names = graph.types.iter();
    let mut counts: Vec<TypeCount> = names
        .map(|name| TypeCount {
            name: name.clone(),
            ..TypeCount::default()
        })
        .collect();
    for node in &graph.nodes[..graph.objects] {
        let NodeKind::Object(object) = &node.kind else {
            continue;
        };
        let Some(count) = counts.get_mut(object.type_id as usize) else {
            continue;
        };
        count.bytes += node.bytes;
        if object.alive {
            count.objects += 1;
        } else {
            count.dead += 1;
        }
    }
    counts
}

/// An allocation or object with many references to objects of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Container {
    /// The node that has the references.
    pub node: NodeId,
    /// The type of the objects.
    pub type_id: u32,
    /// How many references there are.
    pub references: u64,
    /// The first of the objects.
    pub first: NodeId,
}

/// Finds the nodes with at least this many references to objects of one type.
pub fn containers(graph: &Graph, at_least: u64) -> Vec<Container> {
    let mut found = Vec::new();
    let mut counts: Vec<(u32, u64, NodeId)> = Vec::new();
    for edges in graph.edges.chunk_by(|a, b| a.from == b.from) {
        if (edges.len() as u64) < at_least {
            continue;
        }
        counts.clear();
        for edge in edges {
            let Some(object) = graph.object(edge.to) else {
                continue;
            };
            match counts.iter_mut().find(|count| count.0 == object.type_id) {
                Some(count) => count.1 += 1,
                None => counts.push((object.type_id, 1, edge.to)),
            }
        }
        let many = counts.iter().filter(|count| count.1 >= at_least);
        found.extend(many.map(|(type_id, references, first)| Container {
            node: edges[0].from,
            type_id: *type_id,
            references: *references,
            first: *first,
        }));
    }
    found
}

/// Returns a hint for each container that is held and has at least this many references.
pub(super) fn large(analysis: &Analysis<'_>, at_least: u64) -> Vec<Group> {
    let graph = analysis.graph;
    let held = containers(graph, at_least).into_iter();
    let held = held.filter(|container| analysis.reach.is_held(container.node));
    let groups = held.map(|container| {
        let mut path = path_to(analysis, container.node);
        let label = path.as_mut().map(|path| std::mem::take(&mut path.label));
        let mut hops = path.map_or_else(Vec::new, |path| path.hops);
        let edges = analysis.links.out(container.node);
        let mut edges = edges.map(|edge| graph.edges[edge]);
        if let (Some(last), Some(edge)) = (
            hops.last_mut(),
            edges.find(|edge| edge.to == container.first),
        ) {
            last.offset = Some(edge.offset);
        }
        hops.push(Hop::end(container.first));
        let bytes = graph.nodes[container.first as usize].bytes * container.references;
        Group {
            verdict: Verdict::Container,
            label: label.unwrap_or_default(),
            path: hops,
            figures: Figures {
                leaks: 1,
                objects: container.references,
                bytes,
                retained_objects: container.references,
                retained_bytes: bytes,
                missing: 0,
            },
            samples: vec![container.node],
        }
    });
    groups.collect()
}
