//! The heap snapshots of Chrome's DevTools, which show retainers and dominators.
//!
//! The format is that of V8: flat arrays of numbers, whose fields `meta` names. Nodes are written
//! with their edges in the same order. Node 0 is an unnamed root; below it is "(GC roots)", below
//! which is a node for each label of a root.

use crate::analysis::Analysis;
use crate::analysis::strength::Strength;
use crate::error::Error;
use crate::graph::Texts;
use crate::graph::{Graph, NodeId, NodeKind};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

/// How many numbers a node has.
const FIELDS: usize = 6;

const META: &str = concat!(
    r#""meta":{"node_fields":["type","name","id","self_size","edge_count","detachedness"],"#,
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
const OBJECT: usize = 3;
const NATIVE: usize = 8;
const SYNTHETIC: usize = 9;

/// Types of edges.
const ELEMENT: usize = 1;
const PROPERTY: usize = 2;
const WEAK: usize = 6;

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

/// Writes numbers with commas between them, as many in a line as belong together.
struct Numbers<W> {
    out: W,
    first: bool,
}

impl<W: Write> Numbers<W> {
    fn line(&mut self, numbers: &[u64]) -> io::Result<()> {
        for number in numbers {
            let comma = if self.first { "" } else { "," };
            self.first = false;
            write!(self.out, "{comma}{number}")?;
        }
        writeln!(self.out)
    }
}

fn write(analysis: &Analysis<'_>, mut out: impl Write) -> io::Result<()> {
    let graph = analysis.graph;
    let labels = Labels::new(graph);
    // The two roots and the labels come before the heap.
    let before = 2 + labels.labels.len();
    let nodes = before + graph.nodes.len();
    let edges = before - 1 + graph.roots.len() + graph.edges.len();
    let mut strings = Texts::default();
    strings.add("");

    write!(out, "{{\"snapshot\":{{{META},")?;
    writeln!(
        out,
        "\"node_count\":{nodes},\"edge_count\":{edges},\"trace_function_count\":0}},"
    )?;
    writeln!(out, "\"nodes\":[")?;
    let mut numbers = Numbers {
        out: &mut out,
        first: true,
    };
    let mut id = 1;
    let mut node = |kind: usize, name: u32, size: u64, edges: usize| {
        let line = [kind as u64, name.into(), id, size, edges as u64, 0];
        id += 2;
        numbers.line(&line)
    };
    node(SYNTHETIC, 0, 0, 1)?;
    node(SYNTHETIC, strings.add("(GC roots)"), 0, labels.labels.len())?;
    for (label, roots) in &labels.labels {
        node(
            SYNTHETIC,
            strings.add(&format!("({label})")),
            0,
            roots.len(),
        )?;
    }
    for (at, item) in graph.nodes.iter().enumerate() {
        let (kind, name) = match &item.kind {
            NodeKind::Object(object) => (OBJECT, graph.type_name(object.type_id)),
            NodeKind::Plain => (NATIVE, "allocation"),
        };
        let edges = analysis.links.out(at as NodeId).len();
        node(kind, strings.add(name), item.bytes, edges)?;
    }

    writeln!(out, "],\n\"edges\":[")?;
    let mut numbers = Numbers {
        out: &mut out,
        first: true,
    };
    let mut edge = |kind: usize, name: usize, to: usize| {
        numbers.line(&[kind as u64, name as u64, (to * FIELDS) as u64])
    };
    edge(ELEMENT, 0, 1)?;
    for at in 0..labels.labels.len() {
        edge(ELEMENT, at, 2 + at)?;
    }
    for (_, roots) in &labels.labels {
        for (at, root) in labels.roots[roots.clone()].iter().enumerate() {
            edge(
                ELEMENT,
                at,
                before + graph.roots[*root as usize].to as usize,
            )?;
        }
    }
    let mut field = |offset: u32| strings.add(&format!("+{offset}")) as usize;
    for (word, strength) in graph.edges.iter().zip(&analysis.strengths) {
        let to = before + word.to as usize;
        match strength {
            Strength::Weak | Strength::Uncounted => {
                edge(WEAK, field(word.offset), to)?;
            }
            _ if (word.from as usize) < graph.objects => {
                edge(PROPERTY, field(word.offset), to)?;
            }
            _ => edge(ELEMENT, word.offset as usize, to)?,
        }
    }

    writeln!(
        out,
        "],\n\"trace_function_infos\":[],\n\"trace_tree\":[],\n\"samples\":[],"
    )?;
    writeln!(out, "\"locations\":[],\n\"strings\":[")?;
    for (at, text) in strings.all.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let text = serde_json::to_string(text).map_err(io::Error::other)?;
        writeln!(out, "{comma}{text}")?;
    }
    writeln!(out, "]}}")?;
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
