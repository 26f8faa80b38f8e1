//! Compares two graphs of one program.

use super::Analysis;
use super::containers::by_type;
use super::containers::containers;
use super::paths::path_to;
use crate::graph::{Graph, NodeId, Process, RootKind};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How the objects of a type have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeChange {
    /// The name of the type.
    pub name: String,
    /// Objects before and after.
    pub objects: [u64; 2],
    /// Bytes before and after.
    pub bytes: [u64; 2],
}

/// A container that has more references than before.
#[derive(Clone, Debug)]
pub struct Grown {
    /// The node in the second graph.
    pub node: NodeId,
    /// The type of the objects that it refers to.
    pub type_name: String,
    /// References before and after.
    pub references: [u64; 2],
}

/// A pool, an inbox, a backlog or another list of the library that is longer than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Longer {
    /// The kind of the root: `pool`, `forgotten_pool`, `inbox`, `backlog`, `orphan` or `kept`.
    #[serde(rename = "root")]
    pub kind: RootKind,
    /// The name of the list, for people.
    pub label: String,
    /// Entries before and after.
    pub entries: [u64; 2],
}

/// The changes between two graphs.
#[derive(Clone, Debug, Default)]
pub struct Diff {
    /// True if both graphs are of one process; `None` if it cannot be told.
    pub is_same_process: Option<bool>,
    /// True if the second graph seems to be older than the first one.
    pub is_swapped: bool,
    /// Types whose objects or bytes are more or fewer; those that have grown most come first.
    pub types: Vec<TypeChange>,
    /// Containers that have grown, the most grown first.
    pub grown: Vec<Grown>,
    /// Pools, inboxes and backlogs that have grown, the most grown first.
    pub longer: Vec<Longer>,
}

/// A container, a pool or another list has grown if it has at least this many references more.
const GROWN_BY: u64 = 16;

/// Returns the key of a container in all graphs of one process: for an object, its address; for a
/// buffer, which moves when it grows, the address of the first word that refers to the buffer.
fn place(analysis: &Analysis<'_>, node: NodeId) -> (u64, u64) {
    let graph = analysis.graph;
    if (node as usize) < graph.objects {
        return (0, graph.nodes[node as usize].address);
    }
    if let Some(root) = analysis.links.roots(node).iter().min() {
        return (1, graph.roots[*root as usize].address);
    }
    match analysis.links.incoming(node).first() {
        Some(edge) => {
            let edge = graph.edges[*edge as usize];
            let holder = graph.nodes[edge.from as usize].address;
            (2, holder + u64::from(edge.offset))
        }
        None => (0, graph.nodes[node as usize].address),
    }
}

/// Returns a key by which a container is recognized in another process, where all addresses differ:
/// the names of the types and variables that hold it.
fn way(analysis: &Analysis<'_>, node: NodeId) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    if let Some(path) = path_to(analysis, node) {
        path.label.hash(&mut hasher);
        for hop in path.hops {
            analysis.type_name(hop.node).hash(&mut hasher);
        }
    }
    (3, hasher.finish())
}

/// Compares two graphs.
pub fn diff(before: &Analysis<'_>, after: &Analysis<'_>) -> Diff {
    let is_same_process = Process::are_same(before.graph.process, after.graph.process);
    let place = match is_same_process {
        Some(false) => way,
        _ => place,
    };
    Diff {
        is_same_process,
        is_swapped: is_same_process != Some(false) && is_older(after.graph, before.graph),
        types: types(before.graph, after.graph),
        grown: grown(before, after, place),
        longer: longer(before.graph, after.graph),
    }
}

/// Returns whether `graph` is older than `than`, a graph of the same process: the library's counts
/// never shrink.
fn is_older(graph: &Graph, than: &Graph) -> bool {
    let counted = |graph: &Graph| (graph.totals.created, graph.totals.destroyed);
    counted(graph) < counted(than)
}

fn types(before: &Graph, after: &Graph) -> Vec<TypeChange> {
    let mut changes: HashMap<String, TypeChange> = HashMap::new();
    for (at, graph) in [before, after].into_iter().enumerate() {
        for count in by_type(graph) {
            let change = changes
                .entry(count.name)
                .or_insert_with_key(|name| TypeChange {
                    name: name.clone(),
                    objects: [0; 2],
                    bytes: [0; 2],
                });
            change.objects[at] += count.objects;
            change.bytes[at] += count.bytes;
        }
    }
    let changes = changes.into_values();
    let mut changes: Vec<_> = changes
        .filter(|change| {
            change.objects[0] != change.objects[1] || change.bytes[0] != change.bytes[1]
        })
        .collect();
    changes.sort_by_cached_key(|change| {
        let grown = change.bytes[1] as i128 - change.bytes[0] as i128;
        (-grown, change.name.clone())
    });
    changes
}

