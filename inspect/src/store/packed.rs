//! The content of a snapshot file: columns of numbers, as differences where those are small.

use crate::graph::{
    Creation, Edge, EdgeKind, Frames, Graph, Node, NodeId, NodeKind, Object, PoolState, Process,
    Root, RootKind, Started, Storage, ThreadState, Totals,
};
use serde::{Deserialize, Serialize};

/// A graph in columns. Numbers are written with as few bytes as they need.
#[derive(Serialize, Deserialize)]
pub(super) struct Packed {
    process: Option<PackedProcess>,
    types: Vec<String>,
    /// Where, and by which thread objects were created.
    creations: Vec<(String, Option<u64>)>,
    /// For each object one more than its index into `creations`, or 0; empty if none is known.
    created: Vec<u32>,
    objects: Vec<PackedObject>,
    /// Address, less that of the allocation before; bytes.
    plain: Vec<(u64, u64)>,
    first_words: Vec<[u64; 2]>,
    edges: Vec<PackedEdge>,
    labels: Vec<String>,
    roots: Vec<PackedRoot>,
    threads: Vec<PackedThread>,
    totals: [u64; 3],
    caveats: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct PackedProcess {
    pid: u32,
    /// The boot, and ticks since then.
    started: Option<(String, u64)>,
    looked_at: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct PackedObject {
    /// The address, less that of the object before.
    step: u64,
    bytes: u64,
    type_id: u32,
    strong: u32,
    weak: u32,
    alive: bool,
    block: bool,
}

#[derive(Serialize, Deserialize)]
struct PackedEdge {
    /// The node, less that of the edge before.
    step: u32,
    to: u32,
    offset: u32,
    kind: u8,
}

#[derive(Serialize, Deserialize)]
struct PackedRoot {
    kind: u8,
    label: u32,
    to: u32,
    address: u64,
    counted: u32,
}

#[derive(Serialize, Deserialize)]
struct PackedThread {
    key: u64,
    name: Option<String>,
    tid: Option<u32>,
    pools: Vec<(String, u64)>,
    inbox: u64,
    backlog: u64,
    created: u64,
    destroyed: u64,
    frames: Option<(u64, Option<u64>)>,
}

const ROOT_KINDS: [RootKind; 11] = [
    RootKind::Pool,
    RootKind::ForgottenPool,
    RootKind::Inbox,
    RootKind::Backlog,
    RootKind::Orphan,
    RootKind::Kept,
    RootKind::Static,
    RootKind::ThreadLocal,
    RootKind::Anonymous,
    RootKind::Register,
    RootKind::Stack,
];
const EDGE_KINDS: [EdgeKind; 3] = [EdgeKind::Exact, EdgeKind::Counted, EdgeKind::Into];

/// Returns the index of an item that is in the list.
fn index<T: PartialEq>(list: &[T], item: &T) -> u8 {
    let at = list.iter().position(|known| known == item);
    at.expect("the list has all kinds") as u8
}

impl Packed {
    pub fn new(graph: &Graph) -> Self {
        let (mut objects, mut plain) = (Vec::new(), Vec::new());
        let (mut object_at, mut plain_at) = (0, 0);
        for node in &graph.nodes {
            match &node.kind {
                NodeKind::Object(object) => {
                    objects.push(PackedObject {
                        step: node.address.wrapping_sub(object_at),
                        bytes: node.bytes,
                        type_id: object.type_id,
                        strong: object.strong,
                        weak: object.weak,
                        alive: object.alive,
                        block: object.storage == Storage::Block,
                    });
                    object_at = node.address;
                }
                NodeKind::Plain => {
                    plain.push((node.address.wrapping_sub(plain_at), node.bytes));
                    plain_at = node.address;
                }
            }
        }
        let mut from = 0;
        let edges = graph.edges.iter().map(|edge| PackedEdge {
            step: edge
                .from
                .wrapping_sub(std::mem::replace(&mut from, edge.from)),
            to: edge.to,
            offset: edge.offset,
            kind: index(&EDGE_KINDS, &edge.kind),
        });
        let edges = edges.collect();
        let roots = graph.roots.iter().map(|root| PackedRoot {
            kind: index(&ROOT_KINDS, &root.kind),
            label: root.label,
            to: root.to,
            address: root.address,
            counted: root.counted,
        });
        let roots = roots.collect();
        let creations = graph.creations.iter();
        let creations = creations.map(|creation| (creation.site.clone(), creation.creator));
        let totals = graph.totals;
        let process = graph.process.as_ref().map(|process| {
            let started = process.started.as_ref();
            let started = started.map(|started| (started.boot.clone(), started.ticks));
            PackedProcess {
                pid: process.pid,
                started,
                looked_at: process.looked_at,
            }
        });
        Self {
            process,
            types: graph.types.clone(),
            creations: creations.collect(),
            created: graph.created.clone(),
            objects,
            plain,
            first_words: graph.first_words.clone(),
            edges,
            labels: graph.labels.clone(),
            roots,
            threads: graph.threads.iter().map(PackedThread::new).collect(),
            totals: [totals.created, totals.destroyed, totals.kept],
            caveats: graph.caveats.clone(),
        }
    }

    /// Returns the graph, or what is wrong with it.
    pub fn unpack(self) -> Result<Graph, &'static str> {
        let objects = self.objects.len();
        let nodes = objects + self.plain.len();
        if nodes >= NodeId::MAX as usize
            || self.edges.len() >= 1 << 31
            || self.roots.len() >= 1 << 31
        {
            return Err("it has too many nodes");
        }
        if !self.first_words.is_empty() && self.first_words.len() != self.plain.len() {
            return Err("allocations lack their first words");
        }
        if !self.created.is_empty() && self.created.len() != objects {
            return Err("objects lack their creation");
        }
        if self
            .created
            .iter()
            .any(|n| *n as usize > self.creations.len())
        {
            return Err("an object has a creation that does not exist");
        }
        let mut all = Vec::with_capacity(nodes);
        let mut address = 0_u64;
        for object in &self.objects {
            if object.type_id as usize >= self.types.len() {
                return Err("an object has a type that does not exist");
            }
            address = address.wrapping_add(object.step);
            all.push(Node {
                address,
                bytes: object.bytes,
                kind: NodeKind::Object(Object {
                    type_id: object.type_id,
                    strong: object.strong,
                    weak: object.weak,
                    alive: object.alive,
                    storage: if object.block {
                        Storage::Block
                    } else {
                        Storage::Global
                    },
                }),
            });
        }
        address = 0;
        for (step, bytes) in &self.plain {
            address = address.wrapping_add(*step);
            all.push(Node {
                address,
                bytes: *bytes,
                kind: NodeKind::Plain,
            });
        }
        let sorted = |nodes: &[Node]| nodes.is_sorted_by_key(|node| node.address);
        if !sorted(&all[..objects]) || !sorted(&all[objects..]) {
            return Err("addresses are not sorted");
        }
        let [created, destroyed, kept] = self.totals;
        let creations = self.creations.into_iter();
        let creations = creations.map(|(site, creator)| Creation { site, creator });
        let process = self.process.map(|process| Process {
            pid: process.pid,
            started: process.started.map(|(boot, ticks)| Started { boot, ticks }),
            looked_at: process.looked_at,
        });
        Ok(Graph {
            process,
            edges: edges(&self.edges, nodes)?,
            roots: roots(&self.roots, self.labels.len(), nodes)?,
            nodes: all,
            objects,
            types: self.types,
            labels: self.labels,
            creations: creations.collect(),
            created: self.created,
            first_words: self.first_words,
            threads: self.threads.into_iter().map(PackedThread::unpack).collect(),
            totals: Totals {
                created,
                destroyed,
                kept,
            },
            caveats: self.caveats,
        })
    }
}

fn edges(packed: &[PackedEdge], nodes: usize) -> Result<Vec<Edge>, &'static str> {
    let mut from = 0_u32;
    let edges = packed.iter().map(|edge| {
        from = from.checked_add(edge.step).ok_or("edges are not sorted")?;
        if from as usize >= nodes || edge.to as usize >= nodes {
            return Err("an edge refers to a node that does not exist");
        }
        Ok(Edge {
            from,
            to: edge.to,
            offset: edge.offset,
            kind: *EDGE_KINDS
                .get(edge.kind as usize)
                .ok_or("an edge has no known kind")?,
        })
    });
    edges.collect()
}

