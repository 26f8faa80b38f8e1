//! The wire format of `--json`, which the README documents. Its version changes if a field is
//! removed or changes its meaning; new fields may come.

use crate::analysis::Balance;
pub use crate::analysis::containers::TypeCount as Type;
pub use crate::analysis::diff::{Longer, TypeChange};
use crate::analysis::path::Confidence;
use crate::analysis::verdict::Figures;
use crate::analysis::verdict::Verdict;
use crate::graph::RootKind;
pub use crate::graph::{ThreadState as Thread, Totals};
use serde::{Deserialize, Serialize};

/// The version of the format.
pub const VERSION: u32 = 2;

/// A report of any command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Document {
    /// The version of the format: [`VERSION`].
    pub version: u32,
    /// The facts that make the result less certain, in sentences.
    pub caveats: Vec<String>,
    /// The report.
    #[serde(flatten)]
    pub report: Report,
}

/// The report of a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "lowercase")]
pub enum Report {
    /// `top`.
    Top(Top),
    /// `why`.
    Why(Why),
    /// `holders`.
    Holders(Holders),
    /// `held`.
    Held(Held),
    /// `leaks`.
    Leaks(Leaks),
    /// `diff`.
    Diff(Diff),
    /// `snapshot`.
    Snapshot(Snapshot),
}

/// Objects by type, and threads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Top {
    /// Objects that are alive.
    pub objects: u64,
    /// Bytes of these objects, with headers.
    pub bytes: u64,
    /// Objects created and destroyed, and values kept for ever, by the library's count.
    #[serde(flatten)]
    pub totals: Totals,
    /// Types, those with the most bytes first.
    pub types: Vec<Type>,
    /// How many types there are, with those beyond `--limit`.
    pub all_types: usize,
    /// Threads that have used the library.
    pub threads: Vec<Thread>,
}

/// A node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// The address, as `0x` and hexadecimal digits: JSON's numbers are not exact enough.
    pub address: String,
    /// The name of the type; `null` if it is a plain allocation.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// Bytes, with the header.
    pub bytes: u64,
    /// Where the object was created, if the program records it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// The thread that created the object, if the program records it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
}

/// A node on a path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hop {
    /// The node.
    #[serde(flatten)]
    pub node: Node,
    /// The offset in the node of the word that refers to the next one; `null` at the end.
    pub offset: Option<u32>,
}

/// The leaks that were found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Leaks {
    /// Objects that are alive.
    pub objects: u64,
    /// Bytes of these objects.
    pub bytes: u64,
    /// Leaks, grouped by the types along their paths; those that retain the most bytes first.
    pub groups: Vec<Group>,
    /// Groups that may be leaks: only the program's author can tell.
    pub hints: Vec<Group>,
    /// How many groups there are, with those beyond `--limit`.
    pub all_groups: usize,
}

/// Leaks of one kind, with the same types along their paths.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    /// The verdict: `cycle`, `counted_cycle`, `cycle_without_holder`, `allocation_cycle`,
    /// `no_holder`, `more_references`, `allocation`, `forgotten_pool`, `kept`, `pool`, `inbox`,
    /// `backlog`, `orphan` or `container`.
    pub verdict: Verdict,
    /// The verdict as a sentence.
    pub description: String,
    /// The pool, inbox or variable that holds the objects; `null` if there is none.
    pub holder: Option<String>,
    /// How many leaks, objects and bytes there are.
    #[serde(flatten)]
    pub figures: Figures,
    /// The first leak's path; cycles but `allocation_cycle` go on from the last node to the first.
    pub path: Vec<Hop>,
    /// The addresses of the first leaks.
    pub samples: Vec<String>,
}

/// Why an object is alive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Why {
    /// The object, if an address was asked for.
    pub node: Option<Node>,
    /// The references to the object, if an address was asked for.
    pub references: Option<References>,
    /// The paths to the object; or the ways in which objects of the type are held.
    pub paths: Vec<Path>,
    /// How many ways there are, with those beyond `--limit`; for an address, the length of `paths`.
    pub all_paths: usize,
}

/// The counts of an object, and the words that explain them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct References {
    /// The counts, and how many words of each kind there are.
    #[serde(flatten)]
    pub balance: Balance,
    /// Strong references that no word explains.
    pub without_word: i64,
}

