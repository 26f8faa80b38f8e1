//! The objects and holders that must be found in the program.

use releasepool_inspect::graph::{
    EdgeKind, Graph, NodeId, NodeKind, Object, Root, RootKind, Storage,
};

/// A graph, asked by types.
pub struct View<'a>(pub &'a Graph);

/// Removes repeated holders if the allocator is not known: then free memory, which may have the
/// same words, looks as if it were in use.
fn known(mut holders: Vec<Holder<'_>>, is_known: bool) -> Vec<Holder<'_>> {
    if !is_known {
        holders.dedup();
    }
    holders
}

/// The holder of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder<'a> {
    Object(&'a str),
    Plain,
    Root(RootKind, &'a str, u32),
}

impl<'a> View<'a> {
    /// Returns the objects of a type.
    pub fn of(&self, name: &str) -> Vec<NodeId> {
        let objects = (0..).zip(&self.0.nodes[..self.0.objects]);
        let is_of = |node| self.type_of(node) == Some(name);
        objects
            .map(|(node, _)| node)
            .filter(|node| is_of(*node))
            .collect()
    }

    /// Returns the last part of the name of an object's type.
    pub fn type_of(&self, node: NodeId) -> Option<&'a str> {
        let name = &self.0.types[self.0.object(node)?.type_id as usize];
        Some(name.rsplit("::").next().unwrap_or(name))
    }

    /// Returns the only object of a type.
    pub fn one(&self, name: &str) -> (NodeId, &'a Object) {
        let found = self.of(name);
        assert_eq!(found.len(), 1, "objects of {name}");
        (found[0], self.object(found[0]))
    }

    pub fn object(&self, node: NodeId) -> &'a Object {
        self.0.object(node).expect("an object")
    }

    /// Returns what holds an object, without words on stacks and in registers.
    pub fn holders(&self, node: NodeId) -> Vec<Holder<'a>> {
        let edges = self.0.edges.iter().filter(|edge| edge.to == node);
        let mut holders: Vec<_> = edges
            .map(|edge| {
                assert_ne!(edge.kind, EdgeKind::Into);
                self.type_of(edge.from)
                    .map_or(Holder::Plain, Holder::Object)
            })
            .collect();
        let roots = self.roots(node);
        let roots = roots.filter(|root| root.kind < RootKind::Register);
        holders.extend(roots.map(|root| Holder::Root(root.kind, self.0.label(root), root.counted)));
        holders
    }

    fn roots(&self, node: NodeId) -> impl Iterator<Item = &'a Root> {
        let roots = self.0.roots.iter();
        roots.filter(move |root| root.to == node)
    }

    /// Returns the labels of the roots of a kind that hold an object.
    pub fn labels(&self, node: NodeId, kind: RootKind) -> Vec<&'a str> {
        let roots = self.roots(node).filter(|root| root.kind == kind);
        roots.map(|root| self.0.label(root)).collect()
    }

    /// Returns kind, label and count of the library's roots of an object.
    pub fn library(&self, name: &str) -> Vec<(RootKind, &'a str, u32)> {
        let roots = self.roots(self.one(name).0);
        let roots = roots.filter(|root| root.kind.is_list());
        let of = |root: &'a Root| (root.kind, self.0.label(root), root.counted);
        roots.map(of).collect()
    }

    /// Returns all nodes that roots hold, directly or not.
    pub fn reachable(&self) -> Vec<bool> {
        let mut reached = vec![false; self.0.nodes.len()];
        let mut next: Vec<NodeId> = self.0.roots.iter().map(|root| root.to).collect();
        while let Some(node) = next.pop() {
            if !std::mem::replace(&mut reached[node as usize], true) {
                let first = self.0.edges.partition_point(|edge| edge.from < node);
                let edges = self.0.edges[first..].iter();
                next.extend(
                    edges
                        .take_while(|edge| edge.from == node)
                        .map(|edge| edge.to),
                );
            }
        }
        reached
    }
}

