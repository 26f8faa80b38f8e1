//! The heap snapshots of Chrome's DevTools, which show retainers and dominators.
//!
//! The format is that of V8: flat arrays of numbers, whose fields `meta` names. Nodes are written
//! with their edges in the same order. Node 0 is an unnamed root; below it is "(GC roots)", below
//! which is a node for each label of a root.

use crate::analysis::Analysis;
use crate::analysis::strength::Strength;
use crate::error::Error;
use crate::graph::{Graph, NodeKind, Texts};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

/// How many numbers a node has.
const FIELDS: usize = 6;

const META: &str = concat!(
    r#"{"node_fields":["type","name","id","self_size","edge_count","detachedness"],"#,
    r#""node_types":[["hidden","array","string","object","code","closure","regexp","number","#,
    r#""native","synthetic","concatenated string","sliced string","symbol","bigint","#,
    r#""object shape"],"string","number","number","number","number"],"#,
    r#""edge_fields":["type","name_or_index","to_node"],"#,
    r#""edge_types":[["context","element","property","internal","hidden","shortcut","weak"],"#,
    r#""string_or_number","node"],"#,
    r#""trace_function_info_fields":["function_id","name","script_name","script_id","line","#,
    r#""column"],"trace_node_fields":["id","function_info_index","count","size","children"],"#,
    r#""sample_fields":["timestamp_us","last_assigned_id"],"#,
    r#""location_fields":["object_index","script_id","line","column"]}"#,
);

/// Types of nodes.
const OBJECT: u64 = 3;
const NATIVE: u64 = 8;
const SYNTHETIC: u64 = 9;

/// Types of edges.
const ELEMENT: u64 = 1;
const PROPERTY: u64 = 2;
const WEAK: u64 = 6;

/// Writes a heap snapshot to a file. Needs memory for the texts only, not for the file.
///
/// # Errors
///
/// [`Error::Io`] if the file cannot be written.
pub fn save(analysis: &Analysis<'_>, path: &Path) -> Result<(), Error> {
    let written = File::create(path).and_then(|file| write(analysis, BufWriter::new(file)));
    written.map_err(|error| Error::io(format!("write {}", path.display()), error))
}

/// Roots by label: the nodes between "(GC roots)" and the heap.
struct Labels<'g> {
    /// The indices of the roots, sorted by label.
    roots: Vec<u32>,
    /// The label, and where its roots are in `roots`.
    labels: Vec<(&'g str, Range<usize>)>,
}

impl<'g> Labels<'g> {
    fn new(graph: &'g Graph) -> Self {
        let mut roots: Vec<u32> = (0..graph.roots.len() as u32).collect();
        let of = |root: u32| &graph.roots[root as usize];
        roots.sort_by(|a, b| {
            let key = |root: u32| (of(root).kind, graph.label(of(root)), root);
            key(*a).cmp(&key(*b))
        });
        let mut labels: Vec<(&str, Range<usize>)> = Vec::new();
        for (at, root) in roots.iter().enumerate() {
            let label = graph.label(of(*root));
            match labels.last_mut() {
                Some((last, range)) if *last == label => range.end = at + 1,
                _ => labels.push((label, at..at + 1)),
            }
        }
        Self { roots, labels }
    }
}

/// Numbers that are made as they are written.
struct Numbers<I>(RefCell<I>);

impl<I: Iterator<Item = u64>> Serialize for Numbers<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&mut *self.0.borrow_mut())
    }
}

fn numbers<I: Iterator<Item = u64>>(numbers: I) -> Numbers<I> {
    Numbers(RefCell::new(numbers))
}