/// A path from a root, or from what leaks, to an object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Path {
    /// The beginning of the path: `pool`, `forgotten_pool`, `inbox`, `backlog`, `orphan`, `kept`,
    /// `static`, `thread_local`, `anonymous`, `register` or `stack`; if no root leads to the
    /// object, `cycle`, or `leak` for references that nothing has; `null` if nothing holds the
    /// first node, and that is no leak: its destructor runs, for example.
    pub root: Option<String>,
    /// The beginning, for people.
    pub label: String,
    /// How certain it is that the beginning holds the first node: `certain`; `likely` if the path
    /// begins at a word that may be stale, on a stack for example, but nothing else explains one of
    /// the object's references, or if such words refer to a cycle; `doubtful` if other words
    /// explain all references, or nothing holds the first node.
    pub confidence: Confidence,
    /// If `root` is `cycle`, the cycle's nodes, the last of which refers to the first. Else empty.
    pub cycle: Vec<Hop>,
    /// The nodes, the object last.
    pub hops: Vec<Hop>,
    /// How many objects are held in this way: 1 if an address was asked for.
    pub objects: u64,
    /// Bytes of these objects.
    pub bytes: u64,
}

/// The holders of objects.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Holders {
    /// The object or allocation, if an address was asked for.
    pub node: Option<Node>,
    /// How many objects were asked for.
    pub objects: u64,
    /// Roots that refer to these objects, by name.
    pub roots: Vec<RootWords>,
    /// Nodes that refer to the objects: one by one for an address, by type and field for a type.
    pub holders: Vec<Words>,
    /// The length of `holders` without `--limit`.
    pub all_holders: usize,
}

/// Words outside of nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RootWords {
    /// The kind of the root, as in [`Path::root`].
    pub root: RootKind,
    /// The name of the root, for people.
    pub label: String,
    /// How many words there are.
    pub words: u64,
    /// How many strong references the roots stand for, for certain.
    pub counted: u64,
}

/// Words in nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Words {
    /// The type of the other node; `null` for plain allocations.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// The address of the other node, if an address was asked for.
    pub address: Option<String>,
    /// The address of one of the other nodes.
    pub example: String,
    /// In `holders`, what holds the other node if that is a plain allocation.
    pub owner: Option<Owner>,
    /// If an address was asked for, where the other node was created, if the program records it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Where the word is in its node; `null` for elements of allocations, if a type was asked for.
    pub offset: Option<u32>,
    /// `strong`, `weak`, `uncounted` or `unknown`.
    pub strength: String,
    /// How many words there are.
    pub words: u64,
    /// Bytes that the other nodes retain: what would be freed with these nodes.
    pub retained_bytes: u64,
}

/// The holder of a plain allocation, perhaps through other allocations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Owner {
    /// `object`, or the kind of root as in [`Path::root`]; `null` if nothing refers to the allocation.
    pub kind: Option<String>,
    /// The object's type, or the root's name for people; empty if `kind` is `null`.
    pub name: String,
    /// The offset of the word in the object.
    pub offset: Option<u32>,
}

/// The references that objects hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Held {
    /// The object or allocation, if an address was asked for.
    pub node: Option<Node>,
    /// How many objects were asked for.
    pub objects: u64,
    /// Bytes that would be freed with these objects, their own included.
    pub retained_bytes: u64,
    /// Objects that would be destroyed with these objects, themselves included.
    pub retained_objects: u64,
    /// Nodes that the objects refer to: one by one for an address, by type and field for a type.
    pub held: Vec<Words>,
    /// The length of `held` without `--limit`.
    pub all_held: usize,
}

/// The changes between two snapshots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diff {
    /// The ids of the processes that the snapshots are of, if they are known.
    pub pids: [Option<u32>; 2],
    /// True if both are of one process; `null` if that is not known.
    pub same_process: Option<bool>,
    /// True if the second snapshot seems to be older than the first.
    pub swapped: bool,
    /// Types with more or fewer objects or bytes; those that have grown most first.
    pub types: Vec<TypeChange>,
    /// How many such types there are, with those beyond `--limit`.
    pub all_types: usize,
    /// Containers that have grown.
    pub grown: Vec<Grown>,
    /// Pools, inboxes, backlogs and other lists of the library that have grown.
    pub longer: Vec<Longer>,
}

/// A container that has grown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Grown {
    /// The type of the objects.
    #[serde(rename = "type")]
    pub type_name: String,
    /// References before and after.
    pub references: [u64; 2],
    /// The path from a root to the container.
    pub path: Option<Path>,
}

/// The snapshot that was saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// The file.
    pub file: String,
    /// Objects that are alive.
    pub objects: u64,
    /// Bytes of these objects.
    pub bytes: u64,
    /// Plain allocations that were found.
    pub allocations: u64,
}