/// Checks what is true of every graph.
pub fn check_order(graph: &Graph) {
    let (objects, plain) = graph.nodes.split_at(graph.objects);
    assert!(objects.is_sorted_by(|a, b| a.address < b.address));
    assert!(plain.is_sorted_by(|a, b| a.address < b.address));
    assert!(objects.iter().all(|node| node.kind != NodeKind::Plain));
    assert!(plain.iter().all(|node| node.kind == NodeKind::Plain));
    assert_eq!(graph.first_words.len(), plain.len());
    let edges = &graph.edges;
    assert!(edges.is_sorted_by_key(|edge| (edge.from, edge.offset)));
    assert!(graph.roots.is_sorted_by_key(|root| root.kind));
    let nodes = graph.nodes.len() as u32;
    let mut ends = edges.iter().flat_map(|edge| [edge.from, edge.to]);
    assert!(ends.all(|node| node < nodes));
    assert!(graph.roots.iter().all(|root| root.to < nodes));
    let mut types = graph.types.clone();
    types.sort();
    types.dedup();
    assert_eq!(types.len(), graph.types.len());
}

fn counts(object: &Object) -> (u32, u32, bool) {
    (object.strong, object.weak, object.alive)
}

/// Checks the objects that any allocator's memory must show.
pub fn check_objects(graph: &Graph, is_known: bool) {
    let view = View(graph);
    for name in ["Freed", "FreedBlock", "Stale"] {
        assert!(view.of(name).is_empty(), "{name}: {}", view.of(name).len());
    }
    let plain = |n: usize| known(vec![Holder::Plain; n], is_known);
    let holders_of = |node| known(view.holders(node), is_known);
    for (name, n) in [
        ("InVec", 3),
        ("InMap", 3),
        ("Zero", 3),
        ("ZeroInBlock", 3),
        ("InBlock", 3),
    ] {
        let found = view.of(name);
        assert_eq!(found.len(), n, "{name}");
        for node in found {
            assert_eq!(counts(view.object(node)), (1, 0, true), "{name}");
            let mut holders = holders_of(node);
            // Addresses of blocks that were there before are left in unused words of other memory.
            if name.contains("Block") {
                holders.dedup();
            }
            assert_eq!(holders, plain(1), "{name}");
        }
    }
    for name in [
        "InBox",
        "InClosure",
        "AsDyn",
        "Aligned",
        "PageAligned",
        "AtHome",
        "InLoneBox",
    ] {
        let (node, object) = view.one(name);
        assert_eq!(counts(object), (1, 0, true), "{name}");
        assert_eq!(holders_of(node), plain(1), "{name}");
    }
    let (node, object) = view.one("InObject");
    assert_eq!(object.strong, 10);
    let mut holders = vec![Holder::Object("Parent"); 2];
    holders.extend(vec![Holder::Object("Element]"); 5]);
    holders.extend(vec![Holder::Object("InObject>]"); 2]);
    holders.push(Holder::Object("Debug"));
    let mut found = view.holders(node);
    // The box whose value was moved into an object is free.
    found.retain(|found| is_known || *found != Holder::Plain);
    found.sort_by_key(|found| holders.iter().position(|holder| holder == found));
    assert_eq!(known(found, is_known), known(holders, is_known));
    assert_eq!(view.one("str").1.strong, 1);
    assert_eq!(holders_of(view.one("str").0), plain(1));
    let (node, object) = view.one("InWeak");
    assert_eq!(counts(object), (0, 2, false));
    assert_eq!(holders_of(node), plain(2));
    let (node, object) = view.one("Cyclic");
    assert_eq!((object.strong, object.weak), (1, 1));
    assert!(holders_of(node).contains(&Holder::Object("Cyclic")));
    let circle = view.of("Circle");
    assert_eq!(circle.len(), 2);
    for node in circle {
        assert_eq!(view.object(node).strong, 1);
        assert_eq!(holders_of(node), [Holder::Object("Circle")]);
    }
    for name in ["InBlock", "InBlockToo", "ZeroInBlock"] {
        let mut storage = view.of(name).into_iter().map(|n| view.object(n).storage);
        assert!(storage.all(|storage| storage == Storage::Block));
    }
    assert_eq!(view.one("InObject>]").1.storage, Storage::Block);
    assert_eq!(view.one("Debug").1.storage, Storage::Global);
    assert_eq!(view.one("Parent").1.storage, Storage::Global);
    let (node, _) = view.one("InStatic");
    let labels = view.labels(node, RootKind::Static);
    assert!(labels[0].starts_with("static "), "{labels:?}");
    let (node, _) = view.one("InSlot");
    assert_eq!(view.labels(node, RootKind::Static).len(), 1);
    let (node, _) = view.one("InLocal");
    let labels = view.labels(node, RootKind::ThreadLocal);
    assert!(labels[0].contains(" of thread \""), "{labels:?}");
    let (node, _) = view.one("OnStack");
    let labels = view.labels(node, RootKind::Stack);
    assert!(labels.contains(&"stack of thread \"worker\""), "{labels:?}");
}

