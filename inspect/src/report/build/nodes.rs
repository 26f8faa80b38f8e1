//! The parts of reports on nodes, roots and lists.

use crate::analysis::Analysis;
use crate::analysis::signature::Hop;
use crate::graph::{Graph, NodeId};
use crate::report::wire;

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
