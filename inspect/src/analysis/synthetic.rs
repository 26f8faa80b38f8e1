//! Builds graphs for tests.

use crate::graph::{
    Edge, EdgeKind, Graph, Node, NodeId, NodeKind, Object, Root, RootKind, Storage,
};
use crate::texts::Texts;

/// A graph that is being built. Nodes are numbered in the order of their creation; objects first.
#[derive(Default)]
pub(crate) struct Builder {
    graph: Graph,
    types: Texts,
    labels: Texts,
    counts: Vec<(NodeId, [u64; 2])>,
}

impl Builder {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object of 32 bytes.
    pub fn object(&mut self, name: &str, strong: u32, weak: u32) -> NodeId {
        assert_eq!(self.graph.objects, self.graph.nodes.len(), "objects first");
        self.graph.objects += 1;
        let kind = NodeKind::Object(Object {
            type_id: self.types.add(name),
            strong,
            weak,
            alive: strong > 0,
            storage: Storage::Global,
        });
        self.node(32, kind, 0x1000)
    }

    /// Adds a plain allocation.
    pub fn plain(&mut self, bytes: u64) -> NodeId {
        self.node(bytes, NodeKind::Plain, 0x10_0000_0000)
    }

    /// Adds a plain allocation that begins with counts.
    pub fn arc(&mut self, strong: u64, weak: u64) -> NodeId {
        let node = self.plain(48);
        self.counts.push((node, [strong, weak]));
        node
    }

    fn node(&mut self, bytes: u64, kind: NodeKind, base: u64) -> NodeId {
        let id = self.graph.nodes.len();
        let address = base + 0x40 * id as u64;
        self.graph.nodes.push(Node {
            address,
            bytes,
            kind,
        });
        id as NodeId
    }

    /// Adds a word at `offset` of `from` that refers to `to`.
    pub fn edge(&mut self, from: NodeId, offset: u32, to: NodeId) -> &mut Self {
        let kind = match self.graph.nodes[to as usize].kind {
            NodeKind::Object(_) => EdgeKind::Exact,
            NodeKind::Plain => EdgeKind::Into,
        };
        self.graph.edges.push(Edge {
            from,
            to,
            offset,
            kind,
        });
        self
    }

    /// Adds a root that is not counted.
    pub fn root(&mut self, kind: RootKind, label: &str, to: NodeId) -> &mut Self {
        self.add_root(kind, label, to, 0)
    }

    /// Adds a root that is one counted reference.
    pub fn counted(&mut self, kind: RootKind, label: &str, to: NodeId) -> &mut Self {
        self.add_root(kind, label, to, 1)
    }

    fn add_root(&mut self, kind: RootKind, label: &str, to: NodeId, counted: u32) -> &mut Self {
        let address = 0x7000_0000 + 8 * self.graph.roots.len() as u64;
        self.graph.roots.push(Root {
            kind,
            label: self.labels.add(label),
            to,
            address,
            counted,
        });
        self
    }

    pub fn build(mut self) -> Graph {
        self.graph
            .edges
            .sort_by_key(|edge| (edge.from, edge.offset));
        let plain = self.graph.nodes.len() - self.graph.objects;
        self.graph.first_words = vec![[0xDEAD_BEEF_0000, 0]; plain];
        for (node, counts) in self.counts {
            self.graph.first_words[node as usize - self.graph.objects] = counts;
        }
        self.graph.types = self.types.all;
        self.graph.labels = self.labels.all;
        self.graph
    }
}
