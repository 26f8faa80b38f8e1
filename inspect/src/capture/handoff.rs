//! Handoff pools that were forgotten: pages of entries to which nothing leads.
//!
//! A handoff pool is unknown to the library's own structures; only its owner knows its pages. To the
//! graph they are plain allocations, which hold what is in the pool. If nothing refers to a page, the
//! pool was forgotten, and the page's words become roots.

use crate::graph::{Graph, NodeId, Root, RootKind};

const LABEL: &str = "a handoff pool that was forgotten";

/// Makes roots of the entries of forgotten handoff pools. `is_page` says whether a plain allocation
/// at an address is a page that nothing in the library leads to.
pub(super) fn find_forgotten(graph: &mut Graph, is_page: impl Fn(u64) -> bool) {
    let plain = graph.objects..graph.nodes.len();
    let page: Vec<bool> = plain
        .map(|node| is_page(graph.nodes[node].address))
        .collect();
    if !page.contains(&true) {
        return;
    }
    let objects = graph.objects;
    let is_page = |node: NodeId| {
        let at = (node as usize).checked_sub(objects);
        at.is_some_and(|at| page[at])
    };
    // Those to which anything but a page leads, and the pages below those.
    let from_elsewhere = graph.edges.iter().filter(|edge| !is_page(edge.from));
    let mut used: Vec<NodeId> = from_elsewhere.map(|edge| edge.to).collect();
    used.extend(graph.roots.iter().map(|root| root.to));
    used.retain(|node| is_page(*node));
    let mut is_used = vec![false; page.len()];
    while let Some(node) = used.pop() {
        if std::mem::replace(&mut is_used[node as usize - objects], true) {
            continue;
        }
        let first = graph.edges.partition_point(|edge| edge.from < node);
        let below = graph.edges[first..]
            .iter()
            .take_while(|edge| edge.from == node);
        used.extend(below.map(|edge| edge.to).filter(|to| is_page(*to)));
    }
    let is_forgotten = |node: NodeId| is_page(node) && !is_used[node as usize - objects];
    let (entries, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut graph.edges)
        .into_iter()
        .partition(|edge| is_forgotten(edge.from) && (edge.to as usize) < objects);
    graph.edges = rest;
    let nodes = &graph.nodes;
    graph.roots.extend(entries.iter().map(|entry| Root {
        kind: RootKind::ForgottenPool,
        label: LABEL.to_owned(),
        to: entry.to,
        address: nodes[entry.from as usize].address + u64::from(entry.offset),
        counted: 1,
    }));
    graph.roots.sort_by_key(|root| (root.kind, root.address));
}

#[cfg(test)]
mod tests {
    use super::find_forgotten;
    use crate::analysis::synthetic::Builder;
    use crate::graph::RootKind;

    #[test]
    fn pages_to_which_nothing_leads_are_forgotten_pools() {
        let mut b = Builder::new();
        let objects: Vec<_> = (0..5).map(|_| b.object("Entry", 1, 0)).collect();
        let pages: Vec<_> = (0..4).map(|_| b.plain(2048)).collect();
        let vector = b.plain(32);
        for (page, object) in pages.iter().zip(&objects) {
            b.edge(*page, 16, *object);
        }
        b.edge(vector, 0, objects[4]);
        // The first pool has two pages, and is on a stack; the second one, too, and was forgotten.
        b.root(RootKind::Stack, "stack", pages[0]);
        b.edge(pages[0], 0, pages[1]).edge(pages[2], 0, pages[3]);
        let mut graph = b.build();
        let is_page =
            graph.nodes[pages[0] as usize].address..=graph.nodes[pages[3] as usize].address;
        find_forgotten(&mut graph, |address| is_page.contains(&address));
        let roots = graph
            .roots
            .iter()
            .filter(|root| root.kind == RootKind::ForgottenPool);
        let found: Vec<_> = roots.map(|root| (root.to, root.counted)).collect();
        assert_eq!(found, [(objects[2], 1), (objects[3], 1)]);
        assert_eq!(graph.edges.len(), 5);
        assert!(
            graph
                .roots
                .is_sorted_by_key(|root| (root.kind, root.address))
        );
    }
}
