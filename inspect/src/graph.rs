//! Objects, plain allocations, the references between them, and what holds them from outside.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

/// The index of a node in [`Graph::nodes`].
pub type NodeId = u32;

/// The findings in a program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Graph {
    /// The process that the graph is of, if it is known.
    pub process: Option<Process>,
    /// Objects first, by address, then plain allocations, by address.
    pub nodes: Vec<Node>,
    /// How many of the nodes are objects.
    pub objects: usize,
    /// The names of types, without duplicates; [`Object::type_id`] is an index into them.
    pub types: Vec<String>,
    /// The first two words of each plain allocation, in the order of the nodes; empty if they were
    /// not kept. `Arc` and `Rc` have their counts there.
    pub first_words: Vec<[u64; 2]>,
    /// Words in nodes that refer to a node, sorted by the node that has the word, then by offset.
    pub edges: Vec<Edge>,
    /// Words outside of all nodes that refer to a node.
    pub roots: Vec<Root>,
    /// The names of roots for people, without duplicates; [`Root::label`] is an index into them.
    pub labels: Vec<String>,
    /// How objects were created, as far as the program records it.
    pub creations: Vec<Creation>,
    /// For each object, in the order of the nodes: one more than the index of its creation in
    /// [`creations`](Self::creations), or 0 if that is not known; empty if no creation is known.
    pub created: Vec<u32>,
    /// The threads that have used the library.
    pub threads: Vec<ThreadState>,
    /// The counts that the library itself keeps, to compare with the findings.
    pub totals: Totals,
    /// The facts that make the result less certain, in sentences for people.
    pub caveats: Vec<String>,
}

/// A process, with what tells it from others that had, or will have, the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// Random bytes that the kernel gives each program that a process runs; not known of core files.
    pub program: Option<[u8; 16]>,
}

impl Process {
    /// Returns whether both are one process that runs one program; `None` if it cannot be told.
    pub fn are_same(one: Option<Self>, other: Option<Self>) -> Option<bool> {
        let (one, other) = one.zip(other)?;
        if one.pid != other.pid {
            return Some(false);
        }
        Some(one.program? == other.program?)
    }
}

/// An object or a plain allocation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// The address of the payload of an object, or of the first usable byte of an allocation.
    pub address: u64,
    /// Bytes of memory, with the header.
    pub bytes: u64,
    /// The kind of the node.
    pub kind: NodeKind,
}

/// The kind of a [`Node`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeKind {
    /// A counted object.
    Object(Object),
    /// Memory of the program's allocator that is no object: a `Vec`'s buffer, a closure, a task.
    Plain,
}

/// A counted object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// An index into [`Graph::types`].
    pub type_id: u32,
    /// Strong references.
    pub strong: u32,
    /// Weak references, and one more while the destructor runs.
    pub weak: u32,
    /// The value has not been destroyed.
    pub alive: bool,
    /// Where the object lives.
    pub storage: Storage,
}

/// How an object was created, which only programs with the ledger of `leak-detection` record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Creation {
    /// Where: `file:line:column`.
    pub site: String,
    /// The key of the thread, as in [`ThreadState::key`], if it had one.
    pub creator: Option<u64>,
}

/// Where an object's memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Storage {
    /// The global allocator.
    Global,
    /// A block allocator of the library.
    Block,
}

/// A word in a node that refers to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The node that has the word.
    pub from: NodeId,
    /// The node that the word refers to.
    pub to: NodeId,
    /// Where the word is, in bytes from the node's address.
    pub offset: u32,
    /// How certain it is that the word is a counted reference.
    pub kind: EdgeKind,
}

/// The kind of a word that refers to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EdgeKind {
    /// The exact address of an object's payload: a `Ref` or `Weak`, most likely.
    Exact,
    /// A word of the library's own structures: a counted strong reference for certain.
    Counted,
    /// A pointer into a plain allocation.
    Into,
}

/// Something outside of all nodes that refers to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The kind of the root.
    pub kind: RootKind,
    /// An index into [`Graph::labels`], which name it for people: `pool "frame" of thread "main"`,
    /// `static GAME`, `stack of thread "ui"`.
    pub label: u32,
    /// The node that the word refers to.
    pub to: NodeId,
    /// Where the word that refers to the node is; 0 for registers.
    pub address: u64,
    /// How many counted references the root stands for; 0 if none is known to be counted.
    pub counted: u32,
}

