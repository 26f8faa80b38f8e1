//! Builds graphs for tests.

use crate::graph::{
    Edge, EdgeKind, Graph, Node, NodeId, NodeKind, Object, Root, RootKind, Storage, Texts,
};
use std::collections::HashMap;

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

    /// Adds a word for each element of a buffer.
    pub fn elements(&mut self, buffer: NodeId, elements: &[NodeId]) {
        for (offset, element) in (0..).step_by(8).zip(elements) {
            self.edge(buffer, offset, *element);
        }
    }

    /// Adds a root that is not counted.
    pub fn root(&mut self, kind: RootKind, label: &str, to: NodeId) -> &mut Self {
        self.add_root(kind, label, to, 0)
    }

    /// Adds a root that is one counted reference.
    pub fn counted(&mut self, kind: RootKind, label: &str, to: NodeId) -> &mut Self {
        self.add_root(kind, label, to, 1)
    }

    /// Adds a root of the kind with this name.
    fn root_of(&mut self, name: &str, to: NodeId) -> &mut Self {
        let kind: RootKind = serde_json::from_value(name.into()).expect("a kind of root");
        self.add_root(kind, name, to, u32::from(kind.is_list()))
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

/// Builds a graph that a text describes, in parts between commas:
///
/// * `Game: 2 1`: an object of a type, with its strong references and its weak ones, 0 if left out;
///   `first = Game: 2` if it needs another name than that of its type;
/// * `buffer: plain 64` and `world: arc 2 1`: a plain allocation of so many bytes, and one with counts;
/// * `Game +16 buffer`: a word, by its offset;
/// * `stack Game`: a root of a kind, which is also its label; those of the library's lists are counted.
///
/// A name stands for the last node that was given it.
pub(crate) fn graph(text: &str) -> Graph {
    let mut b = Builder::new();
    let mut nodes: HashMap<&str, NodeId> = HashMap::new();
    for part in text.split(',') {
        let Some((name, about)) = part.split_once(": ") else {
            let words: Vec<&str> = part.split_whitespace().collect();
            match words[..] {
                [] => {}
                [from, offset, to] => _ = b.edge(nodes[from], number(offset) as u32, nodes[to]),
                [kind, to] => _ = b.root_of(kind, nodes[to]),
                _ => panic!("{part:?}"),
            }
            continue;
        };
        let (name, type_name) = name.split_once(" = ").unwrap_or((name, name));
        let words: Vec<&str> = about.split_whitespace().collect();
        let node = match words[..] {
            ["plain", bytes] => b.plain(number(bytes)),
            ["arc", strong, weak] => b.arc(number(strong), number(weak)),
            [strong] => b.object(type_name.trim(), number(strong) as u32, 0),
            [strong, weak] => {
                let [strong, weak] = [strong, weak].map(|n| number(n) as u32);
                b.object(type_name.trim(), strong, weak)
            }
            _ => panic!("{part:?}"),
        };
        nodes.insert(name.trim(), node);
    }
    b.build()
}

fn number(word: &str) -> u64 {
    word.parse()
        .unwrap_or_else(|_| panic!("{word} is no number"))
}