fn write(analysis: &Analysis<'_>, mut out: impl Write) -> io::Result<()> {
    let graph = analysis.graph;
    let Labels { roots, labels } = Labels::new(graph);
    // The two roots and the labels come before the heap.
    let before = 2 + labels.len();
    let mut strings = Texts::default();
    strings.add("");
    let mut serializer = serde_json::Serializer::new(&mut out);
    let mut file = serializer.serialize_map(None)?;
    let snapshot = json!({
        "meta": serde_json::from_str::<Value>(META)?,
        "node_count": before + graph.nodes.len(),
        "edge_count": before - 1 + graph.roots.len() + graph.edges.len(),
        "trace_function_count": 0,
    });
    file.serialize_entry("snapshot", &snapshot)?;

    let tops = [("", 1), ("(GC roots)", labels.len())];
    let tops = tops.map(|(name, edges)| (SYNTHETIC, Cow::from(name), 0, edges));
    let of_labels = labels.iter().map(|(label, roots)| {
        let name = Cow::from(format!("({label})"));
        (SYNTHETIC, name, 0, roots.len())
    });
    let of_heap = (0..).zip(&graph.nodes).map(|(at, node)| {
        let (kind, name) = match &node.kind {
            NodeKind::Object(object) => (OBJECT, graph.type_name(object.type_id)),
            NodeKind::Plain => (NATIVE, "allocation"),
        };
        (
            kind,
            Cow::from(name),
            node.bytes,
            analysis.links.out(at).len(),
        )
    });
    let nodes = tops.into_iter().chain(of_labels).chain(of_heap);
    let nodes = nodes
        .zip((1..).step_by(2))
        .flat_map(|((kind, name, size, edges), id)| {
            [kind, strings.add(&name).into(), id, size, edges as u64, 0]
        });
    file.serialize_entry("nodes", &numbers(nodes))?;

    let to_labels = (0..labels.len()).map(|at| (ELEMENT, at as u64, 2 + at));
    let to_heap = labels.iter().flat_map(|(_, range)| {
        let roots = roots[range.clone()].iter().enumerate();
        roots.map(|(at, root)| {
            let to = graph.roots[*root as usize].to as usize;
            (ELEMENT, at as u64, before + to)
        })
    });
    let words = graph.edges.iter().zip(&analysis.strengths);
    let words = words.map(|(word, strength)| {
        let mut field = || strings.add(&format!("+{}", word.offset)).into();
        let (kind, name) = match strength {
            Strength::Weak | Strength::Uncounted => (WEAK, field()),
            _ if (word.from as usize) < graph.objects => (PROPERTY, field()),
            _ => (ELEMENT, word.offset.into()),
        };
        (kind, name, before + word.to as usize)
    });
    let to_roots = [(ELEMENT, 0, 1)].into_iter().chain(to_labels);
    let edges = to_roots.chain(to_heap).chain(words);
    let edges = edges.flat_map(|(kind, name, to)| [kind, name, (to * FIELDS) as u64]);
    file.serialize_entry("edges", &numbers(edges))?;

    for unused in ["trace_function_infos", "trace_tree", "samples", "locations"] {
        file.serialize_entry(unused, &[(); 0])?;
    }
    file.serialize_entry("strings", &strings.all)?;
    file.end()?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::{FIELDS, write};
    use crate::analysis::Analysis;
    use crate::analysis::synthetic::Builder;
    use crate::graph::RootKind;
    use serde_json::Value;

    #[test]
    fn heap_snapshot_has_the_counts_and_indices_that_readers_rely_on() {
        let mut b = Builder::new();
        let (game, player) = (b.object("Game", 1, 1), b.object("Player", 1, 0));
        let buffer = b.plain(64);
        b.edge(game, 16, buffer).edge(buffer, 8, player);
        b.edge(player, 0, game);
        b.root(RootKind::Static, "static GAME", game);
        b.root(RootKind::Stack, "stack of thread \"main\"", game);
        let graph = b.build();
        let mut bytes = Vec::new();
        write(&Analysis::new(&graph), &mut bytes).expect("memory can be written");
        let json: Value = serde_json::from_slice(&bytes).expect("it is JSON");
        let numbers = |key: &str| -> Vec<usize> {
            let list = json[key].as_array().expect("a list").iter();
            list.map(|n| n.as_u64().expect("a number") as usize)
                .collect()
        };
        let (nodes, edges) = (numbers("nodes"), numbers("edges"));
        let strings = json["strings"].as_array().expect("a list");
        assert_eq!(nodes.len(), FIELDS * 7);
        assert_eq!(json["snapshot"]["node_count"], 7);
        assert_eq!(json["snapshot"]["edge_count"], edges.len() / 3);
        let counts: usize = nodes.chunks(FIELDS).map(|node| node[4]).sum();
        assert_eq!(counts, edges.len() / 3);
        let mut fields = nodes.chunks(FIELDS);
        assert!(fields.all(|node| node[1] < strings.len() && node[2] % 2 == 1));
        let mut words = edges.chunks(3);
        assert!(words.all(|edge| edge[2] % FIELDS == 0 && edge[2] < nodes.len()));
        let names = nodes.chunks(FIELDS).map(|node| strings[node[1]].as_str());
        let names: Vec<_> = names.collect();
        let expected = [
            "",
            "(GC roots)",
            "(static GAME)",
            "(stack of thread \"main\")",
            "Game",
            "Player",
            "allocation",
        ];
        assert_eq!(names, expected.map(Some));
    }
}