/// The kind of a [`Root`], from the most certain to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootKind {
    /// An entry of an open pool.
    Pool,
    /// An entry of a pool whose guard or handle was forgotten.
    ForgottenPool,
    /// A message in a thread's inbox.
    Inbox,
    /// A release that budgeted drains have left.
    Backlog,
    /// A message to a thread that has ended, or a reference that a slot has retired.
    Orphan,
    /// A value whose home thread has ended, which is never destroyed.
    Kept,
    /// A static variable.
    Static,
    /// A thread-local variable.
    ThreadLocal,
    /// Memory of no known allocator.
    Anonymous,
    /// A register.
    Register,
    /// A word on a stack, which may be stale.
    Stack,
}

/// A thread that has used the library.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ThreadState {
    /// The key of the thread, as a number.
    pub key: u64,
    /// The name of the thread.
    pub name: Option<String>,
    /// The kernel's id, if known.
    pub tid: Option<u32>,
    /// The open pools of the thread, root pools first.
    pub pools: Vec<PoolState>,
    /// Messages that wait.
    pub inbox: u64,
    /// Releases that budgeted drains have left.
    pub backlog: u64,
    /// Objects created.
    pub created: u64,
    /// Objects destroyed.
    pub destroyed: u64,
    /// Frames of the thread's frame loop, if it has one.
    pub frames: Option<u64>,
    /// How long the last frame took, in nanoseconds.
    pub last_frame_nanos: Option<u64>,
}

/// An open pool.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PoolState {
    /// The name of the pool; empty if it has none.
    pub name: String,
    /// How many entries the pool has.
    pub entries: u64,
}

/// The counts that the library keeps by itself.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Objects created, on all threads.
    pub created: u64,
    /// Objects destroyed, on all threads.
    pub destroyed: u64,
    /// Values kept for ever, as their home thread has ended.
    pub kept: u64,
}

impl Graph {
    /// Returns the nodes of objects that are alive.
    pub fn alive(&self) -> impl Iterator<Item = &Node> {
        let objects = self.nodes[..self.objects].iter();
        objects.filter(|node| matches!(&node.kind, NodeKind::Object(object) if object.alive))
    }

    /// Returns the object, if the node is one.
    pub fn object(&self, node: NodeId) -> Option<&Object> {
        match &self.nodes[node as usize].kind {
            NodeKind::Object(object) => Some(object),
            NodeKind::Plain => None,
        }
    }

    /// Returns the name of a type.
    pub fn type_name(&self, type_id: u32) -> &str {
        self.types
            .get(type_id as usize)
            .map_or("(unknown type)", String::as_str)
    }

    /// Returns the label of a root, its name for people.
    pub fn label(&self, root: &Root) -> &str {
        self.label_at(root.label)
    }

    /// Returns the label with this index into [`labels`](Self::labels).
    pub fn label_at(&self, index: u32) -> &str {
        let label = self.labels.get(index as usize);
        label.map_or("(unknown root)", String::as_str)
    }

    /// Returns how an object was created, if that is known.
    pub fn creation(&self, node: NodeId) -> Option<&Creation> {
        let index = self.created.get(node as usize)?.checked_sub(1)?;
        self.creations.get(index as usize)
    }

    /// Returns the node at this address: an object by its payload, an allocation by its first byte.
    pub fn node_at(&self, address: u64) -> Option<NodeId> {
        let (objects, plain) = self.nodes.split_at(self.objects.min(self.nodes.len()));
        let find = |nodes: &[Node]| nodes.binary_search_by_key(&address, |node| node.address);
        let at = find(objects)
            .ok()
            .or_else(|| Some(objects.len() + find(plain).ok()?))?;
        Some(at as NodeId)
    }
}

impl RootKind {
    /// Returns whether a root of this kind is an entry of one of the library's lists: pools,
    /// inboxes, backlogs, orphans, and kept values.
    pub fn is_list(self) -> bool {
        self < Self::Static
    }
}

/// Writes the kind by its name in JSON.
impl fmt::Display for RootKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Object {
    /// Returns whether the object has no strong reference any more and is about to be destroyed or
    /// freed; what it holds is released next.
    pub fn is_dying(&self) -> bool {
        self.strong == 0 && (self.alive || self.weak == 0)
    }
}

/// Texts by index.
#[derive(Default)]
pub(crate) struct Texts {
    /// The texts, without duplicates.
    pub(crate) all: Vec<String>,
    indices: HashMap<String, u32>,
}

impl Texts {
    /// Returns the index of a text.
    pub(crate) fn add(&mut self, text: &str) -> u32 {
        if let Some(index) = self.indices.get(text) {
            return *index;
        }
        let index = self.all.len() as u32;
        self.all.push(text.to_owned());
        self.indices.insert(text.to_owned(), index);
        index
    }
}