fn roots(packed: &[PackedRoot], labels: usize, nodes: usize) -> Result<Vec<Root>, &'static str> {
    let roots = packed.iter().map(|root| {
        if root.to as usize >= nodes {
            return Err("a root refers to a node that does not exist");
        }
        if root.label as usize >= labels {
            return Err("a root has no label");
        }
        Ok(Root {
            kind: *ROOT_KINDS
                .get(root.kind as usize)
                .ok_or("a root has no known kind")?,
            label: root.label,
            to: root.to,
            address: root.address,
            counted: root.counted,
        })
    });
    roots.collect()
}

impl PackedThread {
    fn new(thread: &ThreadState) -> Self {
        let pools = thread.pools.iter();
        Self {
            key: thread.key,
            name: thread.name.clone(),
            tid: thread.tid,
            pools: pools
                .map(|pool| (pool.name.clone(), pool.entries))
                .collect(),
            inbox: thread.inbox,
            backlog: thread.backlog,
            created: thread.created,
            destroyed: thread.destroyed,
            frames: thread
                .frames
                .map(|frames| (frames.count, frames.last_nanos)),
        }
    }

    fn unpack(self) -> ThreadState {
        let pools = self.pools.into_iter();
        ThreadState {
            key: self.key,
            name: self.name,
            tid: self.tid,
            pools: pools
                .map(|(name, entries)| PoolState { name, entries })
                .collect(),
            inbox: self.inbox,
            backlog: self.backlog,
            created: self.created,
            destroyed: self.destroyed,
            frames: self
                .frames
                .map(|(count, last_nanos)| Frames { count, last_nanos }),
        }
    }
}