fn grown(
    before: &Analysis<'_>,
    after: &Analysis<'_>,
    place: impl Fn(&Analysis<'_>, NodeId) -> (u64, u64),
) -> Vec<Grown> {
    let mut known: HashMap<((u64, u64), &str), u64> = HashMap::new();
    for container in containers(before.graph, 1) {
        let name = before.graph.type_name(container.type_id);
        *known
            .entry((place(before, container.node), name))
            .or_default() += container.references;
    }
    let mut grown = Vec::new();
    for container in containers(after.graph, GROWN_BY) {
        if !after.reach.is_held(container.node) {
            continue;
        }
        let name = after.graph.type_name(container.type_id);
        let was = known.get(&(place(after, container.node), name)).copied();
        let was = was.unwrap_or(0);
        if container.references >= was + GROWN_BY {
            grown.push(Grown {
                node: container.node,
                type_name: name.to_owned(),
                references: [was, container.references],
            });
        }
    }
    grown.sort_by_key(|grown| {
        (
            std::cmp::Reverse(grown.references[1] - grown.references[0]),
            grown.node,
        )
    });
    grown
}

fn longer(before: &Graph, after: &Graph) -> Vec<Longer> {
    let mut lists: HashMap<(RootKind, &str), [u64; 2]> = HashMap::new();
    for (at, graph) in [before, after].into_iter().enumerate() {
        for root in graph.roots.iter().filter(|root| root.kind.is_list()) {
            let list = lists.entry((root.kind, graph.label(root))).or_default();
            // A posted closure stands for no counted reference, but is an entry.
            list[at] += u64::from(root.counted.max(1));
        }
    }
    let lists = lists.into_iter();
    let lists = lists.filter(|(_, [was, is])| *is >= was + GROWN_BY);
    let mut longer: Vec<_> = lists
        .map(|((kind, label), entries)| Longer {
            kind,
            label: label.to_owned(),
            entries,
        })
        .collect();
    longer.sort_by_cached_key(|list| {
        let [was, is] = list.entries;
        (std::cmp::Reverse(is - was), list.kind, list.label.clone())
    });
    longer
}

#[cfg(test)]
mod tests {
    use super::{Diff, diff};
    use crate::analysis::Analysis;
    use crate::analysis::synthetic::Builder;
    use crate::graph::{Graph, Process, RootKind};

    fn changed(before: &Graph, after: &Graph) -> Diff {
        let (before, after) = (Analysis::new(before), Analysis::new(after));
        diff(&before, &after)
    }

    /// Returns a graph with a registry in a vector, and lost objects.
    fn registry(entries: u32, lost: u32) -> Graph {
        let mut b = Builder::new();
        let entries: Vec<_> = (0..entries).map(|_| b.object("Entry", 1, 0)).collect();
        for _ in 0..lost {
            b.object("Lost", 1, 0);
        }
        let vector = b.plain(8 * entries.len() as u64);
        b.elements(vector, &entries);
        b.root(RootKind::Static, "static REGISTRY", vector);
        b.build()
    }

    #[test]
    fn grown_types_and_containers_are_found() {
        let changed = changed(&registry(100, 1), &registry(140, 3));
        let types = changed.types.iter().map(|c| (&*c.name, c.objects));
        let types: Vec<_> = types.collect();
        assert_eq!(types, [("Entry", [100, 140]), ("Lost", [1, 3])]);
        let grown = changed.grown.iter().map(|g| (&*g.type_name, g.references));
        assert_eq!(grown.collect::<Vec<_>>(), [("Entry", [100, 140])]);
    }

    #[test]
    fn grown_pools_inboxes_and_backlogs_are_found() {
        let lists = |lens: [u32; 3]| {
            let mut b = Builder::new();
            let kinds = [RootKind::Pool, RootKind::Inbox, RootKind::Backlog];
            let entry = b.object("Entry", lens.iter().sum(), 0);
            for (kind, len) in kinds.into_iter().zip(lens) {
                (0..len).for_each(|_| _ = b.counted(kind, &kind.to_string(), entry));
            }
            b.root(RootKind::Static, "static ENTRY", entry);
            b.build()
        };
        let (before, after) = (lists([100, 1, 0]), lists([120, 17, 15]));
        let longer = changed(&before, &after).longer;
        let longer: Vec<_> = longer.iter().map(|l| (&*l.label, l.entries)).collect();
        assert_eq!(longer, [("pool", [100, 120]), ("inbox", [1, 17])]);
        assert!(changed(&after, &before).longer.is_empty());
    }

    fn process(pid: u32, program: u8) -> Option<Process> {
        let program = Some([program; 16]);
        Some(Process { pid, program })
    }

    #[test]
    fn graphs_of_other_processes_and_older_ones_are_told() {
        let first = process(1, 10);
        for (second, created, is_same, is_swapped) in [
            (first, [5, 5], Some(true), false),
            (first, [6, 5], Some(true), true),
            // Each is compared with the first: a later process with the same id, another process,
            // an unknown one.
            (process(1, 11), [6, 5], Some(false), false),
            (process(2, 10), [6, 5], Some(false), false),
            (None, [5, 5], None, false),
        ] {
            let mut graphs = [registry(100, 1), registry(100, 1)];
            [graphs[0].process, graphs[1].process] = [first, second];
            [graphs[0].totals.created, graphs[1].totals.created] = created;
            let changed = changed(&graphs[0], &graphs[1]);
            let found = (changed.is_same_process, changed.is_swapped);
            assert_eq!(found, (is_same, is_swapped), "{:?}", graphs[1].process);
        }
    }

    #[test]
    fn containers_of_another_process_are_known_by_the_way_to_them() {
        for (pid, expected) in [(1, [0, 140]), (2, [100, 140])] {
            let (mut before, mut after) = (registry(100, 0), registry(140, 0));
            // The same variable has another address in the other process.
            after.roots[0].address += 0x1000;
            before.process = process(1, 10);
            after.process = process(pid, 10);
            assert_eq!(changed(&before, &after).grown[0].references, expected);
        }
    }

    #[test]
    fn nothing_has_changed_if_both_are_alike() {
        let changed = changed(&registry(100, 1), &registry(100, 1));
        assert!(changed.types.is_empty() && changed.grown.is_empty());
    }
}