/// Checks what the library's own structures hold.
pub fn check_library(graph: &Graph) {
    let view = View(graph);
    for (name, pool, n) in [
        ("InPool", "outer", 2),
        ("InBlockToo", "outer", 1),
        ("InNested", "nested", 1),
    ] {
        let roots = view.library(name);
        assert_eq!(roots.len(), n, "{name}");
        for (kind, label, counted) in roots {
            assert_eq!((kind, counted), (RootKind::Pool, 1), "{name}");
            let wanted = format!("pool \"{pool}\" of thread ");
            assert!(label.starts_with(&wanted), "{label}");
        }
        assert_eq!(view.one(name).1.strong, n as u32);
    }
    let inbox = (RootKind::Inbox, "inbox of thread \"worker\"", 1);
    assert_eq!(view.library("InInbox"), [inbox]);
    assert_eq!(view.library("OnTwoThreads"), [inbox]);
    let (shared, object) = view.one("OnTwoThreads");
    assert_eq!(object.strong, 3);
    let labels = view.labels(shared, RootKind::Stack);
    assert!(labels.contains(&"stack of thread \"worker\""), "{labels:?}");
    let left = view.of("InBacklog");
    assert_eq!(left.len(), 2);
    for node in left {
        let labels = view.labels(node, RootKind::Backlog);
        assert_eq!(labels.len(), 1, "{labels:?}");
    }
    let [(RootKind::ForgottenPool, label, 1)] = view.library("InForgotten")[..] else {
        panic!("{:?}", view.library("InForgotten"));
    };
    let is_named = label.contains("\"forgotten\"") && label.contains("\"gone\"");
    assert!(is_named, "{label}");
    assert_eq!(view.library("InOrphan")[0].0, RootKind::Orphan);
    assert_eq!(view.library("Kept")[0].0, RootKind::Kept);
    assert_eq!(view.library("Kept").len(), 1);
    let (posted, _) = view.one("InPosted");
    assert_eq!(view.holders(posted), [Holder::Plain]);
    let closure = graph.edges.iter().find(|edge| edge.to == posted).unwrap();
    let labels = view.labels(closure.from, RootKind::Inbox);
    assert_eq!(labels, ["inbox of thread \"worker\""]);
    let mut threads = graph.threads.iter();
    let worker = threads.find(|thread| thread.name.as_deref() == Some("worker"));
    assert_eq!(worker.unwrap().inbox, 3);
    let mut pools = graph.threads.iter().flat_map(|thread| &thread.pools);
    assert!(pools.any(|pool| pool.name == "nested"));
}

/// Checks what handoff pools hold: their pages can be found only as allocations.
pub fn check_handoff(graph: &Graph) {
    let view = View(graph);
    let forgotten = view.of("InForgottenHandoff");
    assert_eq!(forgotten.len(), 300);
    for node in forgotten {
        let labels = view.labels(node, RootKind::ForgottenPool);
        assert_eq!(labels, ["a handoff pool that was forgotten"]);
    }
    let (handed, object) = view.one("InHandoff");
    assert_eq!(object.strong, 2);
    let counted = graph.edges.iter().filter(|edge| edge.to == handed);
    let counted: Vec<_> = counted
        .filter(|edge| edge.kind == EdgeKind::Counted)
        .collect();
    assert_eq!(counted.len(), 2);
    assert!(view.reachable()[counted[0].from as usize]);
}

/// Checks which objects nothing holds.
pub fn check_leaks(graph: &Graph) {
    let view = View(graph);
    let reached = view.reachable();
    let objects = 0..graph.objects as u32;
    let lost: Vec<_> = objects.filter(|node| !reached[*node as usize]).collect();
    let mut lost: Vec<_> = lost
        .iter()
        .map(|node| view.type_of(*node).unwrap())
        .collect();
    lost.sort();
    assert_eq!(lost, ["Circle", "Circle", "InLoneBox"]);
}
