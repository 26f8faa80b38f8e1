//! The library's structures as read: threads, pools, entries and blocks, with their addresses.

use crate::graph::{PoolState, RootKind, ThreadState};

/// A thread, with where its structures are.
#[derive(Clone, Debug, Default)]
pub struct LibThread {
    /// The state of the thread. The key is the slot's index in the upper half and its generation in
    /// the lower.
    pub state: ThreadState,
    /// The address of its record; 0 if it has none.
    pub record: u64,
    /// The address of its pools; 0 if it has none.
    pub pools_at: u64,
    /// Its pools, as in the state.
    pub pools: Vec<LibPool>,
}

/// A pool, with where it is.
#[derive(Clone, Debug)]
pub struct LibPool {
    /// Its name and length.
    pub state: PoolState,
    /// Its address. A guard has this address: if no word outside of
    /// [`own_memory`](super::Library::own_memory) does, the guard was forgotten.
    pub address: u64,
    /// The kind of the pool.
    pub kind: PoolKind,
}

/// The kind of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// The pool that gets entries while no other is open.
    Root,
    /// A pool that an `AutoreleasePool` owns.
    Guard,
    /// A pool that a token names.
    Token,
}

/// Something in the library's structures that refers to an object or an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The target of the entry.
    pub target: Target,
    /// The kind of root that the entry is.
    pub kind: RootKind,
    /// An index into [`Library::labels`](super::Library::labels).
    pub label: u32,
    /// Where the word is.
    pub address: u64,
    /// How many strong references it stands for: 0 if the object has none any more.
    pub counted: u32,
    /// The address of the pool that it is in; 0 if it is in none.
    pub pool: u64,
}

/// Entries in a row: words each of which has the address of an object's payload, and is one strong
/// reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where the first word is.
    pub address: u64,
    /// How many words there are.
    pub len: u32,
    /// The kind of root that the entries are.
    pub kind: RootKind,
    /// An index into [`Library::labels`](super::Library::labels).
    pub label: u32,
    /// The address of the pool that they are in; 0 if they are in none.
    pub pool: u64,
}

/// The target of an [`Entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The payload of an object at this address.
    Object(u64),
    /// An allocation at this address, for example a posted closure with what it has captured.
    Allocation(u64),
}

impl Target {
    /// Returns the address.
    pub fn address(self) -> u64 {
        match self {
            Self::Object(address) | Self::Allocation(address) => address,
        }
    }
}

/// A block of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub size: u32,
    /// True if it is in no list of free blocks.
    pub in_use: bool,
}

/// A piece of memory that is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The size of its blocks in bytes.
    pub block_size: u32,
    /// The address of its heap.
    pub heap: u64,
}
